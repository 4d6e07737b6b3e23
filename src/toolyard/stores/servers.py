"""The servers file: the MCP servers a user wrote down, in any client's spelling.

Names stand under `mcpServers`, `servers` (VS Code) or `mcp` (opencode). Comments and trailing
commas are fine, unknown keys are kept. All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.fields import FaultsError
from toolyard.core.model import Problem, Server, ServerId
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.records.document import DocumentFile
from toolyard.records.edit import remove_member, set_member
from toolyard.records.follow import Follower
from toolyard.records.jsonc import Document, JsoncError, Member, parse
from toolyard.stores.entries import LAUNCH_KEYS, SWITCH_KEYS, as_written, find_fault, read_entry
from toolyard.stores.expand import Lookup, explain, find_unset
from toolyard.stores.ownership import refuse_shared

SOURCE = "configured"
TOP_KEYS = ("mcpServers", "servers", "mcp")
"""Where servers stand; a name under several of them counts at the first."""


DUPLICATES_TOLD = 20
"""Who repeats more keys than that has one mistake, not many."""
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
NAME_HINT = "use 1 to 64 letters, digits, '_', '.' or '-'"
# Projects keep their file in these; `${workspaceFolder}` means the project.
_PROJECT_FOLDERS = (".vscode", ".cursor", ".gemini", ".kiro", ".roo")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the file says."""

    servers: tuple[Server, ...] = ()
    problems: tuple[Problem, ...] = ()
    readable: bool = True
    """False if nothing could be read of it, which says nothing about its servers."""


class ServersFile:
    """A servers file; `env` is what references are checked against, the process's own if not given.

    A file that is a symbolic link is changed where it points to.
    """

    def __init__(
        self,
        path: Path,
        env: Mapping[str, str] | None = None,
        follower: Follower | None = None,
    ) -> None:
        self.path = path
        self._env = os.environ if env is None else env
        # On purpose through links, because people keep such files in a folder of their own.
        self._file = DocumentFile(path, follower, through_links=True)

    def revision(self) -> int:
        """A number that is another as soon as the file is."""
        return self._file.revision()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`, whoever wrote."""
        await self._file.changed(after)

    def load(self) -> Loaded:
        """Read all servers; whatever is wrong becomes a problem, never an error.

        No file means no servers. One bad entry costs that entry alone.
        """
        try:
            data = self._file.load()
            refuse_shared(str(self.path))
        except FileNotFoundError:
            return Loaded()
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
        return _Loading(self.path, document, self._env).run()

    def put(self, name: str, entry: Mapping[str, object]) -> None:
        """Write how a server is started or reached, and switch it on if `entry` does not say.

        Of an entry that is there, what `entry` does not name and is not about starting, reaching
        or switching stays as it is.

        Raises:
            ConfigError: The name or the entry cannot be used, or the file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """
        _check(name, entry)

        def edit(data: bytes, top: str, found: Member | None) -> bytes:
            if found is None or found.node.kind != "object":
                return set_member(data, [top, name], dict(entry))
            for key in (*LAUNCH_KEYS, *SWITCH_KEYS):
                if key not in entry:
                    data = remove_member(data, [top, name, key])
            for key, value in entry.items():
                data = set_member(data, [top, name, key], value)
            return data

        self._change(name, edit)

    def remove(self, name: str) -> None:
        """Take a server out.

        Raises:
            UnknownNameError: There is none of that name.
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """

        def edit(data: bytes, top: str, found: Member | None) -> bytes:
            # Under every key, or one that was hidden until now would take its place.
            for each in _tops(parse(data)):
                if each.node.kind == "object":
                    data = remove_member(data, [each.key, name])
            return data

        self._change(name, edit, must=True)

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Switch a server on or off, by the key its entry has for that, if any.

        Raises:
            UnknownNameError: There is none of that name.
            ConfigError: The file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """

        def edit(data: bytes, top: str, found: Member | None) -> bytes:
            has = {key for key in SWITCH_KEYS if found and found.node.member(key)}
            if not has and not enabled:
                has = {"enabled" if top == "mcp" else "disabled"}
            for key in sorted(has):
                data = set_member(data, [top, name, key], enabled == (key == "enabled"))
            return data

        self._change(name, edit, must=True)

    def _change(
        self, name: str, edit: Callable[[bytes, str, Member | None], bytes], must: bool = False
    ) -> None:
        def change(data: bytes) -> bytes:
            document = parse(data)
            top, found = _find(document, name)
            if must and found is None:
                raise _unknown(name, document)
            return edit(data, top, found)

        try:
            self._file.change(change)
        except ConfigError as error:
            raise ConfigError(f"'{self.path}' was not changed: {error}", error.hint) from error

    def _unreadable(self, code: ProblemCode, text: str, hint: str, line: int | None) -> Loaded:
        subject = f"{self.path}:{line}" if line else str(self.path)
        if code == ProblemCode.CONFIG_SYNTAX:
            text = f"'{self.path}' is not valid: {text}"
        return Loaded(problems=(Problem(code, text, hint, subject),), readable=False)


class _Loading:
    """One reading of one document."""

    def __init__(self, path: Path, document: Document, env: Mapping[str, str]) -> None:
        self._path = path
        self._document = document
        self._folder = str(_folder(path))
        self._lookup = Lookup(env, self._folder)
        self._servers: dict[str, Server] = {}
        self._problems: list[Problem] = []

    def run(self) -> Loaded:
        for each in self._document.duplicates[:DUPLICATES_TOLD]:
            text = f"'{each.key}' stands there twice; the last counts"
            self._trouble(ProblemCode.CONFIG_DUPLICATE, text, "keep one of them", each.start)
        tops = _tops(self._document)
        for top in tops:
            self._read_top(top)
        if not tops:
            self._look_for_bare_entries()
        return Loaded(tuple(self._servers.values()), tuple(self._problems))

    def _read_top(self, top: Member) -> None:
        if top.node.kind != "object":
            text = f"'{top.key}' is not an object"
            return self._trouble(
                ProblemCode.CONFIG_ENTRY, text, 'write it as {"name": {...}}', top.start
            )
        for name in dict.fromkeys(each.key for each in top.node.members):
            member = top.node.member(name)
            assert member is not None
            if not NAME.fullmatch(name):
                text = f"{name[:80]!r} cannot name a server"
                self._trouble(ProblemCode.CONFIG_NAME, text, NAME_HINT, member.start)
            elif name in self._servers:
                text = f"'{name}' stands under several keys; the one under '{top.key}' is ignored"
                self._trouble(ProblemCode.CONFIG_DUPLICATE, text, "keep one of them", member.start)
            else:
                self._read_server(name, member)
        return None

    def _read_server(self, name: str, member: Member) -> None:
        try:
            entry = read_entry(as_written(self._document, member.node))
        except FaultsError as error:
            text = f"server '{name}' cannot be used: {error}"
            return self._trouble(
                ProblemCode.CONFIG_ENTRY, text, error.hint, find_fault(member.node, error)
            )
        problem = None
        if unset := find_unset(entry.endpoint, self._lookup):
            text, hint = explain(unset)
            subject = self._subject(member.start)
            problem = Problem(
                ProblemCode.CONFIG_UNSET, f"server '{name}' refers to what is {text}", hint, subject
            )
        self._servers[name] = Server(
            id=ServerId(name, SOURCE),
            endpoint=entry.endpoint,
            title=entry.title,
            enabled=entry.enabled,
            timeout=entry.timeout,
            folder=self._folder,
            problem=problem,
            identity=entry.identity,
            placement=entry.placement,
        )
        return None

    def _look_for_bare_entries(self) -> None:
        root = self._document.root
        for each in root.members if root else ():
            if any(each.node.member(key) for key in LAUNCH_KEYS):
                text = f"'{each.key}' looks like a server but stands outside of 'mcpServers'"
                hint = 'put it into {"mcpServers": {...}}'
                return self._trouble(ProblemCode.CONFIG_ENTRY, text, hint, each.start)
        return None

    def _trouble(self, code: ProblemCode, text: str, hint: str, offset: int) -> None:
        self._problems.append(Problem(code, text, hint, self._subject(offset)))

    def _subject(self, offset: int) -> str:
        return f"{self._path}:{self._document.place(offset)[0]}"


def _tops(document: Document) -> list[Member]:
    root = document.root
    found = (root.member(key) for key in TOP_KEYS) if root else ()
    return [each for each in found if each is not None]


def _find(document: Document, name: str) -> tuple[str, Member | None]:
    """Give the top key and the member of a server, or the top key where a new one belongs."""
    tops = _tops(document)
    for top in tops:
        if found := top.node.member(name):
            return top.key, found
    return (tops[0].key if tops else TOP_KEYS[0]), None


def _unknown(name: str, document: Document) -> UnknownNameError:
    names = list(dict.fromkeys(each.key for top in _tops(document) for each in top.node.members))
    close = closest(name, names)
    ordered = close + [each for each in names if each not in close]
    listed = ", ".join(ordered[:20]) + (", ..." if len(ordered) > 20 else "")
    return UnknownNameError(
        f"no server '{name}' in the file", f"there are: {listed}" if names else "there are none"
    )


def _check(name: str, entry: Mapping[str, object]) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name a server", NAME_HINT)
    try:
        read_entry(entry)
    except FaultsError as error:
        raise FaultsError(replace(fault, server=name) for fault in error.faults) from error


def _folder(path: Path) -> Path:
    folder = path.absolute().parent
    return folder.parent if folder.name in _PROJECT_FOLDERS else folder
