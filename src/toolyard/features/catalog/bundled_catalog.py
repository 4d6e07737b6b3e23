"""The definitions we ship: copied into the user's catalog without undoing anybody's edits."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolyard.core.errors import ConfigError
from toolyard.core.lists import LIST_KEYS
from toolyard.records.edit import set_member
from toolyard.records.files import read_bounded, write_atomic
from toolyard.records.jsonc import parse

BUNDLED: Final = Path(__file__).with_name("bundled") / "official"
SCHEMA: Final = Path(__file__).with_name("bundled") / "schema.json"
"""The JSON Schema of a definition."""
_OURS: Final = (*LIST_KEYS, "metadata")
"""The keys that verification writes: neither an edit of the user's nor part of what we ship."""


def copy_bundled(bundled: Path, root: Path) -> tuple[str, ...]:
    """Copy what is missing, and what changed here while the user left it alone; give the names.

    Raises:
        StoreError: A file cannot be read or written.
    """
    memory = root / "shipped.json"
    remembered = _read_memory(memory)
    copied: list[str] = []
    digests: dict[str, str] = {}
    for source in sorted(bundled.glob("*.json")):
        new, old = read_bounded(source), _present(root / "official" / source.name)
        if old == new and source.stem in remembered:
            continue  # as at most starts, which must be quick
        digests[source.stem] = _digest(new)
        text = _next_text(old, new, digests[source.stem], remembered.get(source.stem, ""))
        if text is not None:
            write_atomic(root / "official" / source.name, text)
            copied.append(source.stem)
    _copy_schema(bundled.parent / "schema.json", root / "schema.json")
    # A name we no longer ship is remembered, so that it is not taken for an edit if it returns.
    if remembered | digests != remembered:
        write_atomic(memory, json.dumps(remembered | digests, indent=2).encode() + b"\n")
    return tuple(copied)


def _copy_schema(source: Path, target: Path) -> None:
    """Editors look for it where the definitions say that it is."""
    text = _present(source)
    if text is not None and text != _present(target):
        write_atomic(target, text)


def _present(target: Path) -> bytes | None:
    try:
        return read_bounded(target)
    except FileNotFoundError:
        return None


def _next_text(old: bytes | None, new: bytes, digest: str, remembered: str) -> bytes | None:
    """Return the text to write; None if the file stays as it is."""
    if old is None:
        return new
    present = _digest(old)
    if present == digest or present != remembered:
        return None  # the same, or the user's own by now
    return _carry_over(old, new)


def _carry_over(old: bytes, new: bytes) -> bytes | None:
    """Put what verification wrote into the text that we ship now."""
    try:
        present = msgspec.json.decode(old, type=dict[str, Raw])
    except msgspec.DecodeError:
        return None  # it has comments by now, so somebody cares for it
    for key in _OURS:
        if key in present:
            word = f"@{hashlib.sha256(key.encode()).hexdigest()}"
            new = set_member(new, [key], word)
            new = new.replace(json.dumps(word).encode(), bytes(present[key]), 1)
    return new


def _digest(text: bytes) -> str:
    """A hash of what the file means, without what verification writes."""
    try:
        root = parse(text).root
    except ConfigError:
        return ""  # broken by hand, so it is the user's
    plain: Any = root.plain() if root else None
    if not isinstance(plain, dict):
        return ""
    shipped = {key: value for key, value in plain.items() if key not in _OURS}
    canonical = json.dumps(shipped, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _read_memory(memory: Path) -> dict[str, str]:
    try:
        digests = json.loads(read_bounded(memory))
    except (FileNotFoundError, ValueError):
        return {}
    return {str(k): str(v) for k, v in digests.items()} if isinstance(digests, dict) else {}
