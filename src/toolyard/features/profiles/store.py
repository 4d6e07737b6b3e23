"""The folder of profiles: one JSON file each, written whole.

All of it blocks; the files are few and small.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.profiles import Profile, unknown_profile
from toolyard.features.profiles.model import check_profile_name, read_profile, write_profile
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.jsonc import parse

LARGEST: Final = 1024 * 1024
MOST: Final = 200
"""Profiles that are read; who has more has another problem."""

Mark = tuple[tuple[str, int, int, int, int], ...]
"""What changes whenever a profile does."""


@dataclass(frozen=True, slots=True)
class LoadedProfiles:
    """Every profile there is, and what is wrong with the files."""

    profiles: tuple[Profile, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: frozenset[str] = frozenset()
    """The names of those whose files cannot be used now."""


class ProfilesFolder:
    """The folder with the user's profiles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self) -> LoadedProfiles:
        """Read all profiles; a bad file costs that profile alone."""
        profiles: list[Profile] = []
        problems: list[Problem] = []
        broken: set[str] = set()
        for path in self._files():
            try:
                profiles.append(_read(path))
            except FileNotFoundError:
                continue  # deleted since we looked
            except (ConfigError, StoreError) as error:
                text = f"'{path}' is no profile: {error}"
                hint = error.hint or "correct or remove the file"
                problems.append(Problem(ProblemCode.PROFILE_FILE, text, hint, str(path)))
                broken.add(path.stem)
        return LoadedProfiles(tuple(profiles), tuple(problems), frozenset(broken))

    def mark(self) -> Mark:
        """What changes whenever a profile does."""
        found = []
        for path in self._files():
            try:
                seen = path.stat()
            except OSError:
                continue
            changed = (seen.st_mtime_ns, seen.st_ctime_ns)
            found.append((path.name, seen.st_ino, seen.st_size, *changed))
        return tuple(found)

    def get(self, name: str) -> Profile:
        """Read one profile.

        Raises:
            UnknownNameError: There is none of that name.
            ConfigError, StoreError: It cannot be used.
        """
        try:
            return _read(self._path(name))
        except FileNotFoundError:
            raise self._unknown(name) from None

    def put(self, profile: Profile) -> None:
        """Write a profile.

        Raises:
            ConfigError: It cannot be used.
            StoreError: It cannot be written.
        """
        body = write_profile(profile)
        path = self._path(read_profile(profile.name, body).name)
        if not path.exists() and len(self._files()) >= MOST:
            raise ConfigError(f"there are {MOST} profiles already", "remove one that is not used")
        text = json.dumps(body, indent=2, ensure_ascii=False)
        try:
            data = text.encode() + b"\n"
        except UnicodeEncodeError:
            raise ConfigError("a text holds half a character", "write it as UTF-8") from None
        with locked(self.folder / "profiles"):
            write_atomic(path, data)

    def remove(self, name: str) -> None:
        """Delete a profile.

        Raises:
            UnknownNameError: There is none of that name.
            StoreError: It cannot be deleted.
        """
        if name not in [path.stem for path in self._files()]:
            raise self._unknown(name)
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot delete '{path}': {error.strerror}") from error

    def _path(self, name: str) -> Path:
        return self.folder / f"{check_profile_name(name)}.json"

    def _unknown(self, name: str) -> UnknownNameError:
        return unknown_profile(name, [path.stem for path in self._files()])

    def _files(self) -> list[Path]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        found = [each for each in names if each.endswith(".json") and not each.startswith(".")]
        return [self.folder / each for each in found[:MOST]]


def _read(path: Path) -> Profile:
    document = parse(read_bounded(path, LARGEST))
    return read_profile(path.stem, document.root.plain() if document.root is not None else None)
