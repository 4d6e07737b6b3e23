"""The records of apps: a folder with one JSON file each, and those that come with us."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from toolyard.core.apps import App, read_app, write_app
from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.folder import FolderRecords
from toolyard.records.follow import Follower
from toolyard.records.protocol import Kept

SHIPPED: Final = Path(__file__).with_name("shipped")
LARGEST: Final = 256 * 1024
MOST: Final = 100


class AppCodec:
    """Reads and writes the definition of an app; its key is its name."""

    def read(self, key: str, plain: Any) -> App:
        """Make an app of plain data.

        Raises:
            ConfigError: It cannot be used, or has another name.
        """
        app = read_app(plain)
        if app.name != key:
            raise ConfigError(f"it is called '{app.name}'", f"call the file '{app.name}.json'")
        return app

    def write(self, value: App) -> dict[str, Any]:
        """Make plain data of an app."""
        return write_app(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that a file defines no app."""
        hint = error.hint or "correct or remove the file"
        return Problem(ProblemCode.APP_FILE, f"'{where}' defines no app: {error}", hint, where)


@dataclass(frozen=True, slots=True)
class DefinedApps:
    """Every app there is, the user's and ours, and what is wrong with the user's files."""

    apps: dict[str, App]
    kept: Kept[App]
    """The user's own."""


def open_apps(folder: Path, follower: Follower | None = None) -> FolderRecords[App]:
    """Open the records of the user's definitions in a folder."""
    return FolderRecords(folder, AppCodec(), follower, largest=LARGEST, most=MOST)


def defined_apps(records: FolderRecords[App]) -> DefinedApps:
    """Read all definitions; the user's takes the place of a shipped one of its name."""
    kept = records.read()
    return DefinedApps({**open_apps(SHIPPED).read().values, **kept.values}, kept)


def completed(records: FolderRecords[App], app: App) -> App:
    """The app with what few words cannot say, as the one of that name has it."""
    known = defined_apps(records).apps.get(app.name)
    if known is None:
        return app
    return replace(app, prefix=known.prefix, installs=known.installs, example=known.example)


def remove_app(records: FolderRecords[App], name: str) -> Path:
    """Delete a definition of the user; give the file it was in.

    Raises:
        UnknownNameError: There is none of that name.
        StoreError: It cannot be deleted.
    """
    names = records.names()
    if name not in names:
        hint = f"there are: {', '.join(names)}" if names else "there are none of yours"
        raise UnknownNameError(f"no app '{name}' of yours", hint)
    records.write(name, None)
    return records.path(name)
