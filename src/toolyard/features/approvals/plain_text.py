"""Text as a model reads it and a person does not: without disguises, in plain words.

All of it takes time in proportion to its input.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

INVISIBLE: Final = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c"
    "\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u3164\ufeff\uffa0"
)
"""Characters that take no room, or turn the direction of others."""
TAGS: Final = (0xE0000, 0xE007F)
SELECTORS: Final = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_ALIKE: Final = {
    "a": "аɑ", "c": "сϲ", "e": "еҽ", "o": "оοօ", "p": "рρ", "s": "ѕ", "x": "хχ", "y": "уγү",
    "i": "іιı", "j": "јϳ", "h": "һհ", "d": "ԁ", "q": "ԛգ", "w": "ԝѡա", "b": "Ьƅ", "l": "ӏ",
    "k": "κ",
    "m": "м", "t": "т", "v": "νѵ", "n": "ո", "r": "г", "u": "υս", "A": "АΑ", "B": "ВΒ", "C": "СϹ",
    "E": "ЕΕ", "H": "НΗ", "I": "ІΙӀ", "J": "ЈͿ", "K": "КΚ", "M": "МΜ", "O": "ОΟ", "P": "РΡ",
    "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "ҮΥ", "Z": "Ζ", "N": "Ν", "V": "Ѵ", "L": "Լ", "D": "Ꭰ",
}  # fmt: skip
HOMOGLYPHS: Final = str.maketrans(
    {other: latin for latin, others in _ALIKE.items() for other in others}
)
"""Letters of other scripts that look like Latin ones, and these."""
_UNSEEN: Final = re.compile(
    "["
    + "".join(sorted(INVISIBLE))
    + "".join(f"{chr(first)}-{chr(last)}" for first, last in (TAGS, *SELECTORS))
    + "]+"
)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_WORD: Final = re.compile(
    r"(?:https?://|~/|/|\.{1,2}/|\.(?=[a-z]))[^\s\"'<>()`,;]{1,200}"  # an address, a path
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}"
    r"|[^\W_]+(?:['’][^\W_]+)?|[.!?;:]|\n(?!\s{0,40}[a-z])"
)
_BLOB: Final = re.compile(r"[A-Za-z0-9+/]{40,8192}={0,2}")
_BLOBS: Final = 20
_SPACED: Final = re.compile(r"\b(?:\w[ .\-_*]){4,40}\w\b")
_LEET: Final = str.maketrans("013457@$", "oieastas")
_LONGEST: Final = 100
_ENDS: Final = frozenset(".!?;:\n")


def is_tag(char: str) -> bool:
    """Return whether it is a tag: a copy of an ASCII character that is never shown."""
    return TAGS[0] <= ord(char) <= TAGS[1]


def is_selector(char: str) -> bool:
    """Return whether it selects a variant of the character before it; many can carry data."""
    return any(first <= ord(char) <= last for first, last in SELECTORS)


def hidden_words(text: str) -> str:
    """Return the text that tags and variation selectors carry; empty if there is none."""
    tags = "".join(chr(ord(c) - TAGS[0]) for c in text if is_tag(c))
    data = bytes(_byte(c) for c in text if is_selector(c))
    carried = data.decode("utf-8", "ignore") if len(data) > 3 else ""
    return "".join(c for c in f"{tags} {carried}" if c.isprintable()).strip()


def _byte(selector: str) -> int:
    code = ord(selector)
    return code - SELECTORS[0][0] if code <= SELECTORS[0][1] else code - SELECTORS[1][0] + 16


def unmask(text: str) -> str:
    """Return the text without what hides words from those who look for them."""
    if not text.isascii():
        text = _UNSEEN.sub("", text)
        text = unicodedata.normalize("NFKC", text)
        text = _LETTERS.sub(lambda run: _latin(run.group()), text)
    return text


def _latin(run: str) -> str:
    """A word in Latin letters if it only looks as if it were, and has some of them."""
    if run.isascii() or not any(c.isascii() for c in run):
        return run
    return run.translate(HOMOGLYPHS)


def is_masked(word: str) -> bool:
    """Return whether a word is written in letters of two scripts that look like one."""
    if word.isascii() or len(word) < 3:
        return False
    plain = word.translate(HOMOGLYPHS)
    return plain.isascii() and any(c.isascii() for c in word)


def words_of(text: str) -> str:
    """Return the words of a text in lower case, a blank between them, a line for each sentence."""
    words = (match.group().lower().replace("’", "'") for match in _WORD.finditer(text))
    return " ".join("\n" if word in _ENDS else word[:_LONGEST] for word in words)


def disguised(text: str) -> Iterator[str]:
    """Yield what a text says in disguise: letters set apart, figures for letters, base64."""
    if spaced := _SPACED.findall(text):
        yield " ".join(re.sub(r"[ .\-_*]", "", run) for run in spaced)
        yield _SPACED.sub(lambda run: re.sub(r"[ .\-_*]", "", run.group()), text)
    plain = re.sub(r"\b(?=\w*\d)(?=\w*[a-zA-Z])\w{3,24}\b", _unleet, text)
    if plain != text:
        yield plain
    for blob in _BLOB.findall(text)[:_BLOBS]:
        try:
            decoded = base64.b64decode(blob + "=" * (-len(blob) % 4)).decode("ascii")
        except (binascii.Error, ValueError):
            continue
        if decoded.isprintable():
            yield decoded
    if not text.isascii() and (carried := hidden_words(text)):
        yield carried


def _unleet(word: re.Match[str]) -> str:
    return word.group().translate(_LEET)
