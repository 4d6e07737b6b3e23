"""The benchmark must run, or nobody notices that it no longer measures anything."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
RUN = BENCH / "run.py"
FLOWS = BENCH / "flows.py"


def test_the_benchmark_measures_the_relay_over_http_and_stdio() -> None:
    works = "echo,64 KiB,churn,sleep,echo stdio,list"
    flags = ["--without-hub", "--rounds", "2", "--seconds", "0.2", "--json", "--only", works]
    done = subprocess.run(
        [sys.executable, str(RUN), *flags], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = {(row["work"], row["measured"]): row for row in json.loads(done.stdout)}
    assert {work.partition(",")[0] for work, _ in rows} == set(works.split(","))
    for row in rows.values():
        low, high = row["spreads"]["relay"]
        assert 0 < low <= row["relay"] <= high, row
    assert ("echo, 1 caller", "CPU us/call") in rows
    assert ("echo, 64 callers", "p99 ms") in rows
    assert rows["sleep", "500 x 100 ms, s"]["relay"] >= 0.1


def test_what_a_loop_leaves_to_be_done_later_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    load = importlib.import_module("load")
    busy = iter([1.0, 1.5, 1.5, 1.5, 1.9, 1.9, 1.9, 1.9, 9.0])
    assert asyncio.run(load.at_rest(busy.__next__)) == 1.9


def test_every_other_round_begins_with_the_last_contestant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    in_turn = importlib.import_module("processes").in_turn
    assert [in_turn(["relay", "hub"], number)[0] for number in range(3)] == [
        "relay",
        "hub",
        "relay",
    ]


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
