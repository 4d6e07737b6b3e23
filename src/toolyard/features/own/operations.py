"""Questions of members about their own calls, and the stream of their news."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.features.history.model import moment
from toolyard.features.history.operations import CallPage, Ended, Id, Text, call_page
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.features.members.directory import USE_SECONDS
from toolyard.features.members.model import Member
from toolyard.features.members.store import MemberRecords
from toolyard.features.own.events import tell_own_events
from toolyard.operation import NoInput, Streamed, operation
from toolyard.yard import Yard

CALLS = f"{OWN_PATHS}calls"
EVENTS = f"{OWN_PATHS}events"


class OwnCallsQuery(Struct, frozen=True):
    """Which of their calls; every field means what it means in a search of all."""

    server: Text = ""
    tool: Text = ""
    agent: Text = ""
    outcome: Ended = ""
    text: Text = ""
    since: Text = ""
    before: Id = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


@operation("GET", CALLS, role=Role.MEMBER, errors=(404,))
async def search_own_calls(yard: Yard, order: OwnCallsQuery) -> CallPage:
    """Search the calls of the member who asks."""
    earliest = await asyncio.to_thread(_earliest, yard.part(MemberRecords), yard)
    since = moment(order.since, datetime.now(UTC)).timestamp() if order.since else 0.0
    wanted = Search(
        order.server,
        order.tool,
        order.agent,
        yard.caller,
        order.outcome,
        order.text,
        max(since, earliest),
        order.before,
        order.limit,
    )
    return call_page(await yard.part(History).search(wanted), order.limit)


@operation("GET", EVENTS, role=Role.MEMBER, media="text/event-stream", errors=(404,))
async def get_own_events(yard: Yard, order: NoInput) -> Streamed[str]:
    """Changes of the member who asks, and calls of theirs, as server-sent events."""
    return Streamed(tell_own_events(yard, yard.own_member()))


def _earliest(records: MemberRecords, yard: Yard) -> float:
    """The time since which calls under the caller's name are their own.

    An issuer may give an email address to somebody else, and calls are noted by it.
    """
    key = yard.own_member()
    others = (m for m in records.read().values.values() if m.key != key and m.label == yard.caller)
    return max((_left_at(member) for member in others), default=0.0)


def _left_at(member: Member) -> float:
    # The last use is written down to the hour.
    return max(member.removed_at, member.used_at + USE_SECONDS)
