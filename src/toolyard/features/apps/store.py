"""The records of apps: a folder with one JSON file each, and those that come with us."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from toolyard.core.apps import App, read_app, write_app
from toolyard.core.errors import ConfigError, NotOursError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.folder import FolderRecords
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept, RecordKind

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

    def write(self, value: App) -> object:
        """Make plain data of an app."""
        return msgspec.to_builtins(write_app(value))

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


class AppRecords(RecordKind[App]):
    """The user's definitions."""

    def put(self, app: App, *, by: str = "") -> App:
        """Write a definition; what few words cannot say stays as the one of that name has it.

        Raises:
            ConfigError: There are too many already.
            StoreError: It cannot be written.
        """
        present = defined_apps(self).apps.get(app.name)
        if present is not None:
            prefix, installs, example = present.prefix, present.installs, present.example
            app = replace(app, prefix=prefix, installs=installs, example=example)
        self.write(app.name, app, by=by)
        return app

    def remove(self, name: str, *, by: str = "") -> None:
        """Delete a definition of the user.

        Raises:
            NotOursError: It comes with Toolyard.
            UnknownNameError: There is none of that name.
            StoreError: It cannot be deleted.
        """
        names = self.names()
        if name in names:
            self.write(name, None, by=by)
            return
        if name in defined_apps(self).apps:
            prefix = f"TOOLYARD_{name.upper().replace('-', '_')}"
            hint = f"to have it left alone, set {prefix}_SCAN_ENABLED=false for the hub"
            raise NotOursError(f"the app '{name}' comes with toolyard", hint)
        hint = f"there are: {', '.join(names)}" if names else "there are none of yours"
        raise UnknownNameError(f"no app '{name}' of yours", hint)


def open_apps(places: RecordPlaces, folder: Path) -> AppRecords:
    """Open the user's definitions; as files they are in a folder."""
    return AppRecords(places.folder("app", folder, AppCodec(), largest=LARGEST, most=MOST))


def defined_apps(records: AppRecords) -> DefinedApps:
    """Read all definitions; the user's takes the place of a shipped one of its name."""
    kept = records.read()
    shipped = FolderRecords(SHIPPED, AppCodec(), largest=LARGEST, most=MOST)
    return DefinedApps({**shipped.read().values, **kept.values}, kept)
