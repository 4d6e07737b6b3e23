"""Finds the offers that match some words, best first (BM25)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75


def words(text: str) -> list[str]:
    """The words of a text; `listIssues` and `list_issues` have two."""
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


class Index:
    """Texts that can be searched by words; a name counts more than a description."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        self._counts = [Counter(words(name) * 3 + words(text)) for name, text in texts]
        self._lengths = [count.total() for count in self._counts]
        self._mean = (sum(self._lengths) / len(texts)) if texts else 1.0
        self._spread = Counter(word for count in self._counts for word in count)

    def search(self, query: str) -> list[int]:
        """The positions of all texts that match any word, best first; ties keep their order."""
        wanted = words(query)
        scored = [(self._score(i, wanted), i) for i in range(len(self._counts))]
        return [i for score, i in sorted(scored, key=lambda pair: (-pair[0], pair[1])) if score > 0]

    def _score(self, position: int, wanted: list[str]) -> float:
        count, length = self._counts[position], self._lengths[position]
        total = 0.0
        for word in wanted:
            times = count[word] or _partial(count, word)
            if times:
                spread = self._spread[word] or 1
                rarity = math.log(1 + (len(self._counts) - spread + 0.5) / (spread + 0.5))
                weight = _SATURATION * (1 - _LENGTH + _LENGTH * length / (self._mean or 1.0))
                total += rarity * times * (_SATURATION + 1) / (times + weight)
        return total


def _partial(count: Counter[str], word: str) -> float:
    """Half a match for a word that begins another: `issue` finds `issues`."""
    if len(word) < 3:
        return 0.0
    return 0.5 * sum(n for other, n in count.items() if other.startswith(word))
