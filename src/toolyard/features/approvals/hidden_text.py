"""Finds characters that a person does not see, or takes for others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolyard.features.approvals.model import visible
from toolyard.features.approvals.plain_text import (
    INVISIBLE,
    hidden_words,
    is_masked,
    is_selector,
    is_tag,
)

_OVERRIDES: Final = frozenset("\u202d\u202e")
_TURNS: Final = frozenset("\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_DIRECTION_MARKS: Final = frozenset("\u061c\u200e\u200f")
_TURNING: Final = _OVERRIDES | _TURNS | _DIRECTION_MARKS
_JOINERS: Final = frozenset("\u200c\u200d")
_FLAG: Final = "\U0001f3f4"
"""The black flag: with tags after it, it is the flag of a region."""
_CANCEL: Final = "\U000e007f"
_KEYCAPS: Final = frozenset("0123456789")
_MANY: Final = 3
_ESCAPE: Final = "\x1b"
_PADDING: Final = re.compile(r"[^\S\n]{120}|(?:\n[^\S\n]{0,40}){25}")
"""So much room that what comes after it is out of sight."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Hidden(NamedTuple):
    """A disguise that was found: how bad it is, the words it is about, and what it is."""

    is_serious: bool
    text: str
    why: str


def find_hidden(text: str) -> Iterator[Hidden]:
    """Yield what of a text is not seen, or is taken for something else."""
    if (padding := _PADDING.search(text)) and text[padding.end() :].strip():
        yield Hidden(True, text[padding.end() :].strip(), "words far out of sight, after blanks")
    if controls := _CONTROLS.findall(text):
        is_escape = _ESCAPE in controls
        why = "control characters that can hide text on a terminal" if is_escape else "controls"
        yield Hidden(is_escape, text, why)
    if text.isascii():
        return
    yield from _find_carried(text)
    yield from _find_turned(text)
    yield from _find_invisible(text)
    for word in _LETTERS.findall(text):
        if is_masked(word):
            yield Hidden(True, word, f"letters of another script in {_spelled(word)}")


def _spelled(word: str) -> str:
    names = {f"{c} (U+{ord(c):04X})" for c in word if not c.isascii()}
    return f"{word!r}: {', '.join(sorted(names))}"


def _find_carried(text: str) -> Iterator[Hidden]:
    """Yield data in tags and variation selectors, which are never shown."""
    if any(map(is_tag, text)) and _has_loose_tags(text):
        yield Hidden(True, hidden_words(text) or text, "text in characters that are never shown")
    elif any(_selects_nothing(text, at) for at, char in enumerate(text) if is_selector(char)):
        why = "variation selectors that select nothing, and can carry text"
        yield Hidden(True, hidden_words(text) or text, why)


def _has_loose_tags(text: str) -> bool:
    """Return whether there are tags that are not of a region's flag."""
    in_flag, count = False, 0
    for char in text:
        if is_tag(char):
            count += 1
            if not in_flag or count > 7:
                return True
            in_flag = char != _CANCEL
        else:
            in_flag, count = char == _FLAG, 0
    return False


def _selects_nothing(text: str, at: int) -> bool:
    if at == 0:
        return True
    base = text[at - 1]
    if is_selector(base):
        return True
    if ord(text[at]) <= 0xFE0F:  # of a symbol, also `1` with a key around it
        return base == " " or (base.isascii() and base.isalnum() and base not in _KEYCAPS)
    return unicodedata.category(base) != "Lo"


def _find_turned(text: str) -> Iterator[Hidden]:
    """Yield characters that make a text read otherwise than it is."""
    if not _OVERRIDES.isdisjoint(text):
        yield Hidden(True, text, "the order of letters is turned around")
    is_mixed = any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)
    if not _TURNS.isdisjoint(text) and not is_mixed:
        yield Hidden(True, text, "changes of direction in a text that has only one")
    elif not _DIRECTION_MARKS.isdisjoint(text) and not is_mixed:
        yield Hidden(False, text, "marks of direction in a text that has only one")


def _find_invisible(text: str) -> Iterator[Hidden]:
    places = [at for at, char in enumerate(text) if _is_out_of_place(text, at, char)]
    if not places:
        return
    inside = any(_is_latin(text, at - 1) and _is_latin(text, at + 1) for at in places)
    is_serious = inside or len(places) >= _MANY
    why = f"{len(places)} character{'s' * (len(places) > 1)} without width"
    yield Hidden(is_serious, text[max(0, places[0] - 40) :], why)


def _is_out_of_place(text: str, at: int, char: str) -> bool:
    if char not in INVISIBLE or char in _TURNING:
        return False
    if char == "\ufeff" and at == 0:
        return False  # the mark of a file's beginning
    if char not in _JOINERS:
        return True
    # Emoji are joined by them, and letters of scripts such as Persian or Hindi.
    around = (text[at - 1 : at] + text[at + 1 : at + 2]).strip()
    return not around or any(other.isascii() for other in around)


def _is_latin(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isascii() and text[at].isalnum()


def excerpt(text: str, most: int) -> str:
    """Return the beginning of a text with every invisible character spelled out."""
    shown = visible(text[:most])
    return shown if len(shown) <= most and len(text) <= most else f"{shown[:most]}…"
