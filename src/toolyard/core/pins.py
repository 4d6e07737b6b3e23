"""What was approved, against what is offered: hashes, judgements and differences.

Observed is not approved. A server's first offers are the baseline (trust on
first use); a tool that later changes is held until a person has looked.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolyard.core.model import Command, Endpoint, Offer

New = Literal["list", "hold"]


def canonical(value: Any) -> bytes:
    """A value as the one JSON text that stands for it: keys sorted, no blanks."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def tool_hash(raw: bytes) -> str:
    """What stands for a tool's definition: any change to any part makes another."""
    try:
        text = canonical(json.loads(raw, object_pairs_hook=_unique))
    except (ValueError, RecursionError):
        # A name twice in one object, endless digits, endless depth: every byte counts then.
        text = b"raw\0" + raw
    return hashlib.sha256(b"toolyard tool\0" + text).hexdigest()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice: who reads the first sees another tool")
    return found


def launch_hash(endpoint: Endpoint, variables: tuple[str, ...] = ()) -> str:
    """What stands for how a server is started or reached, and which variables it asks for."""
    if isinstance(endpoint, Command):
        parts: Any = ["command", endpoint.argv, endpoint.env, endpoint.cwd]
    else:
        parts = ["url", endpoint.kind, endpoint.url, endpoint.headers]
    text = canonical([*parts, sorted(variables)])
    return hashlib.sha256(b"toolyard launch\0" + text).hexdigest()


def offers_hash(marks: Mapping[str, str]) -> str:
    """What stands for several definitions together, by their names and hashes."""
    return hashlib.sha256(b"toolyard offers\0" + canonical(dict(marks))).hexdigest()


def judge(offered: Mapping[str, str], approved: Mapping[str, str], new: New) -> frozenset[str]:
    """The tools that must wait: changed since they were approved, or new where that waits too."""
    return frozenset(
        name
        for name, mark in offered.items()
        if (name in approved and approved[name] != mark) or (name not in approved and new == "hold")
    )


@dataclass(frozen=True, slots=True)
class Change:
    """How one offer differs from what is on file."""

    name: str
    kind: Literal["new", "missing", "changed"]
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that changed, as text in which nothing is invisible."""

    path: str
    before: str
    after: str
    lines: tuple[str, ...]
    """A text difference: lines that begin with a blank, `-` or `+`."""


def differences(before: Mapping[str, bytes], after: tuple[Offer, ...]) -> tuple[Change, ...]:
    """What is new, missing or changed between definitions on file and those offered now."""
    now = {offer.key: offer.raw for offer in after}
    found = [Change(name, "new") for name in now if name not in before]
    found += [Change(name, "missing") for name in before if name not in now]
    for name in now:
        if name in before and (fields := _fields(before[name], now[name])):
            found.append(Change(name, "changed", fields))
    return tuple(sorted(found, key=lambda change: (change.kind, change.name)))


def _fields(before: bytes, after: bytes) -> tuple[FieldChange, ...]:
    if tool_hash(before) == tool_hash(after):
        return ()
    try:
        old, new = dict(_leaves(_read(before), "")), dict(_leaves(_read(after), ""))
    except (ValueError, RecursionError):
        old, new = {"": before.decode("utf-8", "replace")}, {"": after.decode("utf-8", "replace")}
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    return tuple(_field_change(path, old.get(path, ""), new.get(path, "")) for path in paths)


def _read(raw: bytes) -> Any:
    return json.loads(raw, object_pairs_hook=_unique)


def _leaves(value: Any, path: str) -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        return [leaf for k, v in value.items() for leaf in _leaves(v, f"{path}.{k}" if path else k)]
    if isinstance(value, list) and value:
        return [leaf for i, v in enumerate(value) for leaf in _leaves(v, f"{path}[{i}]")]
    return [(path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))]


def _field_change(path: str, before: str, after: str) -> FieldChange:
    import difflib  # on a change alone

    old, new = visible(before), visible(after)
    lines = difflib.ndiff(old.splitlines(), new.splitlines())
    return FieldChange(path, old, new, tuple(line for line in lines if line[:1] != "?"))


_SHOWN_AS_IS: Final = frozenset("\n\t ")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"})


def visible(text: str) -> str:
    """The text with every character that does not show spelled out, e.g. ⟨U+200B⟩."""
    return "".join(
        c if c in _SHOWN_AS_IS or unicodedata.category(c) not in _HIDDEN else f"⟨U+{ord(c):04X}⟩"
        for c in text
    )


def schema_tokens(raws: list[bytes]) -> int:
    """About how many tokens a model reads for these definitions: a quarter of their bytes."""
    return sum(len(raw) for raw in raws) // 4
