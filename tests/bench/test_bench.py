"""The benchmark must run, or nobody notices that it no longer measures anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"
RUN = BENCH / "run.py"
FLOWS = BENCH / "flows.py"


def test_the_benchmark_measures_the_relay_over_http_and_stdio() -> None:
    works = "echo,churn,sleep,echo stdio,list"
    flags = ["--without-hub", "--rounds", "1", "--seconds", "0.2", "--json", "--only", works]
    done = subprocess.run(
        [sys.executable, str(RUN), *flags], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    rows = {row["work"]: row for row in json.loads(done.stdout)}
    assert set(rows) == set(works.split(","))
    assert all(row["relay"] > 0 and row["per_second"] > 0 for row in rows.values())
    assert 0.1 <= rows["sleep"]["relay"] < 5


def test_the_way_of_a_call_through_the_code_is_counted_and_grows_no_longer() -> None:
    done = subprocess.run(
        [sys.executable, str(FLOWS), "--json"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (0, 1), done.stderr
    flows = {flow["name"]: flow for flow in json.loads(done.stdout)}
    modern, legacy = flows["modern call"], flows["legacy call"]
    assert modern["functions"] <= 75 and legacy["functions"] <= 70
    assert modern["room_switches"] <= 26 and legacy["room_switches"] <= 25
    assert flows["first call, per session"]["functions"] > modern["functions"] > 30
