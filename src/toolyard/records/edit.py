"""Edits of JSON that people wrote: one member changes, every other byte stays as it was.

Comments, order, indentation, spacing, line ends and the BOM are kept; what is added looks like
its neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolyard.core.errors import ConfigError
from toolyard.records.jsonc import BOM, Document, JsonMember, Node, parse

_SPACES = re.compile(r"[ \t]*")
_LINE_END = re.compile(r"\r\n|\n|\r")
# What follows a member on its line belongs to it.
_SAME_LINE_COMMENTS = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/))+")

Splice = tuple[int, int, str]
"""Replace `text[start:end]` by this; lists of them go from left to right."""


def set_member(data: bytes, path: Sequence[str], value: object) -> bytes:
    """Give the text with the member at `path` set, added after its siblings if it is new.

    Objects missing on the way are added too. Of several members with one key, the last is set,
    for it is the one that counts.

    Raises:
        ConfigError: The text cannot be read, something on the way is not an object, or the value
            cannot be written as JSON.
    """
    document = parse(data)
    style = _style(document)
    if document.root is None:
        return _append_root(document, _wrap(path, value), style)
    parent, member, rest = _walk(document, path)
    if member is not None:
        node = member.node
        indent = _indent_of_line(document.text, member.start)
        new = _render(value, indent, style)
        return _apply(document, [(node.start, node.end, new)])
    return _apply(document, _insert(document, parent, rest[0], _wrap(rest[1:], value), style))


def remove_member(data: bytes, path: Sequence[str]) -> bytes:
    """Give the text without the member at `path`, and without any other of that key beside it.

    Comments around it stay. Without such a member the text is given back unchanged.

    Raises:
        ConfigError: The text cannot be read, or something on the way is not an object.
    """
    while True:
        document = parse(data)
        if document.root is None:
            return data
        parent, member, _ = _walk(document, path)
        if member is None:
            return data
        data = _apply(document, _cut(document.text, parent, member))


@dataclass(frozen=True, slots=True)
class _Style:
    """The style of the text, so that what is added is written alike."""

    newline: str
    unit: str
    """One step of indentation."""
    flat: bool
    """All on one line."""


def _style(document: Document) -> _Style:
    text, root = document.text, document.root
    first = _LINE_END.search(text)
    newline = first.group() if first else "\n"
    members = root.members if root else ()
    if root is None or not members:
        return _Style(newline, "  ", flat=False)
    flat = _LINE_END.search(text, root.start, root.end) is None
    indents = (_own_line_indent(text, member.start) for member in members)
    return _Style(newline, next((indent for indent in indents if indent), "  "), flat)


def _own_line_indent(text: str, at: int) -> str | None:
    """Give the blanks before `at` if there is nothing else before it on its line."""
    before = text[_line_start(text, at) : at]
    return before if not before.strip(" \t") else None


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent_of_line(text: str, at: int) -> str:
    match = _SPACES.match(text, _line_start(text, at))
    return match.group() if match else ""


def _walk(document: Document, path: Sequence[str]) -> tuple[Node, JsonMember | None, Sequence[str]]:
    """Follow `path` as far as it exists: the last object, the member if all exists, the rest."""
    assert document.root is not None
    node, member = document.root, None
    for index, key in enumerate(path):
        if node.kind != "object":
            where = f"'{path[index - 1]}'" if index else "the file"
            raise ConfigError(
                f"{where} holds no object at line {document.line(node)}",
                "write it as { ... }, or take it out",
            )
        member = node.member(key)
        if member is None:
            return node, None, path[index:]
        if index < len(path) - 1:
            node = member.node
    return node, member, ()


def _wrap(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _append_root(document: Document, value: object, style: _Style) -> bytes:
    text = document.text
    # A line comment at the very end must not swallow what comes.
    gap = style.newline if text and not text.endswith(("\n", "\r")) else ""
    new = gap + _render(value, "", style) + style.newline
    return _apply(document, [(len(text), len(text), new)])


def _insert(
    document: Document, parent: Node, key: str, value: object, style: _Style
) -> list[Splice]:
    text = document.text
    if not parent.members:
        return [_insert_first(text, parent, key, value, style)]
    last = parent.members[-1]
    indent = _own_line_indent(text, last.start)
    colon = ":" if text[last.key_end : last.node.start] == ":" else ": "
    flat = style if indent is not None else _Style(style.newline, style.unit, flat=True)
    new = f"{_quote(key)}{colon}{_render(value, indent or '', flat)}"
    after = last.node.end if last.comma is None else last.comma + 1
    if indent is None:
        gap = "" if colon == ":" else " "
        new = f",{gap}{new}" if last.comma is None else f"{gap}{new},"
        return [(after, after, new)]
    comment = _SAME_LINE_COMMENTS.match(text, after)
    at = comment.end() if comment else after
    new = f"{style.newline}{indent}{new}"
    if last.comma is not None:
        return [(at, at, f"{new},")]
    return [(last.node.end, last.node.end, ","), (at, at, new)]


def _insert_first(text: str, parent: Node, key: str, value: object, style: _Style) -> Splice:
    """Fill an empty object, after the comments it may hold."""
    if style.flat:
        new = f"{_quote(key)}:{_render(value, '', style)}"
        return (parent.end - 1, parent.end - 1, new)
    outer = _indent_of_line(text, parent.start)
    indent = outer + style.unit
    inside = text[parent.start : parent.end - 1]
    at = parent.start + len(inside.rstrip(" \t\r\n"))
    new = f"{style.newline}{indent}{_quote(key)}: {_render(value, indent, style)}"
    closes_on_own_line = _LINE_END.search(text, at, parent.end) is not None
    return (at, at, new if closes_on_own_line else new + style.newline + outer)


def _cut(text: str, parent: Node, member: JsonMember) -> list[Splice]:
    index = parent.members.index(member)
    start, end = member.start, member.node.end
    if member.comma is not None:
        if text[end : member.comma].strip():  # a comment stands between: it stays
            return [(start, end, ""), (member.comma, member.comma + 1, "")]
        start, end = _whole_line(text, start, member.comma + 1)
        return [(start, end, "")]
    if index == 0:
        start, end = _whole_line(text, start, end)
        return [(start, end, "")]
    comma = parent.members[index - 1].comma
    assert comma is not None  # two members have a comma between them
    if not text[comma + 1 : start].strip() and not _SAME_LINE_COMMENTS.match(text, end):
        return [(comma, end, "")]
    start, end = _whole_line(text, start, end)
    return [(comma, comma + 1, ""), (start, end, "")]


def _whole_line(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to its whole lines if nothing else is on them, or over the blanks after it."""
    spaces = _SPACES.match(text, end)
    after = spaces.end() if spaces else end
    if _own_line_indent(text, start) is not None and (line_end := _LINE_END.match(text, after)):
        return _line_start(text, start), line_end.end()
    follows_member = text[after : after + 1] == '"'
    return start, after if follows_member else end


def _apply(document: Document, splices: list[Splice]) -> bytes:
    text = document.text
    for start, end, new in reversed(splices):  # from the right, so that offsets stay true
        text = text[:start] + new + text[end:]
    return ((BOM if document.bom else "") + text).encode("utf-8")


def _quote(key: str) -> str:
    return _render(key, "", _Style("\n", "", flat=True))


def _render(value: object, indent: str, style: _Style) -> str:
    """Write a value; objects one member to a line, arrays of plain values on one line."""
    match value:
        case dict() if value and not style.flat:
            inner = indent + style.unit
            lines = [f"{inner}{_quote(k)}: {_render(v, inner, style)}" for k, v in value.items()]
            return _block("{", lines, "}", indent, style)
        case list() | tuple() if not style.flat and any(isinstance(v, dict | list) for v in value):
            inner = indent + style.unit
            lines = [f"{inner}{_render(v, inner, style)}" for v in value]
            return _block("[", lines, "]", indent, style)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            "a value cannot be written as JSON", "use text, numbers, lists and objects"
        ) from error
    return text


def _block(opener: str, lines: list[str], closer: str, indent: str, style: _Style) -> str:
    body = f",{style.newline}".join(lines)
    return f"{opener}{style.newline}{body}{style.newline}{indent}{closer}"
