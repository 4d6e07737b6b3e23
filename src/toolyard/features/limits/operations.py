"""Questions and orders about limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from toolyard.core.limits import EVERY, Limit
from toolyard.core.lookup import find_entry
from toolyard.features.limits.counters import LimitCounters
from toolyard.features.limits.gauges import Figure, Gauge
from toolyard.features.limits.store import LimitBody, LimitRecords, check_limit, limit_body
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.source import find_label
from toolyard.operation import Guard, Needs, NoInput, Ordered, operation
from toolyard.yard import Yard

LIMITS = "/api/v1/limits"
LIMIT = "/api/v1/limits/{name}"
MOST_USES = 1000
"""Uses of one list: those of which the largest part is gone come first."""
LimitWord = Annotated[str, Meta(min_length=1, max_length=64)]


class LimitName(Struct, frozen=True):
    """The limit that is meant."""

    name: LimitWord


class PutLimit(LimitBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A limit, whole; what is not said of it is no limit."""

    name: LimitWord


class LimitRow(LimitBody, frozen=True, kw_only=True, omit_defaults=False):
    """A limit, and whom it is about."""

    name: str
    member_label: str = ""
    """The name of the member for people."""
    fault: str = ""
    """The reason why it cannot be read: calls that it is about are refused."""
    version: str
    """The `If-Match` of an order that counts only for the limit as it is here."""


class LimitUse(Struct, frozen=True):
    """How much of a limit is used now."""

    limit: str
    subject: str
    """Those whose use counts together; empty for everybody's."""
    figure: Figure
    used: int
    allowed: int
    resets_in: float
    """Seconds until nothing of it counts any more."""


class LimitList(Struct, frozen=True):
    """Every limit, and how much of each is used; the use of those who use nothing is left out."""

    limits: list[LimitRow]
    uses: list[LimitUse]


@operation("GET", LIMITS, needs=Needs.FILES)
async def list_limits(yard: Yard, order: NoInput) -> LimitList:
    """All limits, and how much of each is used now, by whom."""
    kept = await asyncio.to_thread(yard.part(LimitRecords).read)
    rows = [_row(yard, limit, version) for _, (limit, version) in sorted(kept.records.items())]
    rows += [
        LimitRow(name=name, fault=problem.text, version=str(version))
        for name, (problem, version) in kept.troubles.items()
    ]
    return LimitList(rows, _uses(yard.part(LimitCounters), kept.values))


def _row(yard: Yard, limit: Limit, version: int) -> LimitRow:
    is_one = limit.member not in ("", EVERY)
    return LimitRow(
        **asdict(limit_body(limit)),
        name=limit.name,
        member_label=find_label(yard, limit.member) if is_one else "",
        fault=limit.fault,
        version=str(version),
    )


def _uses(counters: LimitCounters, limits: Mapping[str, Limit]) -> list[LimitUse]:
    now = counters.clock()
    uses = [
        LimitUse(
            gauge.key.limit,
            gauge.label,
            gauge.key.figure,
            used,
            _allowed(gauge, limits),
            round(gauge.resets_in(now), 1),
        )
        for gauge in counters
        if (used := gauge.used(now) + gauge.elsewhere)
    ]
    uses.sort(key=lambda use: (-use.used / use.allowed, use.limit, use.subject))
    return uses[:MOST_USES]


def _allowed(gauge: Gauge, limits: Mapping[str, Limit]) -> int:
    """The figure of the limit as it is written: a gauge learns of another with the next call."""
    limit = limits.get(gauge.key.limit)
    written: int = getattr(limit, gauge.key.figure.value, 0)
    return written or gauge.most


@operation("POST", LIMITS, errors=(404,), guard=Guard.RECORD)
async def set_limit(yard: Yard, order: PutLimit) -> Ordered:
    """Set a limit on a server and a member that are there, in place of any of that name."""
    server, member = order.server, order.member
    if server not in ("", EVERY):
        server = str(find_entry(yard.snapshot, server).server.id)
    if member not in ("", EVERY) and MemberDirectory in yard.parts:
        # By their key: an email address may change.
        member = yard.part(MemberDirectory).find(member).key
    return await _write(yard, replace(order, server=server, member=member))


@operation("PUT", LIMIT, needs=Needs.FILES, guard=Guard.RECORD)
async def put_limit(yard: Yard, order: PutLimit) -> Ordered:
    """Write a limit, in place of any of that name; what it is about need not be there."""
    return await _write(yard, order)


@operation("DELETE", LIMIT, needs=Needs.FILES, errors=(404,), guard=Guard.RECORD)
async def remove_limit(yard: Yard, order: LimitName) -> Ordered:
    """Remove a limit."""
    remove = yard.part(LimitRecords).remove
    await asyncio.to_thread(remove, order.name, yard.expected, by=yard.caller)
    noticed = await yard.seen(lambda s: order.name not in {limit.name for limit in s.limits})
    return Ordered(order.name, noticed)


async def _write(yard: Yard, order: PutLimit) -> Ordered:
    fields = {name: getattr(order, name) for name in LimitBody.__struct_fields__}
    limit = check_limit(order.name, LimitBody(**fields))
    write = yard.part(LimitRecords).write_over
    await asyncio.to_thread(write, yard.expected, order.name, limit, by=yard.caller)
    return Ordered(order.name, await yard.seen(lambda snapshot: limit in snapshot.limits))
