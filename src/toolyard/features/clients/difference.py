"""A change of a file as people read changes: line by line, and without the secrets in it."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command
from toolyard.records.jsonc import parse
from toolyard.records.secrets.mask import (
    HIDDEN,
    Mask,
    hide_in_addresses,
    is_reference,
    is_secret_name,
    learn,
    looks_random,
)

_PAIR: Final = re.compile(
    r"""(["']?([\w.-]{1,100})["']?\s{0,9}[:=]\s{0,9})(["'])((?:(?!\3)[^\\]|\\.)+)\3"""
)
"""A name and a text, as JSON and TOML write them."""
LONGEST_LINE: Final = 400
"""Characters; a file on one line would fill the screen with what did not change."""


def difference(path: Path, before: bytes | None, after: bytes | None) -> str:
    """Give the unified difference; empty if there is none."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    was, is_ = ("/dev/null" if data is None else str(path) for data in (before, after))
    text = "\n".join(difflib.unified_diff(old, new, was, is_, lineterm=""))
    shown = hide_in_addresses(_learn(text, path, (before, after)).hide(text))
    return "\n".join(_shortened(line) for line in shown.split("\n"))


def _learn(text: str, path: Path, files: Iterable[bytes | None]) -> Mask:
    """The secrets of files that occur in a text; such a file may hold much more besides."""
    mask = Mask()
    for data in files if text else ():
        plain = _plain(path, data or b"")
        for name, value in _texts(plain):
            if (is_secret_name(name) or looks_random(value)) and _occurs(value, text):
                mask.add(value.removeprefix("Bearer "))
        for words in _lists(plain):
            if any(_occurs(word, text) for word in words):
                learn(Command(words), mask)
    return mask


def _occurs(value: str, text: str) -> bool:
    lines = [line for line in value.splitlines() if line]
    return any(line in text or json.dumps(line)[1:-1] in text for line in lines)


def _hide_value(match: re.Match[str]) -> str:
    """A pair without its value, however short that is, if its name is that of a secret."""
    is_shown = not is_secret_name(match[2]) or is_reference(match[4]) or HIDDEN in match[4]
    return match[0] if is_shown else f"{match[1]}{match[3]}{HIDDEN}{match[3]}"


def _shortened(line: str) -> str:
    line = _PAIR.sub(_hide_value, line)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 4]} ..."


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
