"""A change of a client's file as it is planned, and its way to the disk."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeGuard

from toolyard.core.errors import ConfigError, StoreError
from toolyard.features.clients.difference import difference
from toolyard.features.clients.journal import What
from toolyard.features.clients.places import LARGEST, Place, refuse_links
from toolyard.records.files import read_bounded, write_atomic

Way = tuple[str, ...]
"""The keys that lead to an entry within a file; the last is its name."""
OWN_MODE: Final = 0o600
SHARED_MODE: Final = 0o644
"""Of a new file in a project, which is for everybody who works on it."""


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """A change that was not made yet."""

    place: Place
    what: What
    before: bytes | None
    """The bytes of the file; None if there is none."""
    after: bytes | None
    """The bytes it is to hold; None if it is to go."""
    modes: tuple[int, int] | None = None
    """The mode it has and the one it is to get, if another."""
    ended: str = ""
    """The token that will not work any more."""
    batch: str = ""
    """The order it is part of, if that changes several files."""
    replaced: tuple[Way, ...] = ()
    """The entries that leave for the hub's, or come back in its place."""
    beside: tuple[ChangePlan, ...] = ()
    """The changes of other files of the same client, which are made with this one."""

    @property
    def changes(self) -> bool:
        """True if there is anything to do."""
        return bool(self.files)

    @property
    def files(self) -> tuple[ChangePlan, ...]:
        """The plan for each file that changes."""
        is_changed = self.before != self.after or self.modes is not None
        more = (file for plan in self.beside for file in plan.files)
        return (*((replace(self, beside=()),) if is_changed else ()), *more)

    @property
    def reverse(self) -> ChangePlan:
        """The plan that leaves the file as it is now."""
        modes = self.modes[::-1] if self.modes else None
        return replace(self, before=self.after, after=self.before, modes=modes)

    @property
    def difference(self) -> str:
        """The change as a unified difference, without secrets; empty if there is none."""
        lines = difference(self.place.path, self.before, self.after)
        if self.modes is not None:
            old, new = self.modes
            why = "it holds a token" if is_narrowing(self.modes) else "as it was before"
            lines = f"mode {old:04o} -> {new:04o}: {why}\n{lines}"
        return lines + "".join(plan.difference for plan in self.beside)

    @property
    def names(self) -> list[str]:
        """The names of the servers that leave for the hub, or come back in its place."""
        ways = (*self.replaced, *(way for plan in self.beside for way in plan.replaced))
        return list(dict.fromkeys(way[-1] for way in ways))

    def check_previewed(self, difference: str | None) -> None:
        """See that this is the change that was previewed, if one was.

        Raises:
            ConfigError: It is another.
        """
        if difference is not None and difference != self.difference:
            raise ConfigError(
                f"'{self.place.path}' was changed meanwhile, and was left alone", "try again"
            )


def read_file(place: Place) -> bytes | None:
    """The bytes of a client's file; None if there is none.

    Raises:
        ConfigError: A link leads to it, or it is no file.
        StoreError: It cannot be read.
    """
    refuse_links(place)
    try:
        return read_bounded(place.path, LARGEST)
    except FileNotFoundError:
        return None


def write_plan(plan: ChangePlan) -> None:
    """Write or remove the file as planned.

    Raises:
        StoreError: It cannot be done.
    """
    place, data = plan.place, plan.after
    if data is None:
        try:
            place.path.unlink()
        except OSError as error:
            raise StoreError(
                f"cannot remove '{place.path}': {error.strerror}", "remove it by hand"
            ) from error
        return
    if place.is_shared:
        with suppress(OSError):  # writing says what is wrong
            place.path.parent.mkdir(parents=True, exist_ok=True)
    usual = SHARED_MODE if place.is_shared else OWN_MODE
    mode = plan.modes[1] if plan.modes else usual
    write_atomic(place.path, data, mode, keep_mode=plan.modes is None)


def mode_of(place: Place) -> int | None:
    """The mode of a file; None if there is none."""
    try:
        return stat.S_IMODE(place.path.stat().st_mode) & 0o777
    except OSError:
        return None  # a new one is for its owner alone


def narrowed(place: Place) -> tuple[int, int] | None:
    """The mode of a file that others may read, and the one without them."""
    mode = mode_of(place)
    return (mode, mode & OWN_MODE) if mode is not None and mode & 0o077 else None


def is_narrowing(modes: tuple[int, int] | None) -> TypeGuard[tuple[int, int]]:
    """Return whether the second mode lets fewer people in than the first."""
    return modes is not None and modes[1] & ~modes[0] == 0


def missing_folders(folder: Path) -> list[Path]:
    """The folders that must be made for a file, the outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    return missing[::-1]


def remove_folders(folders: tuple[str, ...]) -> None:
    """Remove the folders that were made for a file, if they are empty."""
    for folder in reversed(folders):
        with suppress(OSError):  # somebody put something into it
            os.rmdir(folder)
