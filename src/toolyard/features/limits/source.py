"""The limits that were set, on the picture like all else, and what counts their use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from toolyard.core.caller import ACCOUNT, AGENT_ACCOUNT
from toolyard.core.limits import EVERY, Limit
from toolyard.core.model import Report
from toolyard.core.replicas import KnownReplicas
from toolyard.features.limits.counters import LimitCounters
from toolyard.features.limits.guard import LimitGuards
from toolyard.features.limits.store import FILE, LimitCodec, LimitRecords
from toolyard.features.members.source import find_label
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "limits"


def parts(yard: Yard) -> Iterable[object]:
    """The limits, which as a file are beside the servers file, and the counters of their use."""
    places, path = yard.part(RecordPlaces), yard.part(Settings).config_file.parent / FILE
    where = places.shared.name if places.shared is not None else str(path)
    codec = LimitCodec(where)
    yield codec
    yield LimitRecords(places.document("limit", path, codec, names_once=True))
    counters = LimitCounters()
    yield counters
    if places.shared is not None:
        from toolyard.features.limits.shares import LimitShares
        from toolyard.records.postgres.heartbeat import Heartbeat

        if Heartbeat in yard.parts:  # a hub runs
            yard.part(Heartbeat).add(LimitShares(counters, yard.part(KnownReplicas)))


def guards(yard: Yard) -> Sequence[LimitGuards]:
    """The guards of tools that limits are about."""
    return [LimitGuards(yard.part(LimitCounters))]


def sources(yard: Yard) -> Sequence[Followed[Limit]]:
    """The source of all limits."""
    tell = partial(_report, yard.part(LimitCodec), yard.part(LimitCounters))
    return [Followed(SOURCE, yard.part(LimitRecords), tell)]


def _report(
    codec: LimitCodec, counters: LimitCounters, kept: Kept[Limit], before: Report
) -> Report:
    """Report the limits; where they cannot be read, those before stand, or nothing passes."""
    if kept.failure is not None:
        limits = before.limits or (Limit("", fault=kept.failure.text),)
        return replace(before, problems=kept.problems, limits=limits)
    read = tuple(kept.values[name] for name in sorted(kept.values))
    unknown = tuple(Limit(name, fault=at.text) for name, (at, _) in kept.troubles.items())
    damaged = tuple(codec.damaged(limit) for limit in read if limit.fault)
    counters.forget(limit.name for limit in read)
    return Report(SOURCE, problems=(*kept.problems, *damaged), limits=(*unknown, *read))


def instance_limit(yard: Yard, account: str) -> int:
    """Return how many servers limits let run for the sessions of an account; 0 for any number."""
    limits = [limit for limit in yard.snapshot.limits if limit.instances]
    return min((limit.instances for limit in limits if _is_of(yard, limit, account)), default=0)


def _is_of(yard: Yard, limit: Limit, account: str) -> bool:
    if account.startswith(ACCOUNT):
        key = account.removeprefix(ACCOUNT)
        return limit.member in (EVERY, key) or (
            bool(limit.member) and limit.member == find_label(yard, key)
        )
    is_token = account.startswith(AGENT_ACCOUNT)
    return is_token and limit.token in (EVERY, account.removeprefix(AGENT_ACCOUNT))
