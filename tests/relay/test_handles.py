"""Handles of what one replica holds: they lead others to it, and strangers nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.relay.handles import Handles
from toolyard.relay.peers import NoPeers
from toolyard.relay.session import ClientRequest, Outlet, Session
from toolyard.wire.jsonrpc import Message
from toolyard.wire.seal import ROOM, Seal

SEAL = Seal(["fake-key-for-tests-" + "a" * 32])
DONE = Message(result=Raw(b"{}"))


@dataclass
class Line:
    """A way to other replicas that notes who is reached."""

    reached: list[str] = field(default_factory=list)

    async def pass_on(self, replica: str, request: ClientRequest) -> Message:
        self.reached.append(replica)
        return DONE

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        self.reached.append(replica)

    async def ask_others(self, request: ClientRequest) -> list[Message]:
        return []

    async def ask_about_waiting(self, order: bytes) -> list[Message]:
        return []

    def tell_of_waiting(self, members: Sequence[str]) -> None:
        self.reached.append("all")

    def is_known(self, replica: str) -> bool:
        return True

    def tell_others(self, session: Session, notice: Message) -> None:
        self.reached.append("all")


def session(replica: str = "a", principal: str = "me") -> Session:
    return Session(principal, print, replica=replica)


def request(client: Session) -> ClientRequest:
    return ClientRequest(client, "tasks/get", b"1", {}, {}, Outlet(print))


async def test_a_handle_leads_from_any_replica_to_the_one_that_made_it() -> None:
    line = Line()
    handles = Handles(SEAL, line)
    handle = handles.make("task", session("hub-0.yard"), "t 1")

    for replica in ("hub-0.yard", "hub-1.yard"):
        reply = await handles.pass_on("task", handle, request(session(replica)))
        assert reply is (None if replica == "hub-0.yard" else DONE)
    assert line.reached == ["hub-0.yard"]


@pytest.mark.parametrize(
    ("purpose", "principal", "replica"),
    [("result", "me", "b"), ("task", "you", "b"), ("task", "me", "")],
)
async def test_a_handle_leads_nobody_else_anywhere(
    purpose: str, principal: str, replica: str
) -> None:
    line = Line()
    handles = Handles(SEAL, line)
    handle = handles.make("task", session("a"), "t1")

    assert await handles.pass_on(purpose, handle, request(session(replica, principal))) is None
    assert await handles.pass_on(purpose, "t1", request(session(replica, principal))) is None
    assert line.reached == []


def test_a_handle_is_left_as_it_is_where_no_other_replica_could_be_asked() -> None:
    assert Handles(None, NoPeers()).make("task", session(""), "t1") == "t1"
    assert Handles(SEAL, NoPeers()).make("task", session(""), "t1") == "t1"
    long = "x" * ROOM
    assert Handles(SEAL, NoPeers()).make("task", session("a"), long) == long


async def test_who_cannot_be_reached_is_named_with_what_to_do() -> None:
    handles = Handles(SEAL, NoPeers())
    handle = handles.make("task", session("a"), "t1")

    with pytest.raises(LinkError, match="'a', which cannot be reached") as caught:
        await handles.pass_on("task", handle, request(session("b")))
    assert caught.value.hint == "call again"


@pytest.mark.parametrize(
    ("id_", "asker"),
    [
        (b'"a.1"', "a"),
        (b'"b.1"', ""),
        (b'"hub-0.yard.12"', "hub-0.yard"),
        (b"1", ""),
        (b'"a"', ""),
        (b'"a.x"', ""),
        (b'"' + b"x" * 64 + b'.1"', ""),
        (b'"a\\u002e1"', ""),
        (b'" a.1"', ""),
    ],
)
def test_an_answer_is_for_the_replica_that_its_id_names(id_: bytes, asker: str) -> None:
    handles = Handles(SEAL, NoPeers())

    assert handles.asker(session("b"), Message(id=Raw(id_))) == asker
    assert handles.asker(session(""), Message(id=Raw(id_))) == ""
