"""The bridge between the eras: requests whose client and server speak different ones.

A modern server asks by its result, a legacy one by a request of its own. Whoever speaks the other
era is played the part that it knows.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from msgspec import Raw

from toolyard.core.errors import LinkError, ToolyardError
from toolyard.links.link import Link
from toolyard.links.pending import PendingRequest
from toolyard.relay.handles import Handles
from toolyard.relay.legacy import legacy_answer, result_members
from toolyard.relay.modern import modernised
from toolyard.relay.parking import Parking, digest_of, missing, unknown_state
from toolyard.relay.questions import ASKED
from toolyard.relay.routes import Route
from toolyard.relay.sending import RETRIED, head_lines, hop_meta, start, start_legacy
from toolyard.relay.session import LEFT, ClientRequest
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

ROUNDS: Final = 16
"""Rounds of questions one call of a legacy client may take."""
_decode_map: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class EraBridge:
    """Holds the conversation between a client and a server of different eras."""

    def __init__(self, handles: Handles) -> None:
        self._parking = Parking(handles)

    def leave(self, principal: str) -> None:
        """A client is gone, and with it whoever could take up its parked calls."""
        self._parking.leave(principal)

    async def to_modern(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, route: Route
    ) -> Message:
        """A legacy client, a modern server: the hub plays the rounds of questions for it."""
        for _ in range(ROUNDS):
            whole = {**fields, "_meta": hop_meta(link, request)}
            head = head_lines(request, whole, route)
            pending = start(link, request, method, whole, head)
            try:
                message = await pending.answer
            except asyncio.CancelledError:
                link.cancel(pending, LEFT)
                raise
            members = result_members(message)
            if bytes(members.get("resultType", b"")) != b'"input_required"':
                return legacy_answer(message, members, wraps=route.wraps)
            fields = {k: v for k, v in fields.items() if k not in RETRIED}
            fields |= await _answers(request, pending, members)
        raise LinkError(f"{link.name!r} asked more than {ROUNDS} rounds of questions")

    async def to_legacy(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, _route: Route
    ) -> Message:
        """A modern client, a legacy server: questions become `input_required` results."""
        state = fields.get("requestState")
        if state is None:
            pending = start_legacy(link, request, method, fields)
        else:
            request.may_park = True
            parked = self._parking.take(state, request, digest_of(method, fields))
            if parked is None:
                return unknown_state()
            parked.questions.answer(_responses(fields))
            pending, link = parked.questions.pending, parked.link
        return await self.follow(link, request, pending, method, fields)

    async def follow(
        self,
        link: Link,
        request: ClientRequest,
        pending: PendingRequest,
        method: str,
        fields: Fields,
    ) -> Message:
        """Wait for the answer of a legacy server, or for what it asks a modern client first."""
        try:
            if request.is_dropped:
                raise asyncio.CancelledError
            is_asked = request.questions is not None and request.questions.is_waiting
            message = ASKED if is_asked else await pending.answer
            if message is ASKED:
                message = await self._asked(link, request, pending, digest_of(method, fields))
        except asyncio.CancelledError:
            link.cancel(pending, LEFT)
            raise
        finally:
            if pending.answer.done():
                request.questions = None  # they lead back here: neither shall keep the other
        return modernised(request, method, fields, message)

    async def _asked(
        self, link: Link, request: ClientRequest, pending: PendingRequest, digest: bytes
    ) -> Message:
        """Tell a modern client what its server asks, unless that has the answer by now."""
        questions = request.questions
        while questions is None or not questions.is_waiting:  # they were withdrawn meanwhile
            message = await pending.answer
            if message is not ASKED:
                return message
        if questions.missing:
            # The server was refused and may have answered meanwhile; that must not decide.
            link.cancel(pending, f"the client does not support {questions.missing}")
            return missing(questions.missing)
        if pending.answer.done():
            return pending.answer.result()
        return self._parking.park(request, questions, link, digest)


async def _answers(request: ClientRequest, pending: PendingRequest, members: Fields) -> Fields:
    """Put the questions of a round to a legacy client; return what the next round carries."""
    out: Fields = {}
    responses: dict[str, Raw] = {}
    questions = _decode_map(members["inputRequests"]) if "inputRequests" in members else {}
    for key, raw in questions.items():
        question = jsonrpc.decode(raw)
        message = await request.ask(pending, question.method, bytes(question.params) or b"{}")
        if message.error:
            if question.method != "elicitation/create":
                fault = jsonrpc.read_fault(message.error)
                raise ClientRefusedError(fault)
            message = Message(result=Raw(b'{"action":"cancel"}'))
        responses[key] = message.result
    if responses:
        out["inputResponses"] = Raw(jsonrpc.encode(responses))
    if "requestState" in members:
        out["requestState"] = members["requestState"]
    return out


class ClientRefusedError(ToolyardError):
    """The client answered a server's question with an error."""

    def __init__(self, fault: jsonrpc.Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _responses(fields: Fields) -> Fields:
    try:
        return _decode_map(fields["inputResponses"]) if "inputResponses" in fields else {}
    except jsonrpc.MalformedError:
        return {}
