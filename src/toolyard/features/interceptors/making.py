"""Makes the guards of tools, by the interceptors on the picture, and keeps the ways to these."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Final

from toolyard.board import Board
from toolyard.core.endpoint import Command, Endpoint, Url
from toolyard.core.interceptors import Interceptor
from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.executors.local import Local
from toolyard.features.interceptors.endpoints import EndpointTalk
from toolyard.features.interceptors.guard import (
    Chain,
    ClosedGuard,
    InterceptorGuard,
    InterceptorStep,
)
from toolyard.features.interceptors.programs import ProgramTalk
from toolyard.features.interceptors.talking import Talk
from toolyard.records.secrets.expand import Lookup, expand
from toolyard.relay.guards import CallGuard, MakeGuard
from toolyard.tasks import Tasks

GUARDS: Final = 10_000
"""Guards that are kept; beyond this, all are made anew."""


class Interceptors:
    """Every interceptor in use."""

    def __init__(self, local: Local, keyring: Callable[[str], str], separator: str) -> None:
        """Start programs with `local`, and fill in secrets of the `keyring`."""
        self._local = local
        self._keyring = keyring
        self._separator = separator
        self._audits = Tasks()
        self._talks: dict[Interceptor, Talk] = {}
        self._guards: dict[tuple[tuple[Interceptor, ...], Offer], CallGuard] = {}

    def look_at(self, snapshot: Snapshot) -> MakeGuard | None:
        """Return what makes guards by the interceptors of a picture; None if it has none."""
        interceptors = snapshot.interceptors
        return partial(self._guard, snapshot, interceptors) if interceptors else None

    def _guard(
        self,
        snapshot: Snapshot,
        interceptors: tuple[Interceptor, ...],
        entry: Entry,
        tool: Offer,
    ) -> CallGuard | None:
        # A view may show the server under another name; patterns are about that of the picture.
        alias = snapshot.entries[entry.server.id].alias
        names = alias, str(entry.server.id)
        shown = f"{alias}{self._separator}{tool.key}"
        chosen = tuple(i for i in interceptors if i.sees(names, tool.key, shown))
        return self._made(chosen, tool) if chosen else None

    def _made(self, chosen: tuple[Interceptor, ...], tool: Offer) -> CallGuard:
        guard = self._guards.get((chosen, tool))
        if guard is None:
            if len(self._guards) >= GUARDS:
                self._guards.clear()
            guard = self._guards[chosen, tool] = self._make(chosen, tool)
        return guard

    def _make(self, chosen: tuple[Interceptor, ...], tool: Offer) -> CallGuard:
        for interceptor in chosen:
            if interceptor.fault:
                text = f"{interceptor.fault}, so calls of this tool are refused"
                hint = "correct it in its file, or write it anew: toolyard interceptor add"
                return ClosedGuard(text, hint)
        steps = [self.step(interceptor, tool) for interceptor in chosen]
        return InterceptorGuard(Chain(steps, self._audits))

    def step(self, interceptor: Interceptor, tool: Offer) -> InterceptorStep:
        """Return an interceptor at a tool."""
        return InterceptorStep(interceptor, tool, self.talk(interceptor))

    def talk(self, interceptor: Interceptor) -> Talk | None:
        """Return the way to an interceptor that is no part of the hub."""
        talk = self._talks.get(interceptor)
        if talk is None and (talk := self._new_talk(interceptor)) is not None:
            self._talks[interceptor] = talk
        return talk

    def _new_talk(self, interceptor: Interceptor) -> Talk | None:
        work, largest = interceptor.work, interceptor.largest
        if interceptor.fault:
            return None
        if isinstance(work, Command):
            find = partial(_command, self._keyring, work)
            return ProgramTalk(self._local, interceptor.name, find, largest)
        if isinstance(work, Url):
            return EndpointTalk(partial(_address, self._keyring, work), largest)
        return None

    def trouble(self, interceptor: Interceptor) -> str:
        """The reason why an interceptor cannot be asked now; empty if none is known."""
        talk = self._talks.get(interceptor)
        return talk.trouble if talk is not None else ""

    async def run(self, board: Board) -> None:
        """Have the programs run that the picture names, and end all others, until cancelled."""
        try:
            snapshot = board.snapshot
            while True:
                await self._keep(snapshot.interceptors)
                snapshot = await board.wait_after(snapshot.revision)
        finally:
            await self.close()

    async def _keep(self, interceptors: tuple[Interceptor, ...]) -> None:
        for interceptor in interceptors:
            talk = self.talk(interceptor)
            if isinstance(talk, ProgramTalk):
                talk.start()
        gone = self._talks.keys() - set(interceptors)
        if gone:
            self._guards.clear()
            talks = [self._talks.pop(interceptor) for interceptor in gone]
            await asyncio.gather(*(talk.close() for talk in talks))

    async def close(self) -> None:
        """End every program and connection."""
        await self._audits.close()
        await asyncio.gather(*(talk.close() for talk in self._talks.values()))


def _command(keyring: Callable[[str], str], command: Command) -> Command:
    filled = _filled(keyring, command)
    assert isinstance(filled, Command)
    return filled


def _address(keyring: Callable[[str], str], url: Url) -> Url:
    filled = _filled(keyring, url)
    assert isinstance(filled, Url)
    return filled


def _filled(keyring: Callable[[str], str], endpoint: Endpoint) -> Endpoint:
    """The endpoint with values; blocks."""
    return expand(endpoint, Lookup(os.environ, None, keyring))
