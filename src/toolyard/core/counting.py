"""Numbers of things, as people read them."""

from __future__ import annotations


def counted(count: int, noun: str, verb: str = "") -> str:
    """Return a number with its noun, and a verb that agrees: 1 server runs, 2 servers run."""
    is_one = count == 1
    words = [str(count), noun if is_one else f"{noun}s"]
    if verb:
        words.append(f"{verb}s" if is_one else verb)
    return " ".join(words)
