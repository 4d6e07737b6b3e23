"""The seams of the house: what a source and an executor look like from outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from toolyard.core.model import Report, Url
from toolyard.core.placement import Run


class Source(Protocol):
    """Something that knows about MCP servers."""

    @property
    def name(self) -> str:
        """A short, stable name; the right half of every `ServerId` it reports."""
        ...

    async def run(self, post: Callable[[Report], None]) -> None:
        """Run until cancelled, and post a whole report whenever it changes.

        Raises:
            SourceError: The source cannot go on; the app starts it again.
        """
        ...


class RecordSource(Source, Protocol):
    """A source that reads what is kept: its report is true before it runs."""

    @property
    def report(self) -> Report:
        """Everything it knows, now."""
        ...


class Pipes(Protocol):
    """A running server's stdin and stdout."""

    def connect(self, feed: Callable[[bytes], None], ended: Callable[[str], None]) -> None:
        """Deliver stdout to `feed`, chunk by chunk; call `ended(why)` once at its end.

        What arrived before this call is delivered by it.
        """
        ...

    def write(self, data: bytes) -> None:
        """Queue bytes for the server's stdin; silently dropped once it has ended."""
        ...

    @property
    def pid(self) -> int:
        """The process; 0 if it is none of this machine."""
        ...

    @property
    def where(self) -> str:
        """The place it runs at, for people: `pid 4711`, `container 3f2a…`, `pod yard/git-x`."""
        ...

    @property
    def unsent(self) -> int:
        """The number of queued bytes that the server has not taken yet."""
        ...

    @property
    def stderr(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        ...


@dataclass(frozen=True, slots=True)
class Address:
    """The address at which a running server that speaks HTTP is reached from here."""

    url: Url
    where: str
    """As `Pipes.where`."""
    ended: Callable[[], str]
    """Why it ended; empty while it runs."""


class Executor(Protocol):
    """A place where servers run."""

    def open(self, run: Run) -> AbstractAsyncContextManager[Pipes | Address]:
        """Start a server; leaving the context stops it and all it started.

        Pipes for one that speaks on stdin and stdout, an address if its placement has a port.

        Raises:
            StartError: It could not be started.
        """
        ...

    def reach(self, port: int) -> AbstractAsyncContextManager[str]:
        """Give the host and port by which processes there reach a loopback port of this machine.

        Raises:
            StartError: There is no way.
        """
        ...

    async def sweep(self) -> tuple[str, ...]:
        """End what earlier hubs of this user left there; give what it was.

        Raises:
            StartError: The place cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Let go of connections; call it when no server runs there any more."""
        ...
