"""The charts and the peers of the benchmark: what can be shown without measuring for minutes."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of the benchmark can be imported."""
    monkeypatch.syspath_prepend(str(BENCH))


def load_module(name: str) -> ModuleType:
    """A module of the benchmark."""
    return importlib.import_module(name)


@pytest.mark.usefixtures("bench")
def test_a_chart_shows_each_size_from_left_to_right_and_larger_figures_higher() -> None:
    chart = load_module("chart")
    points = [chart.Point(1, 10, 9, 12), chart.Point(100, 20, 20, 20), chart.Point(1000, 5, 5, 5)]
    drawn = chart.Chart("Cost <of a call>", "clients", "us", [chart.Curve("a & b", points)]).draw()
    dots = ElementTree.fromstring(drawn).findall(f".//{SVG}circle")
    across = [float(dot.attrib["cx"]) for dot in dots]
    down = [float(dot.attrib["cy"]) for dot in dots]
    assert across == sorted(across)
    assert down[1] < down[0] < down[2]
    assert across[1] - across[0] > across[2] - across[1]  # two powers of ten, and one


@pytest.mark.usefixtures("bench")
def test_what_grows_faster_than_its_size_is_told() -> None:
    plots, chart = load_module("plots"), load_module("chart")

    def points(*values: float) -> list[object]:
        sizes = (1, 10, 100)
        return [
            chart.Point(size, value, value, value)
            for size, value in zip(sizes, values, strict=True)
        ]

    assert plots.growth(points(5, 5, 5)) == pytest.approx(0)
    assert plots.growth(points(1, 10, 100)) == pytest.approx(1)
    assert plots.growth(points(1, 10, 1000)) == pytest.approx(2)
    assert plots.growth(points(1, 1, 1)[:1]) is None


def test_growth_with_clients_is_measured_and_drawn(tmp_path: Path) -> None:
    sizes = ["--clients", "1,2", "--servers", "", "--tools", "", "--replicas", ""]
    flags = ["--plots", str(tmp_path), "--rounds", "1", "--seconds", "0.1", *sizes]
    done = subprocess.run(
        [sys.executable, str(BENCH / "run.py"), *flags],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "growth.json").read_text())
    assert set(figures) == {"clients"}
    assert all(rounds[0]["modern client"] > 0 for rounds in figures["clients"].values())
    assert (tmp_path / "clients-memory.svg").exists()


@pytest.mark.usefixtures("bench")
def test_a_peer_that_a_file_describes_is_measured_like_the_others(tmp_path: Path) -> None:
    """The relay stands in for it: it is started by a command line with the same holes."""
    words = [sys.executable, str(BENCH / "relay.py"), "--port", "{port}", "--http", "s00={url}"]
    described = tmp_path / "peer.json"
    described.write_text(json.dumps({"name": "added", "command": words, "merges": False}))
    peers = load_module("peers")
    contestant = peers.Contestant("added", "", load_module("peer_list").added(str(described)))
    asyncio.run(peers.compare([contestant], 1, 0.1))
    assert not contestant.failures
    assert contestant.figures["1 MiB, us"][0] > contestant.figures["echo, us"][0] > 0
    assert contestant.figures["most memory, MB"][0] > 5
