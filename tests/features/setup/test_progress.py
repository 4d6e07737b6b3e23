"""Every server is told once: when it is ready, or when it says why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from toolyard.console.interrupts import Interrupts
from toolyard.console.terminal import Terminal
from toolyard.core.rows import ProblemRow, ServerRow
from toolyard.features.setup.progress import follow_starts, is_good

TROUBLE = ProblemRow("server-link", "it refused", "look at it", "a")


def row(name: str, status: str, **more: Any) -> ServerRow:
    fields: dict[str, Any] = {
        field.name: more.get(field.name, _empty(field))
        for field in msgspec.structs.fields(ServerRow)
    }
    return ServerRow(**{**fields, "name": name, "source": "configured", "status": status, **more})


def _empty(field: msgspec.structs.FieldInfo) -> Any:
    values: dict[str, Any] = {"enabled": True, "problem": None}
    if field.name in values:
        return values[field.name]
    return {"int": 0, "str": ""}.get(getattr(field.type, "__name__", ""))


def test_each_is_told_when_it_has_settled(capsys: pytest.CaptureFixture[str]) -> None:
    looks: Iterator[Sequence[ServerRow]] = iter(
        [
            [row("a", "starting"), row("b", "installing"), row("c", "known", problem=TROUBLE)],
            [row("a", "ready", tools=2), row("b", "installing"), row("c", "starting")],
            [row("a", "ready", tools=2), row("b", "ready", tools=1, problem=TROUBLE)],
        ]
    )

    with Interrupts() as interrupts:
        rows = follow_starts(Terminal(), interrupts, ["a", "b", "c"], lambda: next(looks))

    assert [(settled.name, is_good(settled)) for settled in rows] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    assert capsys.readouterr().out.splitlines() == [
        "  c  not ready: it refused (hint: look at it)",
        "  a  ready, 2 tools",
        "  b  ready, 1 tool: it refused (hint: look at it)",
    ]
