"""The yard as an operation meets it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from toolyard.board import Board
from toolyard.core.errors import ConflictError, UnknownNameError
from toolyard.core.model import Snapshot

Part = TypeVar("Part")
ANY_VERSION: Final[frozenset[str]] = frozenset()


class Parts:
    """The objects a yard is made of, found by their class."""

    def __init__(self, parts: Iterable[object] = ()) -> None:
        self._by_class: dict[type[Any], object] = {}
        for part in parts:
            self.add(part)

    def add(self, part: object) -> None:
        """Make a part known; a class has one."""
        if type(part) in self._by_class:
            raise ValueError(f"there is a {type(part).__name__} already")
        self._by_class[type(part)] = part

    def __contains__(self, kind: type[Any]) -> bool:
        """Return whether there is a part of that class."""
        return kind in self._by_class

    def __getitem__(self, kind: type[Part]) -> Part:
        """Return the part of that class."""
        part = self._by_class[kind]
        assert isinstance(part, kind)
        return part


@dataclass(frozen=True, slots=True)
class HubLife:
    """The address of the hub that runs, and when it began."""

    url: str
    """Empty if it has no door but one client's stdin and stdout."""
    began: float = field(default_factory=time.monotonic)


class Stopping(asyncio.Event):
    """Set once the hub is to stop: whatever takes long ends then."""

    def __init__(self) -> None:
        super().__init__()
        self.comes_back = False
        """True if the hub that stops is started again at once."""

    def order(self, comes_back: bool) -> None:
        """Let all doors close, and then everything behind them."""
        self.comes_back = comes_back
        self.set()


async def _stays() -> bool:
    """Nobody hangs up on an order that came over no connection."""
    return False


@dataclass(frozen=True, slots=True)
class Yard:
    """All that an operation works with: the picture, what is kept, who is calling."""

    board: Board
    parts: Parts
    caller: str = ""
    """The name of whoever gives the order."""
    member: str = ""
    """The key of the member who gives it; empty for the hub's owner."""
    expected: frozenset[str] = field(default=ANY_VERSION)
    """The versions under which the caller wants its change; any if empty."""
    is_live: bool = True
    """A hub follows what is written; without one nobody notices."""
    has_left: Callable[[], Awaitable[bool]] = _stays
    """Tells whether the caller has hung up: an order of many steps then ends after the present."""

    @property
    def snapshot(self) -> Snapshot:
        """The picture, now."""
        return self.board.snapshot

    def part(self, kind: type[Part]) -> Part:
        """Return the part of the yard of that class."""
        return self.parts[kind]

    def check_picture(self) -> None:
        """Refuse a change that was decided on by an older picture.

        Raises:
            ConflictError: The picture is another now.
        """
        revision = str(self.snapshot.revision)
        if self.expected and not self.expected & {revision, "*"}:
            text = f"the picture has changed: its revision is {revision} now"
            raise ConflictError(text, "look again, and decide again")

    def own_member(self) -> str:
        """Return the key of the member who asks for what is their own.

        Raises:
            UnknownNameError: It is the hub's owner, who is no member.
        """
        if not self.member:
            text = "the hub's own token belongs to no member, so nothing here is its own"
            raise UnknownNameError(text, "log in by your own name, or name the member you mean")
        return self.member

    async def seen(self, holds: Callable[[Snapshot], bool]) -> bool:
        """Wait until the picture shows it; return False if that takes too long."""
        return self.is_live and await self.board.wait_until(holds)
