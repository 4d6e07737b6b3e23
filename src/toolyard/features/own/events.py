"""A stream for one member: whoever shows what is theirs hears when to look again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

from toolyard.features.history.call_log import CallLog
from toolyard.features.history.model import LoggedCall
from toolyard.features.members.directory import MemberDirectory
from toolyard.relay.waiting_everywhere import WaitingEverywhere
from toolyard.yard import Stopping, Yard

LOOK_SECONDS: Final = 1.0
HEARTBEAT_LOOKS: Final = 15
"""Looks without news after which the stream says that it is still there."""
SELF: Final = b"event: self\ndata: {}\n\n"
WAITING: Final = b'event: waiting\ndata: {"calls": %d}\n\n'
CALLS: Final = b'event: own\ndata: {"calls": %d}\n\n'


async def tell_own_events(yard: Yard, key: str) -> AsyncIterator[bytes]:
    """Tell a member of every change of their own, and of their calls, until the hub stops."""
    call_log, calls = yard.part(CallLog), _OwnCalls(yard.caller)
    call_log.listeners.append(calls)
    try:
        async for event in _tell(yard, key, calls):
            yield event
    finally:
        call_log.listeners.remove(calls)


class _OwnCalls:
    """Counts the calls of one caller that ended since they were last told."""

    def __init__(self, caller: str) -> None:
        self._caller = caller
        self.count = 0

    def __call__(self, calls: Sequence[LoggedCall]) -> None:
        self.count += sum(call.caller == self._caller for call in calls)


async def _tell(yard: Yard, key: str, calls: _OwnCalls) -> AsyncIterator[bytes]:
    directory, stopping = yard.part(MemberDirectory), yard.part(Stopping)
    waiting = yard.part(WaitingEverywhere)
    told, quiet, shown = _standing(directory, key), 0, 0
    yield b": toolyard\n\n"
    while not await _is_over(stopping):
        quiet += 1
        if (now := _standing(directory, key)) != told:
            told, quiet = now, 0
            yield SELF
        if shown != waiting.revision:
            shown, quiet = waiting.revision, 0
            yield WAITING % waiting.count(key)
        if calls.count:
            count, calls.count, quiet = calls.count, 0, 0
            yield CALLS % count
        if quiet >= HEARTBEAT_LOOKS:
            quiet = 0
            yield b": still here\n\n"


def _standing(directory: MemberDirectory, key: str) -> tuple[object, ...]:
    """What a member is shown of themselves."""
    member, caller = directory.get(key), directory.caller(key)
    role = member.role if member is not None else None
    groups = member.groups if member is not None else ()
    return role, groups, caller


async def _is_over(stopping: asyncio.Event) -> bool:
    """Wait a moment; tell whether the hub stops."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            return await stopping.wait()
    except TimeoutError:
        return False
