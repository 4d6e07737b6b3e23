"""Approved parts against those offered: hashes, judgements and differences.

Observed is not approved. A server's first offers are the baseline (trust on
first use); what later changes is held until a person has looked.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolyard.core.canonical import canonical
from toolyard.core.model import Part
from toolyard.core.parts import judged_text, part_hash, read_unique

New = Literal["list", "hold"]
_STEADY: Final = frozenset({"tools", "prompts", "templates"})
"""Kinds of parts that do not come and go with a server's data, as resources do."""


def offers_hash(marks: Mapping[str, str]) -> str:
    """The hash of several definitions together, by their names and hashes."""
    return hashlib.sha256(b"toolyard offers\0" + canonical(dict(marks))).hexdigest()


def judge(
    offered: Mapping[Part, str],
    approved: Mapping[Part, str],
    unseen: Set[Part],
    new: New,
) -> frozenset[Part]:
    """Return the parts that must wait: changed since they were approved, or new where that waits.

    What is new waits too where something of its kind that was approved is gone: it may be the
    same under another name. Nobody has looked at what is `unseen`, so it leaves no gap.
    """
    gaps = {part[0] for part in approved if part not in offered and part not in unseen}
    waits = _STEADY if new == "hold" else _STEADY & gaps
    return frozenset(
        part
        for part, mark in offered.items()
        if (approved[part] != mark if part in approved else part[0] in waits)
    )


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of one part from what is on file."""

    part: Part
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


def differences(before: Mapping[Part, bytes], after: Mapping[Part, bytes]) -> tuple[Change, ...]:
    """Return the parts that are new, missing or changed between those on file and those offered.

    Resources come and go with a server's data, so that one is there is no difference.
    """
    changes = [Change(part, "new") for part in after if part not in before and _counts(part)]
    changes += [Change(part, "missing") for part in before if part not in after and _counts(part)]
    for part in after:
        if part in before and (fields := _fields(part, before[part], after[part])):
            changes.append(Change(part, "changed", fields))
    return tuple(sorted(changes, key=lambda change: (change.kind, change.part)))


def spelled_out(part: Part, raw: bytes) -> tuple[FieldChange, ...]:
    """Return all that is said of a part which was not there before."""
    return _fields(part, b"{}", raw)


def _counts(part: Part) -> bool:
    return part[0] in _STEADY


def _fields(part: Part, before: bytes, after: bytes) -> tuple[FieldChange, ...]:
    if part_hash(part, before) == part_hash(part, after):
        return ()
    before, after = judged_text(part, before), judged_text(part, after)
    try:
        old, new = dict(_leaves(read_unique(before), "")), dict(_leaves(read_unique(after), ""))
    except (ValueError, RecursionError):
        old, new = {"": before.decode("utf-8", "replace")}, {"": after.decode("utf-8", "replace")}
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    return tuple(_field_change(path, old.get(path, ""), new.get(path, "")) for path in paths)


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
