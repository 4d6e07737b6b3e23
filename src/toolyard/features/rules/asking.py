"""Asks a person whether one call may run: in the client, or on the page and the command line.

A yes is for one call: of this caller, to this tool as it was approved when the question was put,
with these arguments, within its time, and once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Raw

from toolyard.board import Board
from toolyard.core.errors import LinkError
from toolyard.core.parts import part_hash
from toolyard.core.rules import CallRule
from toolyard.features.rules.matching import facts_of, rules_about
from toolyard.relay.guards import Deliver
from toolyard.relay.held_calls import (
    METHOD,
    HeldCall,
    HeldCalls,
    action_of,
    answer_to,
    without_round,
)
from toolyard.relay.questions import QuestionClock
from toolyard.relay.replies import refuse_call
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest, agent_of
from toolyard.relay.waiting_calls import CallQuestion, WaitingCall, WaitingCalls
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

SHOWN: Final = 4000
"""Characters of the arguments that a client shows; the page and the command line show all."""
PROGRESS_SECONDS: Final = 15.0
STEP: Final = 1e-6
"""The progress of waiting, so small that a server's own is never less."""
LONGEST_HANDLE: Final = 1 << 16
"""Bytes of a result that may be a question of the server."""
_KEY: Final = "approve"
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        _KEY: {"type": "boolean", "title": "Run it", "description": "Run this one call, once."}
    },
    "required": [_KEY],
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call whose client has the question."""

    question: CallQuestion
    fields: Fields


@dataclass(frozen=True, slots=True)
class _GoesOn:
    """A call that was approved, and whose server has asked something before its answer."""

    question: CallQuestion


class CallAsking:
    """Has calls wait for a yes."""

    def __init__(self, board: Board, held: HeldCalls, waiting: WaitingCalls) -> None:
        self._board = board
        self._held = held
        self._waiting = waiting

    async def serve(
        self,
        request: ClientRequest,
        fields: Fields,
        route: Route,
        tool_mark: str,
        rules: Sequence[CallRule],
        deliver: Deliver,
    ) -> Message:
        """Deliver a call once somebody has said yes; else say why it did not run."""
        question = _question(request, fields, route, tool_mark, rules)
        going_on = self._held.find(request, fields, _GoesOn)
        if going_on is not None and going_on.about.question == question:
            self._held.forget(going_on.handle)
            return await self._deliver(request, fields, question, deliver)
        asked = self._held.find(request, fields, _Asked)
        if asked is not None:
            return await self._resume(asked, request, fields, question, deliver)
        asks = _takes_forms(request)
        if asks and request.is_modern:
            return self._hold(request, fields, question)
        with self._waiting.waiting(question) as call:
            request.clock = request.clock or QuestionClock()
            with request.clock:
                why = await self._wait(call, request, asks=asks)
        why = why or self._changed(request, fields, question, route)
        if why:
            return tell(request, f"{_about(question)} did not run: {why}.")
        return await self._deliver(request, fields, question, deliver)

    # The client waits: it is asked meanwhile, or the page and the command line are.

    async def _wait(self, call: WaitingCall, request: ClientRequest, *, asks: bool) -> str:
        """Wait for an answer; return why the call must not run, empty after a yes."""
        seconds = call.question.seconds
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(_keep_awake(call, request))]
            if asks:
                helpers.append(group.create_task(_ask_here(call, request)))
            await asyncio.wait({call.verdict}, timeout=seconds)
            for task in helpers:
                task.cancel()
        if not call.verdict.done():
            return f"nobody said yes within {seconds:g} s"
        return "" if call.verdict.result() else "a person said no"

    # The modern era: the question is the result, and the client calls again.

    def _hold(self, request: ClientRequest, fields: Fields, question: CallQuestion) -> Message:
        call = self._waiting.put(question, in_client=True)
        message = self._held.hold(
            request,
            fields,
            _Asked(question, fields),
            (_KEY, _form(question)),
            question.seconds,
            lambda: self._waiting.close(call.id),
        )
        if message is None:
            self._waiting.close(call.id)
            return tell(request, f"{_about(question)} did not run: too many calls wait for a yes.")
        return message

    async def _resume(
        self,
        held: HeldCall[_Asked],
        request: ClientRequest,
        fields: Fields,
        question: CallQuestion,
        deliver: Deliver,
    ) -> Message:
        # Whatever the answer: it is good for this once.
        self._held.forget(held.handle)
        if not _is_yes(answer_to(fields, _KEY)):
            return tell(request, f"{_about(question)} did not run: a person said no.")
        if held.about.question != question:
            return tell(request, f"{_about(question)} did not run: {_CHANGED}.")
        again = without_round(held.about.fields)
        first = {key: value for key, value in held.about.fields.items() if key not in again}
        own = {**without_round(fields), **first}
        return await self._deliver(request, own, question, deliver)

    async def _deliver(
        self, request: ClientRequest, fields: Fields, question: CallQuestion, deliver: Deliver
    ) -> Message:
        """Take a call on its way; if its server asks something first, it may go on after that."""
        message = await deliver(fields)
        state = _state_of(message) if request.is_modern else ""
        if state:
            self._held.keep(state, request, fields, _GoesOn(question), question.seconds)
        return message

    def _changed(
        self, request: ClientRequest, fields: Fields, question: CallQuestion, route: Route
    ) -> str:
        """Say why a yes is worth nothing any more: the tool is another, or a rule refuses it."""
        snapshot = self._board.snapshot
        entry = snapshot.entries.get(route.server) if route.server is not None else None
        if entry is None or not entry.server.enabled or question.tool in entry.held.tools:
            return _CHANGED
        offer = next((o for o in entry.offers.tools if o.key == question.tool), None)
        if offer is None or part_hash(("tools", offer.key), offer.raw) != question.tool_mark:
            return _CHANGED
        facts = facts_of(request, fields)
        refusing = [
            rule
            for rule in rules_about(snapshot, snapshot.rules, entry, offer)
            if rule.says == "refuse"
        ]
        return "a rule refuses it now" if any(rule.applies(facts) for rule in refusing) else ""


_CHANGED: Final = "the tool has changed since the question was put"


def _takes_forms(request: ClientRequest) -> bool:
    """Tell whether a client can put a form to its person."""
    ability = request.capabilities.get("elicitation")
    if not request.is_modern and not request.responder.takes_stream:
        return False  # there is no way for a question while its call waits
    return isinstance(ability, dict) and (not ability or "form" in ability)


async def _ask_here(call: WaitingCall, request: ClientRequest) -> None:
    """Ask the person in the client, while its call waits; the page may be quicker."""
    params = jsonrpc.encode(_form(call.question))
    try:
        answer = await request.session.ask(request.responder.emit, METHOD, params)
    except LinkError:
        return  # nobody answered there; the page still can
    if answer.error or call.verdict.done():
        return
    call.verdict.set_result(_is_yes(answer))


async def _keep_awake(call: WaitingCall, request: ClientRequest) -> None:
    """Tell a client that gave a token for it what its call waits for."""
    number = 0
    text = f"waits for a yes: toolyard rule answer {call.id} yes"
    while True:
        number += 1
        told = {"progress": number * STEP, "message": text}
        request.notify("notifications/progress", jsonrpc.encode(told))
        await asyncio.sleep(PROGRESS_SECONDS)


def tell(request: ClientRequest, text: str) -> Message:
    """Tell a person in the result of a call why it did not run."""
    return refuse_call(text, request.method, is_modern=request.is_modern)


def _question(
    request: ClientRequest,
    fields: Fields,
    route: Route,
    tool_mark: str,
    rules: Sequence[CallRule],
) -> CallQuestion:
    session, arguments = request.session, bytes(fields.get("arguments", b"{}"))
    return CallQuestion(
        principal=session.principal,
        caller=session.caller,
        member=session.member,
        agent=session.agent or agent_of(session.info),
        server=str(route.server),
        alias=route.alias,
        tool=route.key,
        arguments=arguments,
        digest=hashlib.sha256(arguments).hexdigest(),
        tool_mark=tool_mark,
        rule=", ".join(rule.name for rule in rules),
        reason=" ".join(rule.reason for rule in rules if rule.reason),
        seconds=min(rule.wait for rule in rules),
    )


def _form(question: CallQuestion) -> dict[str, object]:
    agent = f"'{question.agent}'" if question.agent else "A client"
    lines = [
        f"{agent} wants to call '{question.tool}' of '{question.alias}' (rule: {question.rule}).",
        *([question.reason] if question.reason else []),
        f"Arguments: {shown(question.arguments, SHOWN)}",
    ]
    return {"mode": "form", "message": "\n".join(lines), "requestedSchema": _SCHEMA}


def shown(arguments: bytes, most: int) -> str:
    """Return arguments as a text in which nothing is invisible, cut if it is too long."""
    try:
        text = json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = arguments.decode("utf-8", "replace")
    rest = len(text) - most
    text = "".join(_visible(character) for character in text[:most])
    return f"{text} … and {rest} more characters" if rest > 0 else text


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def _about(question: CallQuestion) -> str:
    return f"'{question.tool}' of '{question.alias}' (rule: {question.rule})"


def _is_yes(answer: Message) -> bool:
    """Tell whether a person sent the form with a yes; to send it empty is none."""
    if action_of(answer) != "accept":
        return False
    try:
        content = jsonrpc.fields(jsonrpc.fields(answer.result).get("content", Raw(b"{}")))
    except jsonrpc.MalformedError:
        return False
    return bytes(content.get(_KEY, b"")) == b"true"


def _state_of(message: Message) -> str:
    """The state by which a client goes on with a call whose server has asked something."""
    result = bytes(message.result)
    if len(result) > LONGEST_HANDLE or b"input_required" not in result:
        return ""
    members = jsonrpc.fields(result)
    if jsonrpc.text(members.get("resultType")) != "input_required":
        return ""
    return jsonrpc.text(members.get("requestState"))
