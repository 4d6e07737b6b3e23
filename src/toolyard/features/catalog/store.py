"""The catalog on disk: one JSON file per server, in `official/` and `custom/`.

`official/` holds what we ship, copied when it is missing or when only ours has changed; `custom/`
what the user wrote or imported, which wins over an official one of the same name. `added.json`
says which of them are servers of the yard. Hubs that share a database share custom definitions,
and have them as files in a catalog apart. All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType

import msgspec

from toolyard.core.errors import StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.features.catalog.additions import TOP, AddedFile, Addition, AdditionCodec
from toolyard.features.catalog.bundled_catalog import BUNDLED, copy_bundled
from toolyard.features.catalog.files import FileState, read_file, read_text, record_into
from toolyard.features.catalog.mirror import DefinitionMirror
from toolyard.features.catalog.model import (
    FOLDERS,
    SOURCE,
    Definition,
    DefinitionError,
    Folder,
    Verification,
)
from toolyard.features.catalog.reading import read_definition
from toolyard.records.files import READ_LIMIT, locked, read_bounded, write_atomic
from toolyard.records.follow import Follower
from toolyard.records.marks import mark_of
from toolyard.records.places import RecordPlaces
from toolyard.settings import Settings


@dataclass(frozen=True, slots=True)
class Shelved:
    """A definition and where it lies."""

    definition: Definition
    path: Path
    folder: Folder


@dataclass(frozen=True, slots=True)
class Shelf:
    """All that the catalog holds at one moment, by name."""

    definitions: Mapping[str, Shelved] = field(default_factory=lambda: MappingProxyType({}))
    added: Mapping[str, Addition] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = ()

    def get(self, name: str) -> Shelved:
        """Give a definition by its name, or by the one it is published under.

        Raises:
            UnknownNameError: There is none.
        """
        shelved = self.definitions.get(name)
        if shelved is None and "/" in name:
            every = self.definitions.values()
            shelved = next((item for item in every if item.definition.full_name == name), None)
        if shelved is None:
            near = ", ".join(closest(name, self.definitions)) or "see: toolyard catalog list"
            raise UnknownNameError(f"no definition {name[:80]!r} in the catalog", near)
        return shelved


class Catalog:
    """The catalog below one directory; safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        bundled: Path = BUNDLED,
        *,
        approve: Callable[[str, str], None] = lambda _server, _launch: None,
        places: RecordPlaces | None = None,
    ) -> None:
        """Keep a catalog there.

        `approve` is told the server and the fingerprint of how it is started before a definition
        is written: what users write through us, they approve.
        """
        self.root = root
        self._approve = approve
        places = places or RecordPlaces(Follower())
        path = root / "added.json"
        self.added_file = AddedFile(places.document("added", path, AdditionCodec(), top=TOP))
        self._bundled = bundled
        self.mirror = (
            DefinitionMirror(places.shared, root / "custom") if places.shared is not None else None
        )
        """The custom definitions of all hubs, if they share a database."""
        # By folder and file name: paths are slow to make and to compare by the thousand.
        self._files: dict[str, dict[str, FileState]] = {folder: {} for folder in FOLDERS}
        self._guard = threading.RLock()
        self._made: tuple[Shelf, tuple[Problem, ...]] | None = None
        """The shelf as it was last made, until a file is another."""

    def copy_bundled(self) -> tuple[str, ...]:
        """Copy what we ship and is missing, or has changed and was not edited; give the names.

        Raises:
            StoreError: A file cannot be read or written.
        """
        with self._guard, locked(self._lock):
            return copy_bundled(self._bundled, self.root)

    def load(self) -> Shelf:
        """Give all that is there; files that did not change are not read again.

        What is wrong with one file is a problem of it.
        """
        with self._guard:
            self._sweep()
            return self._shelf()

    def put(self, text: bytes, name: str = "", replace: bool = True) -> Definition:
        """Write a custom definition; `name`, if given, is the one it must have.

        Raises:
            ConfigError: It cannot be used, or is there and must not be replaced.
            StoreError: It cannot be written.
        """
        definition = _check(text)
        if name and definition.name != name:
            raise DefinitionError(
                f"it is called '{definition.name}', not {name[:80]!r}", "use the same name in both"
            )
        path = self.root / "custom" / f"{definition.name}.json"
        with self._guard, locked(self._lock):
            self._sync()
            if not replace and path.exists():
                raise DefinitionError(
                    f"there is a custom definition '{definition.name}' already", "remove it first"
                )
            self._approve(f"{definition.name}@{SOURCE}", definition.launch)
            self._write(path, msgspec.json.format(text, indent=2) + b"\n")
        return definition

    def remove(self, name: str) -> None:
        """Delete a custom definition; an official one of that name shows again.

        Raises:
            UnknownNameError: There is no custom one.
            StoreError: It cannot be deleted.
        """
        with self._guard, locked(self._lock):
            self._sweep()
            shelved = self._shelf().definitions.get(name)
            if shelved is None or shelved.folder != "custom":
                raise UnknownNameError(
                    f"there is no custom definition {name[:80]!r}", "see: toolyard catalog list"
                )
            if self.mirror is not None:
                self.mirror.write(shelved.path.stem, None)
            try:
                shelved.path.unlink()
            except OSError as error:
                raise StoreError(f"cannot delete '{shelved.path}': {error.strerror}") from error
            self._look(shelved.path)

    def add(self, name: str, values: Mapping[str, str] | None = None, *, by: str = "") -> Shelved:
        """Make a definition a server of the yard, with what it was given for its variables.

        Raises:
            UnknownNameError: There is no such definition.
            ConfigError: A value cannot be used.
            StoreError: The file cannot be read or written.
        """
        shelved = self.load().get(name)
        self.added_file.put(shelved.definition.name, values or {}, by=by)
        return shelved

    def drop(self, name: str, *, by: str = "") -> None:
        """Take a server out of the yard; its definition stays.

        Raises:
            UnknownNameError: It was not added.
            StoreError: The file cannot be read or written.
        """
        self.added_file.remove(name, by=by)

    def set_enabled(self, name: str, enabled: bool, *, by: str = "") -> None:
        """Switch an added server on or off.

        Raises:
            UnknownNameError: It was not added.
            StoreError: The file cannot be read or written.
        """
        self.added_file.set_enabled(name, enabled, by=by)

    def text(self, name: str) -> bytes:
        """Give the file of a definition as it is.

        Raises:
            UnknownNameError: There is no such definition.
            StoreError: It cannot be read.
        """
        path = self.load().get(name).path
        try:
            return read_bounded(path)
        except FileNotFoundError:
            raise UnknownNameError(f"'{path}' is gone", "try again") from None

    def record(
        self,
        name: str,
        verification: Verification,
        tools: Sequence[bytes] | None = None,
        prompts: Sequence[bytes] | None = None,
        resources: Sequence[bytes] | None = None,
        templates: Sequence[bytes] | None = None,
    ) -> Definition:
        """Write what a verification saw; all else in the file stays as it is.

        A list that is None is left alone. The record that was there becomes the previous one.

        Raises:
            UnknownNameError: There is no such definition.
            ConfigError: What was seen cannot be kept; the file is unchanged.
            StoreError: It cannot be written; the file is unchanged.
        """
        lists = {"tools": tools, "prompts": prompts, "resources": resources}
        lists["resourceTemplates"] = templates
        with self._guard, locked(self._lock):
            self._sweep()
            path = self._shelf().get(name).path
            text = record_into(read_bounded(path), verification, lists)
            definition = _check(text, read_text)
            self._write(path, text)
        return definition

    def _write(self, path: Path, text: bytes) -> None:
        """Write a file of the catalog, and a custom definition for all hubs first."""
        if self.mirror is not None and path.parent.name == "custom":
            self.mirror.write(path.stem, text)
        write_atomic(path, text)
        self._look(path)

    def _sync(self) -> None:
        if self.mirror is not None:
            self.mirror.sync()

    @property
    def _lock(self) -> Path:
        return self.root / "catalog"

    def _sweep(self) -> None:
        """Look at every file that is there or was there; the unchanged cost a stat."""
        self._sync()
        for folder, states in self._files.items():
            base = str(self.root / folder)
            for name in _listed(base) | set(states):
                state = states.get(name)
                # Most are as they were, and a path is slow to make.
                if state is None or not state.mark or mark_of(f"{base}/{name}") != state.mark:
                    self._look(self.root / folder / name)

    def _look(self, path: Path) -> None:
        states = self._files.get(path.parent.name)
        if states is None or path.parent.parent != self.root or not _is_definition(path.name):
            return
        before = states.get(path.name)
        state = read_file(path, before)
        if state is not before:
            self._made = None
        if state is None:
            states.pop(path.name, None)
        else:
            states[path.name] = state

    def _shelf(self) -> Shelf:
        added, trouble = self.added_file.load()
        if self._made is None or (self._made[0].added, self._made[1]) != (added, trouble):
            self._made = self._make_shelf(added, trouble), trouble
        return self._made[0]

    def _make_shelf(self, added: dict[str, Addition], trouble: tuple[Problem, ...]) -> Shelf:
        definitions: dict[str, Shelved] = {}
        problems: list[Problem] = []
        for folder in FOLDERS:  # custom comes last and wins
            for name, state in sorted(self._files[folder].items(), key=itemgetter(0)):
                problems += state.problems
                if state.definition is None:
                    continue
                path = self.root / folder / name
                twin = definitions.get(state.definition.name)
                if twin is not None and twin.folder == folder:
                    problems.append(_duplicate(path, twin))
                else:
                    shelved = Shelved(state.definition, path, folder)
                    definitions[state.definition.name] = shelved
        problems += trouble
        problems += [_missing(name, self.root) for name in added if name not in definitions]
        ordered = dict(sorted(definitions.items()))
        return Shelf(MappingProxyType(ordered), MappingProxyType(added), tuple(problems))


def catalog_root(settings: Settings) -> Path:
    """The directory of the catalog; one of its own where custom definitions are shared."""
    return settings.data_dir / ("shared-catalog" if settings.database else "catalog")


def _check(text: bytes, read: Callable[[bytes], Definition] = read_definition) -> Definition:
    if len(text) > READ_LIMIT:
        raise DefinitionError(
            f"it has {len(text)} bytes; {READ_LIMIT} are allowed", "leave something out"
        )
    try:
        return read(text)
    except msgspec.DecodeError as error:
        raise DefinitionError(f"it is not JSON: {error}") from error


def _listed(folder: str) -> set[str]:
    try:
        return {name for name in os.listdir(folder) if _is_definition(name)}
    except OSError:
        return set()


def _is_definition(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def _duplicate(path: Path, twin: Shelved) -> Problem:
    text = f"'{path}' defines '{twin.definition.name}' as '{twin.path.name}' does; it is ignored"
    return Problem(
        ProblemCode.CATALOG_DUPLICATE, text, "rename one of them, or delete it", str(path)
    )


def _missing(name: str, root: Path) -> Problem:
    text = f"server '{name}' was added, but the catalog has no usable definition of it"
    hint = f"run: toolyard catalog remove {name}"
    return Problem(ProblemCode.CATALOG_MISSING, text, hint, str(root / "added.json"))
