"""The definitions of apps: those that come with us, and the user's, one JSON file each.

All of it blocks; the files are few and small.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from toolyard.core.apps import App, check_app_name, read_app, write_app
from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.files import read_bounded, write_atomic
from toolyard.records.jsonc import parse

SHIPPED: Final = Path(__file__).with_name("shipped")
LARGEST: Final = 256 * 1024
MOST: Final = 100
"""Definitions that are read; who has more has another problem."""

Mark = tuple[tuple[str, int, int, int], ...]
"""What changes whenever a definition does."""


@dataclass(frozen=True, slots=True)
class LoadedApps:
    """Every app there is, and what is wrong with the files."""

    apps: tuple[App, ...] = ()
    problems: tuple[Problem, ...] = ()


class AppsFolder:
    """The folder with the user's definitions; one of a shipped name takes that one's place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self) -> LoadedApps:
        """Read all definitions; a bad file costs that app alone."""
        apps: dict[str, App] = {}
        problems: list[Problem] = []
        for path in (*sorted(SHIPPED.glob("*.json")), *self._files()):
            try:
                app = self._read(path)
            except (ConfigError, StoreError, OSError) as error:
                text = f"'{path}' defines no app: {error}"
                hint = getattr(error, "hint", "") or "correct or remove the file"
                problems.append(Problem(ProblemCode.APP_FILE, text, hint, str(path)))
            else:
                apps[app.name] = app
        return LoadedApps(tuple(apps.values()), tuple(problems))

    def mark(self) -> Mark:
        """What changes whenever a definition does."""
        found = []
        for path in self._files():
            try:
                seen = path.stat()
            except OSError:
                continue
            found.append((path.name, seen.st_ino, seen.st_mtime_ns, seen.st_size))
        return tuple(found)

    def names(self) -> list[str]:
        """The names of the definitions that are the user's own."""
        return [path.stem for path in self._files()]

    def completed(self, app: App) -> App:
        """The app with what few words cannot say, as the one of that name has it."""
        for known in self.load().apps:
            if known.name == app.name:
                return replace(
                    app, prefix=known.prefix, installs=known.installs, example=known.example
                )
        return app

    def put(self, app: App) -> Path:
        """Write a definition; give its file.

        Raises:
            ConfigError: It cannot be used.
            StoreError: It cannot be written.
        """
        body = write_app(app)
        read_app(body)
        path = self._path(app.name)
        write_atomic(path, json.dumps(body, indent=2, ensure_ascii=False).encode() + b"\n")
        return path

    def remove(self, name: str) -> Path:
        """Delete a definition of the user; give the file it was in.

        Raises:
            UnknownNameError: There is none of that name.
            StoreError: It cannot be deleted.
        """
        names = self.names()
        if name not in names:
            hint = f"there are: {', '.join(names)}" if names else "there are none of yours"
            raise UnknownNameError(f"no app '{name}' of yours", hint)
        path = self._path(name)
        try:
            path.unlink()
        except OSError as error:
            raise StoreError(f"cannot delete '{path}': {error.strerror}") from error
        return path

    def _path(self, name: str) -> Path:
        return self.folder / f"{check_app_name(name)}.json"

    def _files(self) -> list[Path]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        found = [each for each in names if each.endswith(".json") and not each.startswith(".")]
        return [self.folder / each for each in found[:MOST]]

    def _read(self, path: Path) -> App:
        document = parse(read_bounded(path, LARGEST))
        app = read_app(document.root.plain() if document.root is not None else None)
        if app.name != path.stem:
            raise ConfigError(f"it is called '{app.name}'", f"call the file '{app.name}.json'")
        return app
