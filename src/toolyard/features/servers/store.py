"""The servers file: the MCP servers a user wrote down, in any client's spelling.

Names stand under `mcpServers`, `servers` (VS Code) or `mcp` (opencode). Comments and trailing
commas are fine, unknown keys are kept. All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolyard.core.endpoint_fields import URL_KEYS
from toolyard.core.errors import ConfigError, StoreError, TakenError, UnknownNameError
from toolyard.core.fields import FaultsError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.core.server_entries import LAUNCH_KEYS, SWITCH_KEYS, TOP_KEYS, read_entry
from toolyard.features.servers.reading import (
    LoadedServers,
    check_server_name,
    read_entries,
    read_servers,
    top_members,
)
from toolyard.features.servers.removed import Removal
from toolyard.records.audit import note_change
from toolyard.records.document import DocumentFile, set_changed
from toolyard.records.edit import remove_member, set_member
from toolyard.records.follow import Follower
from toolyard.records.jsonc import Document, JsoncError, JsonMember, parse
from toolyard.records.ownership import refuse_shared
from toolyard.records.places import RecordPlaces

if TYPE_CHECKING:
    from toolyard.records.postgres.documents import SharedDocument

Entry = Mapping[str, Any]
"""A server as its entry has it: whatever JSON a person wrote."""


class ServersFile:
    """A servers file; `env` is what references are checked against, the process's own if not given.

    A file that is a symbolic link is changed where it points to.
    """

    def __init__(
        self,
        path: Path,
        env: Mapping[str, str] | None = None,
        follower: Follower | None = None,
        shared: SharedDocument | None = None,
    ) -> None:
        """Args: `shared` takes the place of the file; relative paths are still seen from there."""
        self.path = path
        self.place = shared.place if shared is not None else f"'{path}'"
        """The file as messages have it."""
        self._env = os.environ if env is None else env
        self._is_file = shared is None
        # On purpose through links, because people keep such files in a folder of their own.
        self._file = shared or DocumentFile(path, follower, through_links=True)

    @property
    def is_gone(self) -> bool:
        """True if there is no file, or not just now: editors that save leave a gap."""
        return self._is_file and not self.path.exists()

    def revision(self) -> int:
        """A number that is another as soon as the file is."""
        return self._file.revision()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`, whoever wrote."""
        await self._file.changed(after)

    def load(self) -> LoadedServers:
        """Read all servers; whatever is wrong becomes a problem, never an error.

        No file means no servers. One bad entry costs that entry alone.
        """
        try:
            data = self._file.load()
            if self._is_file:
                refuse_shared(str(self.path))
        except FileNotFoundError:
            return LoadedServers()
        except StoreError as error:
            return self._unreadable(ProblemCode.CONFIG_UNREADABLE, str(error), error.hint, None)
        except ConfigError as error:
            return self._unreadable(ProblemCode.CONFIG_SHARED, str(error), error.hint, None)
        try:
            document = parse(data)
        except JsoncError as error:
            return self._unreadable(ProblemCode.CONFIG_SYNTAX, str(error), error.hint, error.line)
        if document.root is None or document.root.kind != "object":
            text = "it holds no object at line 1, column 1"
            return self._unreadable(
                ProblemCode.CONFIG_SYNTAX, text, 'write {"mcpServers": {}} into it', 1
            )
        place = "" if self._is_file else self.place
        return read_servers(self.path, document, self._env, place)

    def entry(self, name: str) -> JsonObject:
        """Return the entry of a server as it is written.

        Raises:
            UnknownNameError: There is none of that name.
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read.
        """
        document = self._parse()
        _, member = _find(document, name)
        if member is None:
            raise _unknown(name, document)
        return _plain(member)

    def entries(self) -> JsonObject:
        """Return all entries by name, good or bad, with numbers among texts as they are written.

        Raises:
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read.
        """
        return read_entries(self._parse())

    def has(self, name: str) -> bool:
        """Return whether the file has an entry of that name, be it good or bad.

        Raises:
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read.
        """
        return _find(self._parse(), name)[1] is not None

    def put(
        self,
        name: str,
        entry: Entry,
        check_before: Callable[[], None] = lambda: None,
        *,
        by: str = "",
    ) -> None:
        """Write how a server is started or reached, and switch it on if `entry` does not say.

        Of an entry that is there, what `entry` does not name and is not about starting, reaching
        or switching stays as it is, and so does the executor of a command. A null takes a member
        out. `check_before` may still refuse once the entry is known to be right.

        Raises:
            ConfigError: The name or the entry cannot be used, or the file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """
        check_server_name(name)

        def edit(data: bytes, top: str, member: JsonMember | None) -> bytes:
            before = _plain(member) if member else {}
            wanted = _with_executor(entry, before)
            _check(name, wanted)
            check_before()
            after = {key: value for key, value in wanted.items() if value is not None}
            if not before:
                return set_member(data, [top, name], after)
            dropped = (*LAUNCH_KEYS, *SWITCH_KEYS, *wanted)
            after |= {k: v for k, v in before.items() if k not in after and k not in dropped}
            return set_changed(data, [top, name], before, after)

        self._change(name, edit, by)

    def remove(self, name: str, *, by: str = "") -> Removal:
        """Take a server out; the answer can put it back.

        Raises:
            UnknownNameError: There is none of that name.
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """
        removals: list[Removal] = []

        def edit(data: bytes, top: str, member: JsonMember | None) -> bytes:
            after = data
            # Under every key, or one that was hidden until now would take its place.
            for place in top_members(parse(data)):
                if place.node.kind == "object":
                    after = remove_member(after, [place.key, name])
            removals.append(Removal(name, data, after))
            return after

        self._change(name, edit, by, must=True)
        return removals[-1]

    def put_back(self, removal: Removal, *, by: str = "") -> None:
        """Undo a removal: byte for byte, or the entry alone if the file was changed since.

        Raises:
            TakenError: There is another server of that name by now.
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """
        name = removal.name
        _, removed = _find(parse(removal.before), name)

        def edit(data: bytes, top: str, member: JsonMember | None) -> bytes:
            if data == removal.after:
                return removal.before
            if member is not None:
                raise TakenError(f"there is a server '{name}' already", "remove or rename it")
            return set_member(data, [top, name], _plain(removed) if removed else {})

        self._change(name, edit, by)

    def set_enabled(self, name: str, enabled: bool, *, by: str = "") -> None:
        """Switch a server on or off, by the key its entry has for that, if any.

        Raises:
            UnknownNameError: There is none of that name.
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """

        def edit(data: bytes, top: str, member: JsonMember | None) -> bytes:
            has = {key for key in SWITCH_KEYS if member and member.node.member(key)}
            if not has and not enabled:
                has = {"enabled" if top == "mcp" else "disabled"}
            for key in sorted(has):
                data = set_member(data, [top, name, key], enabled == (key == "enabled"))
            return data

        self._change(name, edit, by, must=True)

    def _change(
        self,
        name: str,
        edit: Callable[[bytes, str, JsonMember | None], bytes],
        by: str,
        *,
        must: bool = False,
    ) -> None:
        versions: list[bytes] = []

        def change(data: bytes) -> bytes:
            document = parse(data)
            top, member = _find(document, name)
            if must and member is None:
                raise _unknown(name, document)
            versions[:] = [data, edit(data, top, member)]
            return versions[1]

        try:
            self._file.change(change, by=by)
            if self._is_file:  # a database has it in its own trail
                note_change("server", name, *(_plain_entry(data, name) for data in versions))
        except FaultsError:
            raise
        except ConfigError as error:
            raise ConfigError(f"{self.place} was not changed: {error}", error.hint) from error

    def _parse(self) -> Document:
        try:
            return parse(self._file.load())
        except FileNotFoundError:
            return parse(b"")
        except JsoncError as error:
            raise ConfigError(f"{self.place} is not valid: {error}", error.hint) from error

    def _unreadable(
        self, code: ProblemCode, text: str, hint: str, line: int | None
    ) -> LoadedServers:
        subject = f"{self.path}:{line}" if line else str(self.path)
        if code == ProblemCode.CONFIG_SYNTAX:
            text = f"{self.place} is not valid: {text}"
        return LoadedServers(problems=(Problem(code, text, hint, subject),), readable=False)


def open_servers(
    places: RecordPlaces, path: Path, env: Mapping[str, str] | None = None
) -> ServersFile:
    """Open the servers a user wrote down: the file at that path, or those of a shared database."""
    document = places.shared_document("server", TOP_KEYS[0])
    return ServersFile(path, env, places.follower, document)


def _find(document: Document, name: str) -> tuple[str, JsonMember | None]:
    """Give the top key and the member of a server, or the top key where a new one belongs."""
    tops = top_members(document)
    for top in tops:
        if member := top.node.member(name):
            return top.key, member
    return (tops[0].key if tops else TOP_KEYS[0]), None


def _plain_entry(data: bytes, name: str) -> Any:
    """Return the entry of a server in a text; None if there is none."""
    _, member = _find(parse(data), name)
    return None if member is None else member.node.plain()


def _unknown(name: str, document: Document) -> UnknownNameError:
    members = (member for top in top_members(document) for member in top.node.members)
    names = list(dict.fromkeys(member.key for member in members))
    close = closest(name, names)
    ordered = close + [other for other in names if other not in close]
    listed = ", ".join(ordered[:20]) + (", ..." if len(ordered) > 20 else "")
    return UnknownNameError(
        f"no server '{name}' in the file", f"there are: {listed}" if names else "there are none"
    )


def _check(name: str, entry: Entry) -> None:
    try:
        read_entry(entry)
    except FaultsError as error:
        raise FaultsError(replace(fault, server=name) for fault in error.faults) from error


def _with_executor(entry: Entry, before: Entry) -> Entry:
    """The entry with the executor it had: only who says so moves a server to another place."""
    is_address = any(entry.get(key) for key in URL_KEYS)
    if "executor" in entry or "executor" not in before or is_address:
        return entry
    return {**entry, "executor": before["executor"]}


def _plain(member: JsonMember) -> JsonObject:
    value = member.node.plain()
    return value if isinstance(value, dict) else {}
