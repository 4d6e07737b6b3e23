"""Questions and orders about rules, and the answers to calls that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.errors import UnknownNameError
from toolyard.core.names import closest
from toolyard.core.rules import CallRule
from toolyard.features.rules.model import JsonValue, RuleFields, RuleWord, read_rule, write_rule
from toolyard.features.rules.store import RuleRecords
from toolyard.operation import Guard, Needs, NoInput, Ordered, operation
from toolyard.relay.waiting_everywhere import ShownCall, WaitingEverywhere
from toolyard.yard import Yard

RULES = "/api/v1/rules"
WAITING = "/api/v1/waiting-calls"
OWN_WAITING = f"{OWN_PATHS}waiting-calls"


class PutRule(RuleFields, frozen=True, kw_only=True):
    """A rule to write."""

    name: RuleWord

    def rule(self) -> CallRule:
        """Return the rule it describes.

        Raises:
            ConfigError: It cannot be used.
        """
        fields = msgspec.to_builtins(self)
        del fields["name"]
        return read_rule(self.name, fields)


class RuleName(Struct, frozen=True):
    """The rule that is meant."""

    name: str


class RuleRow(RuleFields, frozen=True, kw_only=True, omit_defaults=False):
    """A rule."""

    name: str
    fault: str = ""
    """The reason why it cannot be read, if it cannot: then it refuses what it may be about."""
    version: str
    """The `If-Match` of an order that counts only for the rule as it is here."""


class RuleList(Struct, frozen=True):
    """Every rule."""

    rules: list[RuleRow]


class WaitingCallRow(Struct, frozen=True):
    """A call that waits for a yes."""

    id: str
    caller: str
    """The name of whoever calls; empty for a client of the hub's owner on this machine."""
    agent: str
    server: str
    tool: str
    arguments: JsonValue
    """The arguments that it would run with; a text if they cannot be read."""
    rule: str
    reason: str
    since: float
    """When it began to wait, in seconds since 1970."""
    expires: float
    """When it is refused if nobody has answered."""
    in_client: bool
    """The client shows the question, and only the answer given there counts."""


class WaitingCallList(Struct, frozen=True):
    """The calls that wait, the oldest first."""

    calls: list[WaitingCallRow]


class AnswerCall(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a call that waits."""

    id: str
    answer: Literal["yes", "no"]


class AnsweredCall(Struct, frozen=True):
    """An answer that has reached its call."""

    id: str
    server: str
    tool: str
    answer: Literal["yes", "no"]


@operation("GET", RULES, needs=Needs.FILES)
async def list_rules(yard: Yard, order: NoInput) -> RuleList:
    """All rules: the calls that wait for a yes, or are refused."""
    kept = await asyncio.to_thread(yard.part(RuleRecords).read)
    return RuleList([_row(rule, version) for _, (rule, version) in sorted(kept.records.items())])


@operation("PUT", RULES + "/{name}", needs=Needs.FILES, guard=Guard.RECORD)
async def put_rule(yard: Yard, order: PutRule) -> Ordered:
    """Write a rule; it holds from the next call on."""
    rule = order.rule()
    write = yard.part(RuleRecords).write_over
    await asyncio.to_thread(write, yard.expected, rule.name, rule, by=yard.caller)
    return Ordered(rule.name, await yard.seen(lambda picture: rule in picture.rules))


@operation("DELETE", RULES + "/{name}", needs=Needs.FILES, errors=(404,), guard=Guard.RECORD)
async def remove_rule(yard: Yard, order: RuleName) -> Ordered:
    """Remove a rule; calls that matched it pass again."""
    records = yard.part(RuleRecords)
    names = (await asyncio.to_thread(records.read)).versions
    if order.name not in names:
        near = ", ".join(closest(order.name, names) or sorted(names)[:20]) or "none"
        raise UnknownNameError(f"there is no rule {order.name[:80]!r}", f"there are: {near}")
    await asyncio.to_thread(records.write_over, yard.expected, order.name, None, by=yard.caller)
    noticed = await yard.seen(lambda picture: order.name not in [r.name for r in picture.rules])
    return Ordered(order.name, noticed)


@operation("GET", WAITING)
async def list_waiting_calls(yard: Yard, order: NoInput) -> WaitingCallList:
    """The calls that wait for a yes."""
    return _listed(await yard.part(WaitingEverywhere).show())


@operation("POST", WAITING + "/{id}", errors=(404, 409))
async def answer_call(yard: Yard, order: AnswerCall) -> AnsweredCall:
    """Let a waiting call run once, or refuse it."""
    calls = yard.part(WaitingEverywhere)
    return _answered(await calls.answer(order.id, order.answer == "yes"), order)


@operation("GET", OWN_WAITING, role=Role.MEMBER, errors=(404,))
async def list_own_waiting_calls(yard: Yard, order: NoInput) -> WaitingCallList:
    """The calls of the member who asks that wait for a yes."""
    return _listed(await yard.part(WaitingEverywhere).show(yard.own_member()))


@operation("POST", OWN_WAITING + "/{id}", role=Role.MEMBER, errors=(404, 409))
async def answer_own_call(yard: Yard, order: AnswerCall) -> AnsweredCall:
    """Let a call of one's own that waits run, once, or refuse it."""
    member, calls = yard.own_member(), yard.part(WaitingEverywhere)
    return _answered(await calls.answer(order.id, order.answer == "yes", member=member), order)


def _row(rule: CallRule, version: int) -> RuleRow:
    fields = asdict(write_rule(rule))
    return RuleRow(**fields, name=rule.name, fault=rule.fault, version=str(version))


def _listed(calls: Iterable[ShownCall]) -> WaitingCallList:
    return WaitingCallList([_waiting_row(call) for call in calls])


def _waiting_row(call: ShownCall) -> WaitingCallRow:
    question = call.question
    return WaitingCallRow(
        call.id,
        question.caller,
        question.agent,
        question.alias,
        question.tool,
        _read(question.arguments),
        question.rule,
        question.reason,
        call.since,
        call.expires,
        call.in_client,
    )


def _read(arguments: bytes) -> Any:
    """The arguments as they are: to read a number and write it again may make another of it."""
    try:
        msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments.decode("utf-8", "replace")
    return Raw(arguments)


def _answered(call: ShownCall, order: AnswerCall) -> AnsweredCall:
    return AnsweredCall(call.id, call.question.alias, call.question.tool, order.answer)
