"""Edits of TOML that people wrote: our tables change, every other byte stays as it was.

The text is cut into statements; those of one entry are taken out or written anew. What comes out
is read again and must say the same as before but for that entry, or it is refused.

A library would be shorter, but loses comments that belong to others; see decision 0021.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject

BOM: Final = "\ufeff"
_GAP: Final = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*")
_KEY: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
# One piece of a value; strings as a whole, so that what is in them does not count.
_PIECE: Final = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"{1,2}(?!"))[^"\\]*+)*"{3,5}'
    r"|'''[^']*+(?:'{1,2}(?!')[^']*+)*'{3,5}"
    r'|"[^"\\\n]*+(?:\\.?+[^"\\\n]*+)*+"'
    r"|'[^'\n]*+'"
    r"|\#[^\n]*+|.",
    re.DOTALL,
)
_EMPTY_LINE: Final = re.compile(r"(?<=\n)\r?\n\Z")

Keys = tuple[str, ...]


def parse_toml(data: bytes) -> JsonObject:
    """Read a text.

    Raises:
        ConfigError: It is not TOML; the message names the line.
    """
    try:
        return tomllib.loads(data.decode("utf-8").removeprefix(BOM))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"text that is not UTF-8 at line {line}", "save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        # It says "... (at line 3, column 4)" or "... (at end of document)".
        fault, _, where = str(error).rpartition(" (at ")
        if "line" not in where:
            last = data.rstrip().count(b"\n") + 1
            where = f"line {last}, the end)"
        text = f"{fault[:1].lower()}{fault[1:]} at {where.removesuffix(')')}"
        raise ConfigError(text, "correct it there") from error


def set_table(data: bytes, path: Keys, value: Mapping[str, Any]) -> bytes:
    """Give the text with the table at `path` written, in its place or at the end.

    Raises:
        ConfigError: It cannot be read, or what it has there cannot be changed.
    """
    before = parse_toml(data)
    text = data.decode("utf-8")
    newline = "\r\n" if "\r\n" in text else "\n"
    mine = [part for part in _statements(text) if part.path[: len(path)] == path]
    block = newline.join(_render(path, value)) + newline
    place = next((part for part in mine if part.is_header), None)
    text = _cut(text, mine, place, block)
    if place is None:
        gap = newline if text.strip(BOM) else ""
        gap += gap if not text.endswith("\n") else ""
        text = f"{text}{gap}{block}"
    return _checked(text, _with(before, path, dict(value)), path)


def remove_table(data: bytes, path: Keys) -> bytes:
    """Give the text without the table at `path`; unchanged if there is none.

    Raises:
        ConfigError: It cannot be read, or what it has there cannot be taken out.
    """
    before = parse_toml(data)
    if not _has(before, path):
        return data
    text = data.decode("utf-8")
    mine = [part for part in _statements(text) if part.path[: len(path)] == path]
    return _checked(_cut(text, mine), _with(before, path, None), path)


@dataclass(frozen=True, slots=True)
class _Statement:
    """One line, or several that belong together: a header, or a key with its value."""

    path: Keys
    start: int
    end: int
    """After its line end."""
    is_header: bool


def _statements(text: str) -> Iterator[_Statement]:
    """Cut a text that is known to be TOML."""
    at, table = len(BOM) if text.startswith(BOM) else 0, Keys()
    while True:
        at = _past(_GAP, text, at)
        if at >= len(text):
            return
        start = text.rfind("\n", 0, at) + 1
        is_header = text[at] == "["
        keys, at = _keys(text, at + (2 if text.startswith("[[", at) else int(is_header)))
        at = _line_end(text, at)
        if is_header:
            table = keys
        yield _Statement(keys if is_header else table + keys, start, at, is_header)


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _keys(text: str, at: int) -> tuple[Keys, int]:
    """Read a dotted key; give where it ends too."""
    keys: list[str] = []
    while True:
        match = _KEY.match(text, _past(_GAP, text, at))
        if match is None:
            return tuple(keys), at
        word = match.group()
        keys.append(word if word[0] not in "\"'" else tomllib.loads(f"k={word}")["k"])
        at = _past(_GAP, text, match.end())
        if not text.startswith(".", at):
            return tuple(keys), at
        at += 1


def _line_end(text: str, at: int) -> int:
    """The end of the statement that `at` is in, its line end included."""
    depth = 0
    for match in _PIECE.finditer(text, at):
        piece = match.group()
        if piece == "\n" and depth <= 0:
            return match.end()
        depth += (piece in "[{") - (piece in "]}")
    return len(text)


def _cut(
    text: str, statements: list[_Statement], place: _Statement | None = None, block: str = ""
) -> str:
    """Take statements out, with an empty line before a header; `block` comes where `place` was."""
    for statement in reversed(statements):
        start, new = statement.start, block if statement is place else ""
        if statement.is_header and not new and (empty := _EMPTY_LINE.search(text, 0, start)):
            start = empty.start()
        text = text[:start] + new + text[statement.end :]
    return text


def _has(table: Any, path: Keys) -> bool:
    for key in path:
        if not isinstance(table, dict) or key not in table:
            return False
        table = table[key]
    return True


def _with(table: Mapping[str, Any], path: Keys, value: object) -> JsonObject:
    """The same with another value at `path`, or without it for None; empty tables do not count."""
    key, rest = path[0], path[1:]
    inner = table.get(key, {})
    if rest:
        value = _with(inner if isinstance(inner, dict) else {}, rest, value) or None
    others = {name: inner for name, inner in table.items() if name != key}
    return others if value is None else {**others, key: value}


def _checked(text: str, expected: JsonObject, path: Keys) -> bytes:
    data = text.encode("utf-8")
    try:
        after = parse_toml(data)
    except ConfigError:
        after = None
    if after is None or _without_empty(after, path[0]) != _without_empty(expected, path[0]):
        shown = ".".join(path)
        raise ConfigError(
            f"'{shown}' cannot be changed in the way it is written there",
            f"write it as a table of its own: [{shown}]",
        )
    return data


def _without_empty(table: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in table.items() if name != key or value != {}}


def _render(path: Keys, value: Mapping[str, Any]) -> list[str]:
    """The lines of a table: first what is plain, then the tables in it."""
    lines = [f"[{'.'.join(map(_name, path))}]"]
    inner: list[str] = []
    for key, content in value.items():
        if isinstance(content, dict):
            inner += ["", *_render((*path, key), content)]
        else:
            lines.append(f"{_name(key)} = {_value(content)}")
    return lines + inner


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    """Text, numbers, truth and lists are written as in JSON, but for one character."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_name(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str | bool | int):
        raise ConfigError("a value cannot be written as TOML", "use text, numbers and lists")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
