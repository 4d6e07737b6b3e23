"""The dashboard names metrics and labels that the hub exports, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.control.company import entry
from tests.doors.doors import open_doors
from toolyard.features.telemetry.names import ATTRIBUTES, INSTRUMENTS

ROOT = Path(__file__).parents[2]
BOARD = ROOT / "deploy" / "grafana" / "toolyard.json"
METRIC = re.compile(r"\b(?:toolyard|mcp)_[a-z_]+(?=[{\[,) ]|$)")
BY = re.compile(r"by \(([^)]*)\)")
ADDED = {"instance", "le"}
"""Labels that Prometheus adds, or histograms have."""


def queries() -> list[str]:
    """Every query of the dashboard."""
    board = json.loads(BOARD.read_text())
    panels: list[dict[str, Any]] = board["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def as_prometheus(name: str, unit: str) -> str:
    """The name that a collector gives a metric for Prometheus."""
    return name.replace(".", "_") + ("_seconds" if unit == "s" else "")


def is_exported(name: str, families: set[str]) -> bool:
    """Tell whether a name is that of a metric, or of one of a histogram's series."""
    return name in families or re.sub(r"_(bucket|sum|count)$", "", name) in families


async def test_every_metric_of_the_dashboard_is_exported(home: Path) -> None:
    async with open_doors(home, {"s": entry("s", "--only", "echo")}) as doors:
        await doors.settled()
        await doors.text("s__echo", text="hello")
        text = (await doors.ask("GET", "/metrics")).body.decode()
    own = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    exported = own | {as_prometheus(*instrument) for instrument in INSTRUMENTS.items()}
    labels = {
        word for group in re.findall(r"{(.*)}", text) for word in re.findall(r"(\w+)=", group)
    }
    labels |= {name.replace(".", "_") for name in ATTRIBUTES} | ADDED
    for query in queries():
        names = set(METRIC.findall(BY.sub("", query)))
        assert names, query
        assert all(is_exported(name, exported) for name in names), query
        used = {label.strip() for group in BY.findall(query) for label in group.split(",")}
        assert used <= labels | {"code"}, query
    drawn = " ".join(queries())
    assert all(name in drawn for name in own), own


def test_every_name_is_on_its_page_of_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "telemetry.md").read_text()

    assert not [name for name in (*ATTRIBUTES, *INSTRUMENTS) if f"`{name}`" not in page]
