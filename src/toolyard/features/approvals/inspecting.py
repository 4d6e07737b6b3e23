"""Inspects all that a server says of its parts, offline, before a model reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from toolyard.core.model import Part, ServerId, Snapshot
from toolyard.core.parts import read_unique
from toolyard.features.approvals.findings import EXCERPT, FindingKind, TextFinding
from toolyard.features.approvals.hidden_text import excerpt, find_hidden
from toolyard.features.approvals.injections import find_orders
from toolyard.features.approvals.lookalikes import Neighbours, find_ours
from toolyard.features.approvals.plain_text import unmask

MOST: Final = 12
"""Findings of one part that are told."""
LARGEST: Final = 1 << 16
"""Bytes of a part that are looked at; no honest one has so many."""
NAMES_MOST: Final = 20_000
"""Tools of other servers that names are compared with."""
REMEMBERED: Final = 4096
WORD: Final = 24
"""Letters of a single word that says nothing by itself."""

Findings = tuple[TextFinding, ...]


def is_alarming(part: Part, raw: bytes) -> bool:
    """Return whether a person must look at a part before it is used."""
    return any(finding.is_serious for finding in inspect_part(part, raw))


@lru_cache(REMEMBERED)
def inspect_part(part: Part, raw: bytes) -> Findings:
    """Return what in a part a person should look at, whatever else is in the yard."""
    if len(raw) > LARGEST:
        why = f"longer than {LARGEST} bytes, so nobody can look at all of it"
        return (TextFinding(FindingKind.HIDDEN, True, "", f"{len(raw)} bytes", why),)
    try:
        value = read_unique(raw)
    except (ValueError, RecursionError):
        value = raw.decode("utf-8", "replace")
    findings: list[TextFinding] = []
    if part[0] in ("tools", "prompts") and (ours := find_ours(part[1])) is not None:
        findings.append(
            TextFinding(FindingKind.LOOK_ALIKE, True, "name", _shown(part[1]), ours.why)
        )
    seen: set[tuple[str, str]] = set()
    for path, text in _texts(value, ""):
        for finding in _inspect_text(path, text):
            if (finding.path, finding.why) not in seen:
                seen.add((finding.path, finding.why))
                findings.append(finding)
    return _worst_first(findings)


def inspect_parts(parts: Mapping[Part, bytes], others: Neighbours) -> dict[Part, Findings]:
    """Return what a person should look at of each part; of most parts nothing.

    `others` are the tools of all other servers.
    """
    own = {name for kind, name in parts if kind == "tools"}
    inspected = {}
    for part, raw in parts.items():
        findings = [*inspect_part(part, raw), *_compare(part, raw, own, others)]
        if findings:
            inspected[part] = _worst_first(findings)
    return inspected


def neighbours_of(snapshot: Snapshot, id_: ServerId) -> Neighbours:
    """Return the tools of all servers but one."""
    names: dict[str, str] = {}
    for entry in snapshot.entries.values():
        if entry.server.id != id_ and len(names) < NAMES_MOST:
            names |= {tool.key: entry.alias for tool in entry.offers.tools}
    return Neighbours(names)


def _compare(part: Part, raw: bytes, own: set[str], others: Neighbours) -> Iterator[TextFinding]:
    if part[0] == "tools" and (alike := others.find_alike(part[1])) is not None:
        shown = _shown(part[1])
        yield TextFinding(FindingKind.LOOK_ALIKE, alike.is_serious, "name", shown, alike.why)
    text = unmask(raw[:LARGEST].decode("utf-8", "replace"))
    for named in others.find_named(text, own):
        yield TextFinding(FindingKind.OTHER_TOOL, named.is_serious, "", named.text, named.why)


def _inspect_text(path: str, text: str) -> Iterator[TextFinding]:
    if len(text) < WORD and text.isascii() and text.isidentifier():
        return  # the name of a member or a type, as most texts in a schema
    for is_serious, words, why in find_hidden(text):
        yield TextFinding(FindingKind.HIDDEN, is_serious, path, _shown(words), why)
    for order in find_orders(text):
        kind = FindingKind.OTHER_TOOL if order.is_about_tools else FindingKind.INSTRUCTION
        yield TextFinding(kind, order.is_serious, path, _shown(order.text), order.why)


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text in a value with its place, names of members too."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            place = f"{path}.{key}" if path else key
            yield f"{path}.(name)", key
            yield from _texts(item, place)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, f"{path}[{at}]")


def _worst_first(findings: list[TextFinding]) -> Findings:
    return tuple(sorted(findings, key=lambda finding: not finding.is_serious)[:MOST])


def _shown(text: str) -> str:
    return excerpt(text, EXCERPT)
