"""Reads a servers file: every server it declares, and what is wrong with the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolyard.core.errors import ConfigError
from toolyard.core.fields import FaultsError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem, Server, ServerId
from toolyard.core.problems import ProblemCode
from toolyard.core.server_entries import LAUNCH_KEYS, TOP_KEYS, read_entry
from toolyard.records.jsonc import Document, JsonMember, Node
from toolyard.records.secrets.expand import Lookup, explain, find_unset

SOURCE = "configured"
DUPLICATES_TOLD = 20
"""Who repeats more keys than that has one mistake, not many."""
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
NAME_HINT = "use 1 to 64 letters, digits, '_', '.' or '-'"
# Projects keep their file in these; `${workspaceFolder}` means the project.
_PROJECT_FOLDERS = (".vscode", ".cursor", ".gemini", ".kiro", ".roo")
_TEXTS = ("command", "args", "env", "environment", "headers")


@dataclass(frozen=True, slots=True)
class LoadedServers:
    """The servers of a file, and what is wrong with it."""

    servers: tuple[Server, ...] = ()
    problems: tuple[Problem, ...] = ()
    readable: bool = True
    """False if nothing could be read of it, which says nothing about its servers."""


def read_servers(
    path: Path, document: Document, env: Mapping[str, str], place: str = ""
) -> LoadedServers:
    """Read all servers of a document, the contents of the file at `path`.

    Of one that is no file, problems name the `place` instead.
    """
    return _Loading(path, document, env, place).run()


def check_server_name(name: str) -> None:
    """See that a server may have that name.

    Raises:
        ConfigError: It may not.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name a server", NAME_HINT)


def read_entries(document: Document) -> JsonObject:
    """Return the entries of a document by name, good or bad; a name counts where it is first."""
    entries: JsonObject = {}
    for top in top_members(document):
        for member in top.node.members if top.node.kind == "object" else ():
            last = top.node.member(member.key)
            assert last is not None
            entries.setdefault(member.key, _as_written(document, last.node))
    return entries


def top_members(document: Document) -> list[JsonMember]:
    """Return the members of a document below which servers stand."""
    root = document.root
    members = (root.member(key) for key in TOP_KEYS) if root else ()
    return [member for member in members if member is not None]


class _Loading:
    """One reading of one document."""

    def __init__(self, path: Path, document: Document, env: Mapping[str, str], place: str) -> None:
        self._path = path
        self._place = place
        self._document = document
        self._folder = str(_folder(path))
        self._lookup = Lookup(env, self._folder)
        self._servers: dict[str, Server] = {}
        self._problems: list[Problem] = []

    def run(self) -> LoadedServers:
        for member in self._document.duplicates[:DUPLICATES_TOLD]:
            text = f"'{member.key}' stands there twice; the last counts"
            self._trouble(ProblemCode.CONFIG_DUPLICATE, text, "keep one of them", member.start)
        tops = top_members(self._document)
        for top in tops:
            self._read_top(top)
        if not tops:
            self._look_for_bare_entries()
        return LoadedServers(tuple(self._servers.values()), tuple(self._problems))

    def _read_top(self, top: JsonMember) -> None:
        if top.node.kind != "object":
            text = f"'{top.key}' is not an object"
            return self._trouble(
                ProblemCode.CONFIG_ENTRY, text, 'write it as {"name": {...}}', top.start
            )
        for name in dict.fromkeys(member.key for member in top.node.members):
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

    def _read_server(self, name: str, member: JsonMember) -> None:
        try:
            entry = read_entry(_as_written(self._document, member.node))
        except FaultsError as error:
            text = f"server '{name}' cannot be used: {error}"
            return self._trouble(
                ProblemCode.CONFIG_ENTRY, text, error.hint, _find_fault(member.node, error)
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
            project=entry.project,
            exclusive=entry.exclusive,
            login=entry.login,
            local_name=name if entry.project else "",
        )
        return None

    def _look_for_bare_entries(self) -> None:
        root = self._document.root
        for member in root.members if root else ():
            if any(member.node.member(key) for key in LAUNCH_KEYS):
                text = f"'{member.key}' looks like a server but stands outside of 'mcpServers'"
                hint = 'put it into {"mcpServers": {...}}'
                return self._trouble(ProblemCode.CONFIG_ENTRY, text, hint, member.start)
        return None

    def _trouble(self, code: ProblemCode, text: str, hint: str, offset: int) -> None:
        self._problems.append(Problem(code, text, hint, self._subject(offset)))

    def _subject(self, offset: int) -> str:
        return self._place or f"{self._path}:{self._document.place(offset)[0]}"


def _as_written(document: Document, node: Node) -> object:
    """The value of an entry; numbers among texts stay as they are written: 1.10, not 1.1."""
    if node.kind != "object":
        return node.plain()
    entry: dict[str, object] = {member.key: member.node.plain() for member in node.members}
    for member in node.members:
        if member.key in _TEXTS and member.node.kind in ("array", "object"):
            entry[member.key] = _spelled(document, member.node)
    return entry


def _spelled(document: Document, node: Node) -> object:
    if node.kind == "array":
        return [_spelled(document, item) for item in node.items]
    if node.kind == "object":
        return {member.key: _spelled(document, member.node) for member in node.members}
    return document.text[node.start : node.end] if node.kind == "number" else node.scalar


def _find_fault(node: Node, error: FaultsError) -> int:
    """The offset of the field that is wrong, or of the entry that lacks it."""
    member = node.member(error.faults[0].field)
    return member.start if member else node.start


def _folder(path: Path) -> Path:
    folder = path.absolute().parent
    return folder.parent if folder.name in _PROJECT_FOLDERS else folder
