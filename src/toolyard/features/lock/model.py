"""The differences between what a team agreed on and what is there."""

from __future__ import annotations

from collections.abc import Iterator

from toolyard.core.locks import Lock, Locked
from toolyard.core.model import Part


def compare(lock: Lock, now: Lock) -> tuple[str, ...]:
    """Return every difference between what was locked and what is there, as a sentence."""
    sentences = [f"{name}: is not there" for name in lock if name not in now]
    sentences += [f"{name}: is not in the lock file" for name in now if name not in lock]
    for name in lock:
        if name in now:
            sentences += [f"{name}: {text}" for text in _compare(lock[name], now[name])]
    return tuple(sorted(sentences))


def _compare(lock: Locked, now: Locked) -> Iterator[str]:
    if lock.launch != now.launch:
        yield "is started in another way"
    for word, was, is_ in (
        ("package", lock.package, now.package),
        ("version", lock.release, now.release),
    ):
        if was != is_:
            yield f"{word} is {is_ or 'unknown'}, locked is {was or 'none'}"
    for part in sorted({*lock.parts, *now.parts}):
        if part[0] in lock.kinds and (how := _difference(lock, now, part)):
            yield f"{_spell(part)} {how}"


def _difference(lock: Locked, now: Locked, part: Part) -> str:
    if part not in now.parts:
        return "is missing"
    if part not in lock.parts:
        return "is new"
    marks = now.also.get(part) or (now.parts[part],)
    return "" if lock.parts[part] in marks else "has changed"


def _spell(part: Part) -> str:
    kind, key = part
    return f"{kind.removesuffix('s')} {key!r}" if key else "what it says of itself"
