"""The seams of the house: what a source and an executor look like from outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from toolyard.core.model import Command, Report


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
    def unsent(self) -> int:
        """How many queued bytes the server has not taken yet."""
        ...

    @property
    def stderr(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        ...


class Executor(Protocol):
    """A place where servers run."""

    def open(self, name: str, command: Command) -> AbstractAsyncContextManager[Pipes]:
        """Start the server called `name`; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        ...
