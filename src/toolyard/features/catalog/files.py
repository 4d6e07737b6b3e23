"""The file of one definition: read when it changed, and written with what a verification saw."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.lists import OFFER_LIMIT
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.catalog.model import Definition, DefinitionError, Verification
from toolyard.features.catalog.reading import read_definition
from toolyard.records.edit import remove_member, set_member
from toolyard.records.files import read_bounded
from toolyard.records.jsonc import Document, JsoncError, Node, parse
from toolyard.records.marks import Mark, mark_of

NOTES_TOLD: Final = 5
"""Who has more broken tools than that has one mistake, not many."""
_RECORD: Final = (
    *("verified_at", "protocol_version", "era", "server_name", "server_version"),
    *("first_answer_ms", "schema_tokens", "capabilities", "instructions"),
)


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was last read."""

    mark: Mark
    definition: Definition | None
    problems: tuple[Problem, ...] = ()


def read_file(path: Path, before: FileState | None = None) -> FileState | None:
    """Read a file unless it is as it was `before`; None if it is gone.

    Whatever is wrong with it becomes a problem, never an error.
    """
    try:
        mark = mark_of(path)
        if before is not None and mark and before.mark == mark:
            return before
        definition = read_text(read_bounded(path))
    except FileNotFoundError:
        return None
    except StoreError as error:
        problem = Problem(ProblemCode.CATALOG_UNREADABLE, str(error), error.hint, str(path))
        return FileState(mark, None, (problem,))
    except JsoncError as error:
        text = f"'{path}' is not valid: {error}"
        subject = f"{path}:{error.line}"
        return FileState(
            mark, None, (Problem(ProblemCode.CATALOG_SYNTAX, text, error.hint, subject),)
        )
    except ConfigError as error:
        text = f"'{path}' cannot be used: {error}"
        return FileState(
            mark, None, (Problem(ProblemCode.CATALOG_DEFINITION, text, error.hint, str(path)),)
        )
    return FileState(mark, definition, tuple(_notes(path, definition)))


def read_text(text: bytes) -> Definition:
    """Read a definition that a person may have written: comments are fine.

    Raises:
        JsoncError: It is not JSON, even read with patience.
        DefinitionError: It cannot be used.
    """
    try:
        return read_definition(text)
    except msgspec.DecodeError:
        document = parse(text)  # says where the mistake is, or finds that there is none
        return read_definition(_strict(document, document.root) if document.root else b"null")


def _strict(document: Document, node: Node) -> bytes:
    """A value without its comments; whatever has none keeps every token."""
    try:
        return msgspec.json.format(document.text[node.start : node.end].encode(), indent=-1)
    except msgspec.DecodeError:
        pass
    if node.kind == "object":
        # Of several members with one key, the last counts here as everywhere.
        values = {member.key: member.node for member in node.members}
        pairs = (
            json.dumps(key).encode() + b":" + _strict(document, value)
            for key, value in values.items()
        )
        return b"{" + b",".join(pairs) + b"}"
    return b"[" + b",".join(_strict(document, item) for item in node.items) + b"]"


def _notes(path: Path, definition: Definition) -> list[Problem]:
    hint = f"verify it again, with: toolyard verify {definition.name}"
    notes = definition.notes
    problems = [
        Problem(ProblemCode.CATALOG_OFFER, f"'{path}': {note}", hint, str(path))
        for note in notes[:NOTES_TOLD]
    ]
    if len(notes) > NOTES_TOLD:
        text = f"'{path}': {len(notes) - NOTES_TOLD} more are left out"
        problems.append(Problem(ProblemCode.CATALOG_OFFER, text, hint, str(path)))
    return problems


def record_into(
    text: bytes, verification: Verification, lists: Mapping[str, Sequence[bytes] | None]
) -> bytes:
    """Give the text of a file with what a verification saw; every other byte stays.

    Raises:
        ConfigError: The file cannot be read, or what was seen cannot be kept.
    """
    blocks: dict[bytes, bytes] = {}

    def later(raw: bytes) -> str:
        # Only a word goes through the editor, for it would write numbers in its own way.
        word = f"@{secrets.token_hex(16)}"
        blocks[json.dumps(word).encode()] = raw
        return word

    for key, raws in lists.items():
        if raws is not None:
            text = set_member(text, [key], later(_block(key, raws)))
    text = _set_record(text, verification, later)
    for word, raw in blocks.items():
        text = text.replace(word, raw, 1)
    parse(text)  # never leave a file behind that we cannot change again
    return text


def _set_record(text: bytes, verification: Verification, later: Any) -> bytes:
    root = parse(text).root
    member = root.member("metadata") if root else None
    plain = member.node.plain() if member else None
    before = plain if isinstance(plain, dict) else {}
    if member is not None and not isinstance(plain, dict):
        text = remove_member(text, ["metadata"])
    record = {key: before[key] for key in _RECORD if key in before and key != "instructions"}
    for key in _RECORD:
        value = getattr(verification, key)
        if isinstance(value, bytes):
            value = later(_compact("capabilities", value)) if value else None
        if value is None or value == "":
            text = remove_member(text, ["metadata", key])
        else:
            text = set_member(text, ["metadata", key], value)
    return set_member(text, ["metadata", "previous"], record) if record.get("verified_at") else text


def _block(key: str, raws: Sequence[bytes]) -> bytes:
    # What is wrong otherwise is kept as it was said, and told by whoever reads the file.
    if largest := max((len(raw) for raw in raws if len(raw) > OFFER_LIMIT), default=0):
        raise DefinitionError(
            f"one of '{key}' has {largest} bytes; {OFFER_LIMIT} are allowed",
            "ask the author of the server to shorten it",
        )
    lines = [b"    " + _compact(key, bytes(raw)) for raw in raws]
    return b"[\n" + b",\n".join(lines) + b"\n  ]" if lines else b"[]"


def _compact(key: str, raw: bytes) -> bytes:
    try:
        return msgspec.json.format(raw, indent=-1)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DefinitionError(f"'{key}' cannot be kept: it is not JSON") from error
