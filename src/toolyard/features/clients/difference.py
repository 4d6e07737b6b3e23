"""A change of a file as people read changes: line by line, and without the secrets in it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command
from toolyard.records.jsonc import parse
from toolyard.records.secrets.mask import (
    Mask,
    hide_in_addresses,
    is_secret_name,
    learn,
    looks_random,
)

LONGEST_LINE: Final = 400
"""Characters; a file on one line would fill the screen with what did not change."""


def difference(path: Path, before: bytes | None, after: bytes | None) -> str:
    """Give the unified difference; empty if there is none."""
    mask = Mask()
    for data in (before, after):
        plain = _plain(path, data or b"")
        for name, value in _texts(plain):
            if is_secret_name(name) or looks_random(value):
                _learn(mask, value)
        for words in _lists(plain):
            learn(Command(words), mask)
    old, new = (_lines(mask, data) for data in (before, after))
    was, is_ = ("/dev/null" if data is None else str(path) for data in (before, after))
    lines = difflib.unified_diff(old, new, was, is_, lineterm="")
    return "\n".join(_shortened(line) for line in lines)


def _lines(mask: Mask, data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    return hide_in_addresses(mask.hide(text)).splitlines()


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 4]} ..."


def _learn(mask: Mask, value: str) -> None:
    mask.add(value.removeprefix("Bearer "))


def _plain(path: Path, data: bytes) -> Any:
    try:
        if path.suffix == ".toml":
            return tomllib.loads(data.decode("utf-8-sig"))
        document = parse(data)
        return document.root.plain() if document.root else None
    except (ConfigError, ValueError):
        return None


def _lists(value: Any) -> Iterator[tuple[str, ...]]:
    """Every list in a value, as words of a command."""
    if isinstance(value, list):
        yield tuple(word for word in value if isinstance(word, str))
    inner = value.values() if isinstance(value, dict) else value
    for part in inner if isinstance(value, dict | list) else ():
        yield from _lists(part)


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a value, with the key it stands under."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, name)
