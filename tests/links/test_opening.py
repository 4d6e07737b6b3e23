"""A link is opened in ordered steps; each may change what the next one gets."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from tests.links.company import LIMIT, PATIENCE, declared, stub
from toolyard.core.errors import SecretError, StartError
from toolyard.core.model import Command, Endpoint, Identity, Peer, Server, Url
from toolyard.executors.local import Local, LocalPatience
from toolyard.links.link import Link
from toolyard.links.opening import (
    Connect,
    FillIn,
    FindAgain,
    Opener,
    Opening,
    Proceed,
    Recognise,
    Step,
)

HERE = Url("http://127.0.0.1:1/mcp")
THERE = Url("http://127.0.0.1:2/mcp")


class End:
    """The last step: notes what arrives there, and whether the link was closed again."""

    def __init__(self) -> None:
        self.openings: list[Opening] = []
        self.closed = 0

    @asynccontextmanager
    async def __call__(self, opening: Opening) -> AsyncIterator[Link]:
        self.openings.append(opening)
        link = Link(opening.server.id.name, 1.0)
        link.peer = Peer("legacy", "v", name="what answers")
        try:
            yield link
        finally:
            self.closed += 1
            link.lose("was stopped")
            await link.tasks.close()


async def arrived(server: Server, *steps: Step) -> Opening:
    """What arrives at the end of these steps."""
    end = End()
    async with Opener(steps, end)(server, "legacy"):
        (opening,) = end.openings
    assert end.closed == 1
    return opening


def renaming(text: str) -> Step:
    """A step that puts a word behind the command."""

    def step(opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        assert isinstance(opening.endpoint, Command)
        argv = (*opening.endpoint.argv, text)
        return proceed(replace(opening, endpoint=Command(argv)))

    return step


async def test_steps_are_taken_in_their_order_and_know_server_and_hint() -> None:
    server = declared("acme", Command(("run",)))
    opening = await arrived(server, renaming("first"), renaming("second"))
    assert opening.endpoint == Command(("run", "first", "second"))
    assert opening.server is server and opening.hint == "legacy"


def fill_in(threads: list[int]) -> FillIn:
    def expand(server: Server, _member: str) -> Endpoint:
        threads.append(threading.get_ident())
        if server.id.name == "lost":
            raise SecretError("there is no secret 'x'", "set it")
        return Command(("value",))

    def explain(server: Server, error: SecretError) -> SecretError:
        return SecretError(f"{error} for {server.id.name}", error.hint)

    return FillIn(expand, explain, lambda _server: None)


@pytest.mark.parametrize(("word", "blocks"), [("${keyring:x}", True), ("${HOME}", False)])
async def test_values_take_the_place_of_references_and_a_keyring_blocks_nobody(
    word: str, blocks: bool
) -> None:
    threads: list[int] = []
    server = declared("acme", Command(("run", word)))
    opening = await arrived(server, fill_in(threads))
    assert opening.endpoint == Command(("value",))
    assert (threads != [threading.get_ident()]) is blocks


async def test_a_secret_that_is_missing_is_explained_and_nothing_is_opened() -> None:
    end = End()
    opener = Opener([fill_in([])], end)
    with pytest.raises(SecretError, match="no secret 'x' for lost"):
        async with opener(declared("lost", Command(("run", "${keyring:x}"))), None):
            raise AssertionError("it was opened")
    assert end.openings == []


async def find_there(url: Url, identity: Identity) -> Url:
    return THERE if identity.name == "moved" else url


@pytest.mark.parametrize(
    ("server", "found"),
    [
        (declared("acme", HERE, identity=Identity("/bin/x", "moved")), THERE),
        (declared("acme", HERE, identity=Identity("/bin/x", "same")), HERE),
        (declared("acme", HERE), HERE),
        (declared("acme", Command(("x",)), identity=Identity("x", "moved")), Command(("x",))),
    ],
)
async def test_an_adopted_address_alone_is_looked_for(server: Server, found: Endpoint) -> None:
    assert (await arrived(server, FindAgain(find_there))).endpoint == found


def refuse(*_: object) -> None:
    raise StartError("it is somebody else", "")


def admit(*_: object) -> None:
    return None


async def test_who_may_not_be_reached_is_not_opened_and_who_is_another_is_closed_again() -> None:
    end = End()
    for step in (Recognise(refuse, admit), Recognise(admit, refuse)):
        with pytest.raises(StartError, match="somebody else"):
            async with Opener([step], end)(declared("acme", HERE), None):
                raise AssertionError("it was given away")
    assert len(end.openings) == end.closed == 1


async def test_a_server_that_is_started_need_not_be_recognised() -> None:
    command = Command(("run",))
    opening = await arrived(declared("acme", command), Recognise(refuse, refuse))
    assert opening.endpoint == command


@pytest.mark.parametrize(("timeout", "patience"), [(None, PATIENCE.call), (2.5, 2.5)])
async def test_the_end_is_a_greeted_server_with_the_patience_of_its_entry(
    timeout: float | None, patience: float
) -> None:
    local = Local(patience=LocalPatience(eof=0.5, term=0.5))
    places: list[str] = []

    def place(name: str) -> Local:
        places.append(name)
        return local

    opener = Opener([], Connect(place, PATIENCE, LIMIT))
    try:
        async with opener(declared("acme", stub(), timeout=timeout), None) as link:
            assert link.patience == patience
            assert link.peer.name and link.pid
    finally:
        await local.close()
    assert places == [""]
