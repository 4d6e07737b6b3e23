"""Approvals as a section of a document: the words that were approved, not hashes of them.

Whoever reviews the document reads what models will read. A launch is approved as the document
declares it, which stands a few lines above.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast

import msgspec
from msgspec import Meta, Struct

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Entry, Kind, Part, ServerId, Snapshot
from toolyard.core.parts import INSTRUCTIONS, loose_hash, part_hash, read_unique
from toolyard.features.approvals.judging import DECLARED, Approvals, launch_mark
from toolyard.operation import OpenObject
from toolyard.yard import Yard

KINDS: Final[tuple[Kind, ...]] = ("tools", "prompts", "templates")
"""The kinds of parts with a name; resources come and go with a server's data."""
MOST: Final = 5000
"""Parts of one kind of one server."""
Definitions = Annotated[dict[str, OpenObject], Meta(max_length=MOST)]


class ApprovedServer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All that is approved of one server, in the server's own words."""

    launch: bool = False
    """It may be started as the document declares it."""
    instructions: str | None = None
    tools: Definitions = {}
    prompts: Definitions = {}
    templates: Definitions = {}
    any_text: Annotated[list[str], Meta(max_length=MOST)] = []
    """The parts whose descriptions and titles may change, as `tools/NAME` or `instructions/`."""

    def parts(self) -> dict[Part, bytes]:
        """Return the parts as servers give them."""
        parts: dict[Part, bytes] = {
            (kind, key): json.dumps(definition, ensure_ascii=False).encode()
            for kind in KINDS
            for key, definition in getattr(self, kind).items()
        }
        if self.instructions is not None:
            parts[INSTRUCTIONS] = json.dumps({"instructions": self.instructions}).encode()
        return parts

    def loose(self) -> frozenset[Part]:
        """Return the parts of which any text is approved."""
        return frozenset(_part(text) for text in self.any_text)


@dataclass(frozen=True, slots=True)
class PresentApprovals:
    """The approvals of the yard, by the full names of servers."""

    servers: Mapping[str, ApprovedServer]
    waiting: frozenset[str] = frozenset()
    """Servers that are declared to be started in another way than was approved."""
    notes: tuple[str, ...] = ()


def read_approvals(yard: Yard, picture: Snapshot) -> PresentApprovals:
    """Read what is approved of the servers of a picture; it blocks."""
    approvals = yard.part(Approvals)
    servers: dict[str, ApprovedServer] = {}
    waiting: set[str] = set()
    notes: list[str] = []
    for id_, entry in sorted(picture.entries.items(), key=lambda item: str(item[0])):
        if id_.source not in DECLARED:
            continue
        if approvals.launch_waits(entry.server):
            waiting.add(str(id_))
        approved, odd = _read(approvals, entry)
        notes += (f"{part} of {id_} cannot be written down; approve it again" for part in odd)
        if approved != ApprovedServer():
            servers[str(id_)] = approved
    return PresentApprovals(servers, frozenset(waiting), tuple(notes))


def _read(approvals: Approvals, entry: Entry) -> tuple[ApprovedServer, list[str]]:
    """The approvals of one server, and the parts whose text no document can hold."""
    id_ = entry.server.id
    launch = approvals.approved_launch(id_) == launch_mark(entry.server)
    approved = approvals.of(id_)
    chosen = approved.parts.keys() - approved.unseen
    if not chosen:
        return ApprovedServer(launch), []
    texts = {p: raw for p, raw in approvals.definitions(id_).items() if p in chosen}
    fields: dict[str, Any] = {kind: {} for kind in KINDS}
    odd: list[str] = []
    for (kind, key), raw in sorted(texts.items()):
        definition = _definition((kind, key), raw)
        if kind in KINDS and definition is not None:
            fields[kind][key] = definition
        elif (kind, key) == INSTRUCTIONS and definition is not None:
            fields["instructions"] = definition["instructions"]
        elif kind != "resources":
            odd.append(f"{kind} '{key}'")
    loose = sorted("/".join(part) for part in approved.loose & texts.keys())
    any_text = [text for text in loose if not text.startswith("resources/")]
    return ApprovedServer(launch, any_text=any_text, **fields), odd


def _definition(part: Part, raw: bytes) -> JsonObject | None:
    """A part as JSON that means the same to all readers; None if there is none."""
    try:
        definition = read_unique(raw)
        again = json.dumps(definition, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    is_same = isinstance(definition, dict) and part_hash(part, again) == part_hash(part, raw)
    return cast("JsonObject", definition) if is_same else None


def check_approved(name: str, body: JsonObject) -> ApprovedServer:
    """Read the approvals of a server.

    Raises:
        ConfigError: They cannot be used.
    """
    if not name.rpartition("@")[0] or name.rpartition("@")[2] not in DECLARED:
        names = ", ".join(sorted(DECLARED))
        raise ConfigError("it does not name a server in full", f"write NAME@SOURCE, of: {names}")
    try:
        approved = msgspec.convert(body, ApprovedServer)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), "see a document that `toolyard export` wrote") from error
    parts = approved.parts()
    for part in approved.loose():
        if part not in parts:
            text = f"'any_text' names {'/'.join(part)!r}, which it does not approve"
            raise ConfigError(text, "approve it, or take it out")
    return approved


def find_id(name: str) -> ServerId:
    """Return the server of a full name."""
    server, _, source = name.rpartition("@")
    return ServerId(server, source)


def adds_to(wanted: ApprovedServer, present: ApprovedServer) -> list[str]:
    """Return the members in which a document approves something that is not approved yet."""
    marks = dict(_marks(present))
    changed: set[str] = {part[0] for part, mark in _marks(wanted) if marks.get(part) != mark}
    if wanted.launch and not present.launch:
        changed.add("launch")
    return [name for name in ApprovedServer.__struct_fields__ if name in changed]


def _marks(approved: ApprovedServer) -> Iterator[tuple[Part, str]]:
    loose = approved.loose()
    for part, raw in approved.parts().items():
        yield part, (loose_hash if part in loose else part_hash)(part, raw)


async def approve_document(yard: Yard, name: str, wanted: ApprovedServer, after: Snapshot) -> None:
    """Approve what a document says of a server that will be as in this picture.

    Raises:
        NotOursError: The lock file decides alone.
        StoreError: It cannot be written down.
    """
    approvals, id_ = yard.part(Approvals), find_id(name)
    launch = launch_mark(after.entries[id_].server) if wanted.launch else ""
    parts, loose = wanted.parts(), wanted.loose()
    await asyncio.to_thread(approvals.adopt, id_, parts, loose=loose, launch=launch, by=yard.caller)
    entry = yard.snapshot.entries.get(id_)
    if yard.is_live and entry is not None:
        yard.board.post(approvals.judge_again(entry))


def _part(text: str) -> Part:
    kind, _, key = text.partition("/")
    return cast("Kind", kind), key
