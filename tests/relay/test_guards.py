"""Guards stand between a call and its server, whichever way the call comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import entry
from tests.doors.doors import Doors, Json, call, mirrored, modern, open_doors
from tests.relay.guarding import FEATURE, Adds, GuardsTools
from tests.relay.test_views import USUAL, declare, nothing, of_app
from toolyard.board import Board
from toolyard.core.model import Snapshot
from toolyard.features import FEATURES
from toolyard.relay.calls import Calls
from toolyard.relay.guards import CallGuard, GuardMaker, MakeGuard
from toolyard.relay.views import Views


@asynccontextmanager
async def yard(home: Path, era: str = "legacy") -> AsyncIterator[Doors]:
    servers = {"s": entry("s", "--only", "echo,env,cancellable", "--era", era)}
    async with open_doors(home, servers, features=(*FEATURES, FEATURE)) as doors:
        await doors.settled()
        yield doors


def texts(answer: Json) -> list[str]:
    return [content["text"] for content in answer["result"]["content"]]


@pytest.mark.parametrize("client", ["legacy", "modern"])
@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_guards_change_a_call_in_their_order_and_its_result_in_reverse(
    home: Path, client: str, server: str
) -> None:
    async with yard(home, server) as doors:
        params = {"name": "s__echo", "arguments": {"text": "hello "}}
        if client == "modern":
            message = modern("tools/call", params)
            head = mirrored(message)
        else:
            message, head = call("tools/call", params), await doors.initialize()
        answer = (await doors.post(message, {**head, "Accept": "application/json"})).json()

    assert texts(answer) == ["hello ab", "b", "a"]


async def test_a_guard_refuses_and_history_tells(home: Path) -> None:
    async with yard(home) as doors:
        fault = await doors.fault("s__env")
        through = await doors.run("toolyard_destroy", server="s", tool="env", arguments={})
        body = b'{"server": "s", "tool": "env"}'
        over_rest = (await doors.ask("POST", "/api/v1/call", body)).json()
        rows = (await doors.get("/api/v1/history"))["calls"]

    assert fault == "not env of s; ask somebody else"
    assert "not env of s" in str(through)
    assert "not env of s" in str(over_rest)
    assert [(row["tool"], row["outcome"]) for row in rows] == [("env", "error")] * 3


async def test_a_tool_without_guards_is_called_without_a_task(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    begin = Calls.begin

    def watched(calls: Calls, routed: Any) -> Any:
        way = begin(calls, routed)
        begun.append((routed.route.key, way is not None))
        return way

    monkeypatch.setattr(Calls, "begin", watched)
    async with yard(home) as doors:
        await doors.text("s__echo", text="x")
        await doors.run("s__cancellable", ms=0)

    assert begun == [("echo", False), ("cancellable", True)]


class Changing:
    """Says something else of tools from one picture to the next."""

    def __init__(self) -> None:
        self.instance: CallGuard | None = None

    def look_at(self, snapshot: Snapshot) -> MakeGuard | None:
        return lambda _entry, _tool: self.instance


def make_views(board: Board, makers: Sequence[GuardMaker]) -> Views:
    return Views(board, USUAL, nothing, {}, of_app, set, makers)


async def test_a_route_is_lent_only_while_its_guards_are_the_same() -> None:
    board, maker = Board(), Changing()
    views = make_views(board, [maker])
    declare(board, "one")
    bare = views.look().tools["one__echo"]

    maker.instance = Adds("a")
    declare(board, "one", "two")
    first = views.look().tools["one__echo"]
    maker.instance = Adds("a")
    declare(board, "one", "two", "three")
    second = views.look().tools["one__echo"]

    assert bare.guards == ()
    assert first is not bare
    assert first.guards == (Adds("a"),)
    assert second is first


async def test_only_tools_have_guards_and_only_those_that_concern_a_guard() -> None:
    board = Board()
    views = make_views(board, [GuardsTools(Adds("a"), frozenset({"else"}))])
    declare(board, "one")

    assert views.look().tools["one__echo"].guards == ()
