"""Names that people gave: of packages, images, models, flags and files, with digits in them or not.

A name is made of words. Each is short, can be pronounced more or less, and holds one number at most
(`k8s`, `oauth2`, `text2sql`); a key is not made that way. Where there is doubt it is no name,
because a name that is hidden costs less than a key that is shown.
"""

from __future__ import annotations

import re
from typing import Final

CHECKSUM: Final = r"sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}"
"""A pattern: with it the name of an image says which content is meant."""
_BETWEEN_WORDS: Final = re.compile(rf"{CHECKSUM}|[-_./@:=+~^#<>()\[\]%!*|&?]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d{1,12}(?:[xT]\d{1,5})?")
_VERSION: Final = re.compile(r"[vr]?\d{1,4}(?:a|b|rc|alpha|beta|dev|post)\d{1,8}", re.IGNORECASE)
_WORD: Final = re.compile(r"([A-Za-z]{0,24})\d{0,4}([A-Za-z]{0,24})")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of `camelCase`."""
_UNSPEAKABLE: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}|[jqvxz]{2}")
_VOWEL: Final = re.compile(r"[aeiouy]")
LONGEST_ACRONYM: Final = 8


def is_readable_name(text: str) -> bool:
    """Tell whether a text is made of words and numbers, as names are."""
    if _UUID.fullmatch(text):
        return False
    return all(map(_is_word, filter(None, _BETWEEN_WORDS.split(text))))


def _is_word(piece: str) -> bool:
    if _NUMBER.fullmatch(piece) or _VERSION.fullmatch(piece):
        return True
    match = _WORD.fullmatch(piece)
    return match is not None and all(map(_is_speakable, filter(None, match.groups())))


def _is_speakable(letters: str) -> bool:
    humps = _HUMP.findall(letters)
    return len(humps) * 4 <= len(letters) + 3 and all(map(_is_syllables, humps))


def _is_syllables(letters: str) -> bool:
    spoken = letters.lower().replace("mcp", "")  # is in half of the names, and has no vowel
    if _UNSPEAKABLE.search(spoken) or (letters.isupper() and len(letters) > LONGEST_ACRONYM):
        return False
    return len(spoken) < 5 or len(_VOWEL.findall(spoken)) * 6 >= len(spoken)
