"""Tools are found by an index that goes on from picture to picture and lets others have a turn."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.core.linear_search import LinearIndex
from toolyard.board import Board
from toolyard.core.errors import ConfigError
from toolyard.core.model import (
    Command,
    Observation,
    Offer,
    Offers,
    Report,
    Server,
    ServerId,
    Status,
)
from toolyard.core.plans import Resolution
from toolyard.core.search import QUERY_CHARS
from toolyard.relay.tool_search import SLICE_TOOLS
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.relay.views import Views

VERBS = ("list", "read", "create", "delete", "find")
NOUNS = ("issue", "file", "page", "message")
QUERY = "read the files of a page"


def describe(server: str, number: int) -> Offer:
    name = f"{VERBS[number % 5]}_{NOUNS[number % 4]}_{number}"
    words = f"{VERBS[number % 5]} a {NOUNS[number % 4]} of {server}" + " of many" * (number % 3)
    return Offer(name, json.dumps({"name": name, "title": server, "description": words}).encode())


def declare(board: Board, tools: dict[str, int]) -> None:
    """Let there be these servers, with so many tools each."""
    ids = {name: ServerId(name, "configured") for name in tools}
    board.post(Report("configured", tuple(Server(id_, Command(("x",))) for id_ in ids.values())))
    for name, number in tools.items():
        offers = Offers(tools=tuple(describe(name, place) for place in range(number)))
        board.post(Observation(ids[name], Status.READY, offers))


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def views(board: Board) -> Views:
    def resolve(agent: str, executor: str) -> Resolution:
        return Resolution(agent, executor, "", True)

    own = {"tools": (Offer("toolyard_status", b"{}"),)}
    return Views(board, ViewKey(), resolve, own, lambda app: {}, set)


def expected(view: View, query: str) -> list[str]:
    """The tools of a view as the linear search finds them."""
    names = [name for name, route in view.tools.items() if route.server is not None]
    texts = []
    for name in names:
        tool = json.loads(view.tools[name].offer.raw)
        texts.append((name, f"{tool['title']} {tool['description']}"))
    return [names[place] for place in LinearIndex(texts).search(query)]


async def turns_during(view: View) -> int:
    """Count the turns that somebody else has until a search is done."""
    turns = 0
    async with asyncio.TaskGroup() as group:
        searching = group.create_task(view.find_tools(QUERY))
        while not searching.done():
            await asyncio.sleep(0)
            turns += 1
    return turns


async def test_tools_are_found_as_the_linear_search_finds_them(board: Board, views: Views) -> None:
    for tools in ({"a": 70, "b": 3}, {"a": 70, "b": 4, "c": 300}, {"b": 4, "c": 299, "d": 1}):
        declare(board, tools)
        view = views.look()
        assert len(view.tool_names()) == sum(tools.values())
        names = expected(view, QUERY)

        assert await view.find_tools(QUERY) == (names, len(names))
        assert await view.find_tools(QUERY, most=7) == (names[:7], len(names))
        theirs = [name for name in names if name.startswith("b__")]
        assert await view.find_tools(QUERY, "b", 2) == (theirs[:2], len(theirs))


async def test_without_a_query_all_tools_are_found_in_order(board: Board, views: Views) -> None:
    declare(board, {"b": 2, "a": 1})
    view = views.look()

    assert await view.find_tools(" ") == (["a__list_issue_0", *view.tool_names("b")], 3)
    assert await view.find_tools("", "b", 1) == (["b__list_issue_0"], 2)
    assert await view.find_tools("", "nobody") == ([], 0)


async def test_a_query_that_is_too_long_is_refused(views: Views) -> None:
    with pytest.raises(ConfigError, match="at most"):
        await views.look().find_tools("x" * (QUERY_CHARS + 1))


async def test_others_have_a_turn_while_the_index_is_made(board: Board, views: Views) -> None:
    slices = 25
    declare(board, {"a": slices * SLICE_TOOLS})

    assert await turns_during(views.look()) >= slices


async def test_a_server_that_did_not_change_costs_nothing(board: Board, views: Views) -> None:
    declare(board, {"a": 400, "b": 3})
    await views.look().find_tools(QUERY)
    declare(board, {"a": 400, "b": 4})

    # One slice is taken out, and one is taken in.
    assert await turns_during(views.look()) <= 4
    assert await turns_during(views.look()) <= 2


async def test_views_of_two_pictures_are_searched_at_once(board: Board, views: Views) -> None:
    declare(board, {"a": 200, "b": 30})
    before = views.look()
    declare(board, {"a": 200, "c": 40})
    after = views.look()

    found = await asyncio.gather(*(view.find_tools(QUERY) for view in (before, after) * 3))

    assert [names for names, _ in found] == [expected(before, QUERY), expected(after, QUERY)] * 3


async def test_a_search_that_is_given_up_leaves_the_index_usable(
    board: Board, views: Views
) -> None:
    declare(board, {"a": 200, "b": 30})
    async with asyncio.TaskGroup() as group:
        searching = group.create_task(views.look().find_tools(QUERY))
        for _ in range(5):
            await asyncio.sleep(0)
        searching.cancel()
    assert searching.cancelled()
    declare(board, {"b": 31, "c": 100})

    assert (await views.look().find_tools(QUERY)).names == expected(views.look(), QUERY)
