"""JSON as people write it: comments, trailing commas, a BOM, any line end; with positions.

`parse` gives a tree whose nodes know where they stand, so that trouble can name its line and
an edit (`toolyard.records.edit`) can change some bytes and keep all others.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

from toolyard.core.errors import ConfigError

DEPTH_LIMIT = 64
NODE_LIMIT = 100_000
BOM = "\ufeff"

Kind = Literal["object", "array", "string", "number", "boolean", "null"]
Scalar = str | int | float | bool | None

# Possessive, so that no input makes them go back and try again; but no group that can fail amid its
# work: before Python 3.11.5 it does not go back to where it began.
BLANK = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?s:.*?)\*/)*")
_PLAIN = r'[^"\\\x00-\x1f]*+'
_STRING = re.compile(rf'"{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_LINE_END = re.compile(r"\r\n|\n|\r")
_WORDS: dict[str, tuple[Kind, Scalar]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "null": ("null", None),
}


class JsoncError(ConfigError):
    """The text is not JSON, even read with patience; `line` and `column` count from 1."""

    def __init__(self, text: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(f"{text} at line {line}, column {column}", hint)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class JsonMember:
    """One key of an object, with its value; `start` and `key_end` are offsets of the key."""

    key: str
    start: int
    key_end: int
    node: Node
    comma: int | None = None
    """Where the comma after it stands, if there is one."""


@dataclass(frozen=True, slots=True)
class Node:
    """One value and where it stands: `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    scalar: Scalar = None
    members: tuple[JsonMember, ...] = ()
    items: tuple[Node, ...] = ()

    def member(self, key: str) -> JsonMember | None:
        """Give the member with that key; of several the last, as every JSON reader does."""
        return next((member for member in reversed(self.members) if member.key == key), None)

    def plain(self) -> object:
        """Give the value without positions: dict, list, str, int, float, bool or None."""
        if self.kind == "object":
            return {member.key: member.node.plain() for member in self.members}
        if self.kind == "array":
            return [item.plain() for item in self.items]
        return self.scalar


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was read: its tree, and the lines to tell positions by."""

    text: str
    """Everything but the BOM."""
    bom: bool
    root: Node | None
    """None if there is nothing but blanks and comments."""
    duplicates: tuple[JsonMember, ...]
    """Members whose key an earlier member of the same object has too."""
    line_starts: tuple[int, ...] = field(repr=False)

    def place(self, offset: int) -> tuple[int, int]:
        """Give line and column of an offset, counted from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, part: Node | JsonMember) -> int:
        """Give the line a value or a key begins on, counted from 1."""
        return self.place(part.start)[0]


def parse(data: bytes) -> Document:
    """Read a text; an empty one gives a document without a root.

    Raises:
        JsoncError: It is not UTF-8, not JSON, too deep or too large.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        reader = _Reader(before.removeprefix(BOM))
        raise reader.error(
            "text that is not UTF-8", len(reader.text), "save it as UTF-8"
        ) from error
    reader = _Reader(text.removeprefix(BOM))
    root = reader.read()
    return Document(
        text=reader.text,
        bom=text.startswith(BOM),
        root=root,
        duplicates=tuple(reader.duplicates),
        line_starts=reader.line_starts,
    )


class _Reader:
    """Goes once through a text, from the left, and never back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_starts = (0, *(match.end() for match in _LINE_END.finditer(text)))
        self.duplicates: list[JsonMember] = []
        self._at = 0
        self._nodes = 0

    def read(self) -> Node | None:
        self._skip_blank()
        if self._at == len(self.text):
            return None
        root = self._value(0)
        self._skip_blank()
        if self._at < len(self.text):
            raise self.error("something after the end of the value", self._at, "remove it")
        return root

    def error(self, text: str, at: int, hint: str = "") -> JsoncError:
        line = bisect_right(self.line_starts, at)
        return JsoncError(text, line, at - self.line_starts[line - 1] + 1, hint)

    def _skip_blank(self) -> None:
        match = BLANK.match(self.text, self._at)
        assert match is not None  # it matches the empty text too
        self._at = match.end()
        if self.text.startswith("/*", self._at):
            raise self.error("a comment without an end", self._at, "close it with */")

    def _peek(self) -> str:
        return self.text[self._at : self._at + 1]

    def _value(self, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > NODE_LIMIT:
            raise self.error(f"more than {NODE_LIMIT} values", self._at)
        if depth > DEPTH_LIMIT:
            raise self.error(f"nesting deeper than {DEPTH_LIMIT}", self._at)
        match self._peek():
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"':
                start = self._at
                text = self._string()
                return Node("string", start, self._at, text)
            case _:
                return self._bare()

    def _object(self, depth: int) -> Node:
        start = self._at
        members: list[JsonMember] = []
        keys: set[str] = set()
        self._at += 1
        while not self._closes("}", start):
            member = self._member(depth)
            members.append(member)
            if member.key in keys:
                self.duplicates.append(member)
            keys.add(member.key)
        return Node("object", start, self._at, members=tuple(members))

    def _member(self, depth: int) -> JsonMember:
        start = self._at
        if self._peek() != '"':
            raise self.error("a key in double quotes expected", start, 'write keys as "key"')
        key = self._string()
        key_end = self._at
        self._skip_blank()
        if self._peek() != ":":
            raise self.error(f"':' expected after the key '{key}'", self._at)
        self._at += 1
        self._skip_blank()
        node = self._value(depth + 1)
        return JsonMember(key, start, key_end, node, self._comma("}"))

    def _array(self, depth: int) -> Node:
        start = self._at
        items: list[Node] = []
        self._at += 1
        while not self._closes("]", start):
            items.append(self._value(depth + 1))
            self._comma("]")
        return Node("array", start, self._at, items=tuple(items))

    def _closes(self, closer: str, start: int) -> bool:
        self._skip_blank()
        if self._at == len(self.text):
            raise self.error(f"'{self.text[start]}' without its '{closer}'", start, "close it")
        if self._peek() != closer:
            return False
        self._at += 1
        return True

    def _comma(self, closer: str) -> int | None:
        """Step over the comma after a value; without one, only the end may follow."""
        self._skip_blank()
        if self._peek() == ",":
            self._at += 1
            return self._at - 1
        if self._peek() not in ("", closer):
            raise self.error(f"',' or '{closer}' expected", self._at, "is a comma missing?")
        return None

    def _string(self) -> str:
        match = _STRING.match(self.text, self._at)
        if match is None:
            hint = "close it on its line, and write \\\\ for a backslash"
            raise self.error("a string without an end or with a wrong escape", self._at, hint)
        raw = match.group()
        text = json.loads(raw) if "\\" in raw else raw[1:-1]
        if "\\u" in raw and any("\ud800" <= char <= "\udfff" for char in text):
            raise self.error("half of a surrogate pair", self._at, "write both halves")
        self._at = match.end()
        return str(text)

    def _bare(self) -> Node:
        """Read a number or one of the three words."""
        start = self._at
        if match := _NUMBER.match(self.text, start):
            self._at = match.end()
            return Node("number", start, self._at, self._number(match.group()))
        match = _WORD.match(self.text, start)
        word = match.group() if match else self._peek()
        if word not in _WORDS:
            shown = f"'{word[:20]}'" if word else "the end of the file"
            raise self.error(f"a value expected, not {shown}", start, "put text in double quotes")
        self._at += len(word)
        kind, scalar = _WORDS[word]
        return Node(kind, start, self._at, scalar)

    def _number(self, raw: str) -> int | float:
        try:
            number = float(raw) if any(sign in raw for sign in ".eE") else int(raw)
        except ValueError:  # int() refuses thousands of digits
            number = math.inf
        if not math.isfinite(number):
            raise self.error("a number too large", self._at - len(raw))
        return number
