"""Tries whether sessions can share a process of a server.

Two sessions that nobody else has ask the same questions: first each over a process of its own,
then both over one. Where two fresh processes answer alike, but the second session of the shared
one is answered otherwise, the server told it what the first had done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from msgspec import Raw

from toolyard.core.endpoint import fingerprint
from toolyard.core.errors import ConfigError, LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import NO_OFFERS, Command, Offer, Offers, Server
from toolyard.core.names import closest
from toolyard.core.sharing import Evidence, Trial
from toolyard.links.greeting import own_params
from toolyard.links.link import Link
from toolyard.links.listing import list_offers
from toolyard.links.opening import Opener
from toolyard.links.pending import PendingRequest
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

ANSWER_SECONDS: Final = 10.0
ASKED: Final = 20
"""Questions of one kind that are asked."""
Question = tuple[str, str, JsonObject]
"""Its name in the evidence, its method, and its params."""


class Probe:
    """A session that exists only to look: it answers nothing, and remembers what it hears."""

    def __init__(self, name: str) -> None:
        self.client = self.turn = self.lane = f"probe {name}"
        self.heard: list[str] = []
        self.busy = False

    def notify(self, method: str, params: bytes) -> None:
        """Take note of a message; one that comes while nothing was asked is another's."""
        if not self.busy:
            self.heard.append(method)

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Refuse: there is nobody to ask."""
        text = "nobody is there: this is a trial"
        return Message(error=Raw(jsonrpc.fault(era.METHOD_NOT_FOUND, text)))

    async def put(self, link: Link, question: Question) -> bytes:
        """Ask a server something; return its answer, be it an error."""
        _, method, fields = question
        self.busy = True
        params = own_params(link, fields)
        pending = link.request(method, params, self, patience=ANSWER_SECONDS)
        try:
            message = await pending.answer
        except LinkError as error:
            return str(error).encode()
        finally:
            self.busy = False
        return bytes(message.result or message.error)


@dataclass(slots=True)
class _Answers:
    """The answers that one session got, by question, and all it was offered."""

    offers: Offers = NO_OFFERS
    answers: dict[str, bytes] = field(default_factory=dict)


async def probe(open_link: Opener, server: Server, calls: Mapping[str, JsonObject]) -> Evidence:
    """Try a server; `calls` are tools that may be called though they may change something.

    Raises:
        ConfigError: It has no such tool.
        StartError, LinkError: It cannot be started or reached.
    """
    async with open_link(server, None) as link:
        offers = await list_offers(link, ANSWER_SECONDS, NO_OFFERS)
        reads, writes = _questions(offers), _writes(server, offers, calls)
        alone, _ = await _session(link, Probe("alone"), reads, writes)
        again = await _greet_again(link, server)
        version = link.peer.release
    async with open_link(server, None) as link:
        fresh, _ = await _session(link, Probe("fresh"), reads, ())
    async with open_link(server, None) as link:
        one, two = Probe("one"), Probe("two")
        _, after = await _session(link, one, reads, writes)
        second, _ = await _session(link, two, reads, ())
        crossed, nobody = len(one.heard) + len(two.heard), link.unattributed
    return Evidence(
        str(server.id),
        fingerprint(server.endpoint),
        version,
        datetime.now(UTC).isoformat(timespec="seconds"),
        _trials(reads, alone, fresh, second),
        _untried(offers, calls),
        alone.offers != fresh.offers or second.offers == fresh.offers == after.offers,
        crossed,
        nobody,
        again,
    )


async def _session(
    link: Link, probe: Probe, reads: Sequence[Question], writes: Sequence[Question]
) -> tuple[_Answers, _Answers]:
    """Return the answers a session gets when it comes, and after it has done all it does."""
    before = _Answers(await list_offers(link, ANSWER_SECONDS, NO_OFFERS))
    for question in reads:
        before.answers[question[0]] = await probe.put(link, question)
    after = _Answers(before.offers)
    for question in writes:
        await probe.put(link, question)
    if writes:
        for question in reads:
            after.answers[question[0]] = await probe.put(link, question)
        after.offers = await list_offers(link, ANSWER_SECONDS, NO_OFFERS)
    return before, after


def _trials(
    reads: Sequence[Question], alone: _Answers, fresh: _Answers, second: _Answers
) -> tuple[Trial, ...]:
    trials = []
    for subject, _, _ in reads:
        same = alone.answers[subject] == fresh.answers[subject]
        trials.append(
            Trial(subject, same, same and second.answers[subject] != fresh.answers[subject])
        )
    return tuple(trials)


async def _greet_again(link: Link, server: Server) -> str:
    """Tell what becomes of a second greeting over the same pipe: is it one session, or many?"""
    if link.is_modern or not isinstance(server.endpoint, Command):
        return ""
    identity = {"name": "toolyard", "version": "0"}
    params = {"protocolVersion": link.peer.version, "capabilities": {}, "clientInfo": identity}
    pending = link.request("initialize", jsonrpc.encode(params), patience=ANSWER_SECONDS)
    try:
        message = await pending.answer
    except LinkError as error:
        return f"failed: {error}"
    if message.error:
        return f"refused: {jsonrpc.read_fault(message.error).message[:200]}"
    return "answered"


# What can be asked.


def _questions(offers: Offers) -> tuple[Question, ...]:
    """All that can be asked without arguments and, as the server says, changes nothing."""
    tools = [o for o in offers.tools if _is_read_only(o) and not _needs_input(o)]
    prompts = [offer for offer in offers.prompts if not _needs_arguments(offer)]
    questions: list[Question] = [
        (f"tool {o.key}", "tools/call", {"name": o.key, "arguments": {}}) for o in tools[:ASKED]
    ]
    questions += [(f"prompt {o.key}", "prompts/get", {"name": o.key}) for o in prompts[:ASKED]]
    questions += [
        (f"resource {o.key}", "resources/read", {"uri": o.key}) for o in offers.resources
    ][:ASKED]
    return tuple(questions)


def _writes(
    server: Server, offers: Offers, calls: Mapping[str, JsonObject]
) -> tuple[Question, ...]:
    names = [offer.key for offer in offers.tools]
    for name in calls:
        if name not in names:
            near = ", ".join(closest(name, names) or names[:10]) or "none"
            raise ConfigError(f"{server.id.name!r} has no tool {name!r}", f"there are: {near}")
    return tuple(
        (f"tool {name}", "tools/call", {"name": name, "arguments": arguments})
        for name, arguments in calls.items()
    )


def _untried(offers: Offers, calls: Mapping[str, JsonObject]) -> tuple[str, ...]:
    return tuple(o.key for o in offers.tools if not _is_read_only(o) and o.key not in calls)


def _described(offer: Offer) -> JsonObject:
    description = jsonrpc.to_python(offer.raw)
    return description if isinstance(description, dict) else {}


def _is_read_only(offer: Offer) -> bool:
    annotations = _described(offer).get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def _needs_input(tool: Offer) -> bool:
    schema = _described(tool).get("inputSchema")
    return isinstance(schema, dict) and bool(schema.get("required"))


def _needs_arguments(prompt: Offer) -> bool:
    arguments = _described(prompt).get("arguments")
    return any(isinstance(a, dict) and a.get("required") for a in arguments or [])
