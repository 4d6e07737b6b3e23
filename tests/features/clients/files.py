"""Clients' files as people keep them, made by chance from a seed: comments, spacing, BOM, CRLF."""

from __future__ import annotations

import json
import random
from typing import Any

WORDS = ("alpha", "theme", "ui", "größe", "nested", "key with space", "x-y", "toolyard2", "日本")


def plain(chance: random.Random, depth: int = 0) -> Any:
    """A value a client may keep beside its servers."""
    kind = chance.randrange(7 if depth < 3 else 5)
    if kind < 5:
        return chance.choice(
            ["text", "a // b", 'say "hi"', "C:\\x", "/* no */", 1, -2.5, True, None]
        )
    names = chance.sample(WORDS, chance.randrange(4))
    if kind == 5:
        return {name: plain(chance, depth + 1) for name in names}
    return [plain(chance, depth + 1) for _ in names]


def server(chance: random.Random) -> dict[str, Any]:
    """An entry with keys that are nobody's business."""
    raw: dict[str, Any] = {"command": chance.choice(["npx", "uvx", "/opt/x y/run"])}
    raw["args"] = chance.sample(["-y", "--flag=1", "a b", "#no"], chance.randrange(4))
    if chance.random() < 0.5:
        raw["env"] = {"API_KEY": "sk-0123456789abcdef0123", "MODE": "x"}
    if chance.random() < 0.3:
        raw["futureKey"] = plain(chance, 1)
    return raw


class _Writer:
    """Writes JSON with comments and spacing of every kind."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.newline = chance.choice(["\n", "\r\n"])
        self.flat = chance.random() < 0.2
        self.comments = not self.flat and chance.random() < 0.7
        self.trailing = chance.random() < 0.3
        self.unit = chance.choice(["  ", "\t", "    ", " "])

    def gap(self, indent: str) -> str:
        if self.flat:
            return self.chance.choice(["", " "])
        blank = self.chance.choice(["", "", self.newline, f"  {self.newline}"])
        notes = [f"{indent}// it's {{a}} note,", f'{indent}/* "x": [1, */']
        note = self.chance.choice(notes) + self.newline if self.has_comment() else ""
        return f"{self.newline}{blank}{note}{indent}"

    def has_comment(self) -> bool:
        return self.comments and self.chance.random() < 0.3

    def write(self, value: Any, indent: str = "") -> str:
        if not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=self.chance.random() < 0.3)
        inner, parts = indent + self.unit, []
        is_map = isinstance(value, dict)
        for key in value:
            colon = self.chance.choice([":", ": ", " : "])
            name = json.dumps(key, ensure_ascii=False) + colon if is_map else ""
            parts.append(self.gap(inner) + name + self.write(value[key] if is_map else key, inner))
        end = "," if self.trailing and not self.flat else ""
        if self.has_comment():
            end += " // last"
        body = ",".join(parts) + end
        last = self.newline + indent if not self.flat else ""
        return ("{" if is_map else "[") + body + last + ("}" if is_map else "]")


def json_file(seed: int, top: str) -> bytes:
    """A JSON file with some servers under `top`, or none, or no such key, or nothing at all."""
    chance = random.Random(seed)
    if chance.random() < 0.04:
        return chance.choice([b"", b"\n", b"{}", b"{ }\n", b"// only this\n", b"\xef\xbb\xbf{}"])
    said = {name: plain(chance) for name in chance.sample(WORDS, chance.randrange(5))}
    if chance.random() < 0.8:
        names = chance.sample(["files", "web-x", "d.e", "toolyard_old"], chance.randrange(4))
        said[top] = {name: server(chance) for name in names}
    items = list(said.items())
    chance.shuffle(items)
    writer = _Writer(chance)
    text = writer.write(dict(items)) + chance.choice(["", writer.newline, writer.newline * 2])
    return (b"\xef\xbb\xbf" if chance.random() < 0.2 else b"") + text.encode()


TOML_PARTS = (
    'model = "o9"  # the one\n',
    "  odd   =   [ 1,\n    2, # two ]\n  ]\n",
    'text = """\n[mcp_servers.toolyard]\ncommand = "not me"\n"""\n',
    "raw = '''\n# no comment [x]\n'''\n",
    "# a note about [mcp_servers.toolyard]\n\n\n",
    '"quoted key" = { a = 1, b = { c = "}" } }\n',
    "when = 2026-11-16T00:00:00Z\n",
)
FILES = """[mcp_servers.files]
command = "npx"
args = ["-y", "x"]
future = 1

  [mcp_servers.files.env]
  API_KEY = "sk-0123456789abcdef0123"
"""
TOML_TABLES = (
    "[tui]\n theme='dark' \n\n",
    '[projects."/srv/a b.c"]\ntrust_level = "trusted"\n',
    FILES,
    '[mcp_servers."web.x"]\nurl = "http://127.0.0.1:1/mcp" # here\n',
    '[[hooks]]\nrun = "a"\n\n[[hooks]]\nrun = "b"\n',
    "# trailing note\n",
)


def toml_file(seed: int) -> bytes:
    """A TOML file with some servers, or none."""
    chance = random.Random(seed)
    parts = chance.sample(TOML_PARTS, chance.randrange(len(TOML_PARTS) + 1))
    parts += chance.sample(TOML_TABLES, chance.randrange(len(TOML_TABLES) + 1))
    text = "".join(parts)
    if chance.random() < 0.3:
        text = text.rstrip("\n")
    if chance.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if chance.random() < 0.1 else b"") + text.encode()
