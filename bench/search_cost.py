"""Counts what it costs to search tools, in a process of its own.

    python bench/search_cost.py TOOLS

Prints one JSON object: CPU of a search in us (the mean and that of the slowest query), of the first
search and of one after a server changed in ms, and the longest time in ms that the loop was kept.
Runs with the interpreter of an older checkout, too, whose views search at one go.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from toolyard.board import Board
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
from toolyard.relay.view_key import ViewKey
from toolyard.relay.views import Views

PER_SERVER = 50
REPEATS = 20
MOST = 20
VERBS = "get list create update delete search read write add remove send open close move merge"
NOUNS = "issue file repository branch message channel user page database table record calendar"
MORE_NOUNS = "event document folder image comment task project label invoice payment ticket metric"
FILLERS = "the a of in with by for from to and given returns optional current all new name id text"
QUERIES = (
    "issue",
    "create issue",
    "calendar events",
    "rec",
    "send a message to a channel",
    "read a file of the repository",
    "customer payment invoice",
    "server7 list",
    "list all open issues of a repository with a label by name",
    "the a of in with by for from to and given returns",
)

Find = Callable[[str], Awaitable[Any]]


def describe(chance: random.Random, number: int) -> Offer:
    """A tool as servers have them: two words of a name, a sentence or two."""
    nouns = (NOUNS + " " + MORE_NOUNS).split()
    verb, noun = chance.choice(VERBS.split()), chance.choice(nouns)
    words = [verb, "a", noun, *chance.choices(FILLERS.split(), k=chance.randint(3, 15))]
    words += chance.choices(nouns, k=chance.randint(0, 4))
    words += [f"term{chance.randrange(4000)}" for _ in range(chance.randint(0, 4))]
    name = f"{verb}_{noun}_{number}"
    return Offer(name, json.dumps({"name": name, "description": " ".join(words)}).encode())


def offer(board: Board, name: str, tools: int) -> None:
    """Let a server have so many tools."""
    chance = random.Random(name)
    offers = Offers(tools=tuple(describe(chance, number) for number in range(tools)))
    board.post(Observation(ServerId(name, "configured"), Status.READY, offers))


def new_board(tools: int) -> Board:
    """A board with so many tools of many servers."""
    board = Board()
    names = [f"server{number}" for number in range(tools // PER_SERVER)]
    servers = (Server(ServerId(name, "configured"), Command(("x",))) for name in names)
    board.post(Report("configured", tuple(servers)))
    for name in names:
        offer(board, name, PER_SERVER)
    return board


def find_in(views: Views) -> Find:
    """Search as a client does; also where a view has no index that follows."""
    view: Any = views.look()

    async def find(query: str) -> Any:
        if hasattr(view, "find_tools"):
            return await view.find_tools(query, "", MOST)
        return view.search(query)[:MOST]

    return find


async def cost(work: Awaitable[Any]) -> float:
    """CPU of some work."""
    began = time.process_time()
    await work
    return time.process_time() - began


async def longest_turn(work: Awaitable[Any]) -> float:
    """CPU of the longest stretch in which nobody else had a turn."""
    longest, is_done = 0.0, False

    async def watch() -> None:
        nonlocal longest
        began = time.process_time()
        while not is_done:
            await asyncio.sleep(0)
            now = time.process_time()
            longest, began = max(longest, now - began), now

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        await asyncio.sleep(0)
        await work
        is_done = True
    return longest


def new_views(board: Board) -> Views:
    """Views of a board without anything of the hub's own."""

    def resolve(agent: str, executor: str) -> Resolution:
        return Resolution(agent, executor, "", True)

    return Views(board, ViewKey(), resolve, {}, lambda app: {}, set)


async def measure(tools: int) -> dict[str, float]:
    """All figures for so many tools."""
    board = new_board(tools)
    turn = await longest_turn(find_in(new_views(board))("issue"))
    views = new_views(board)
    first = await cost(find_in(views)("issue"))
    find, costs = find_in(views), []
    for query in QUERIES:
        each = [await cost(find(query)) for _ in range(REPEATS)]
        costs.append(sum(each) / REPEATS)
    offer(board, "server0", PER_SERVER + 1)
    changed = await cost(find_in(views)("issue"))
    return {
        "mean_us": sum(costs) / len(costs) * 1e6,
        "slowest_us": max(costs) * 1e6,
        "first_ms": first * 1e3,
        "changed_ms": changed * 1e3,
        "turn_ms": turn * 1e3,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(int(sys.argv[1])))))
