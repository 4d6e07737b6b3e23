"""What a team agreed on: which servers, how they are started, and which tools they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Locked:
    """One server of a lock file; hashes are those of `core.pins`."""

    launch: str
    tools: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    """Which package it is, with its version, where that is known."""
    release: str = ""
    """The version that the server itself tells."""


Lock = Mapping[str, Locked]
"""Servers by their full names, `name@source`."""


def compare(lock: Lock, now: Lock) -> tuple[str, ...]:
    """Every difference between what was locked and what is there, as a sentence."""
    found = [f"{name}: is not there" for name in lock if name not in now]
    found += [f"{name}: is not in the lock file" for name in now if name not in lock]
    for name in lock:
        if name in now:
            found += [f"{name}: {text}" for text in _compare(lock[name], now[name])]
    return tuple(sorted(found))


def _compare(lock: Locked, now: Locked) -> Iterator[str]:
    if lock.launch != now.launch:
        yield "is started in another way"
    for word, was, is_ in (
        ("package", lock.package, now.package),
        ("version", lock.release, now.release),
    ):
        if was != is_:
            yield f"{word} is {is_ or 'unknown'}, locked is {was or 'none'}"
    for tool in sorted({*lock.tools, *now.tools}):
        if tool not in now.tools:
            yield f"tool {tool!r} is missing"
        elif tool not in lock.tools:
            yield f"tool {tool!r} is new"
        elif lock.tools[tool] != now.tools[tool]:
            yield f"tool {tool!r} has changed"
