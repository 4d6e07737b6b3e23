"""The search as it was before its index: every match is scored. Slow, plain, and always right."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from toolyard.core.search import QUERY_WORDS, words

PREFIX: Final = 3
SATURATION: Final = 1.2
LENGTH: Final = 0.75


class LinearIndex:
    """Texts that can be searched by words; a name counts more than a description."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        self._places: dict[str, dict[int, int]] = {}
        """In which texts each word stands, and how often."""
        self._lengths = []
        for place, (name, text) in enumerate(texts):
            count = Counter(words(name) * 3 + words(text))
            self._lengths.append(count.total())
            for word, times in count.items():
                self._places.setdefault(word, {})[place] = times
        self._mean = (sum(self._lengths) / len(texts) if texts else 1.0) or 1.0
        self._vocabulary = sorted(self._places)

    def search(self, query: str) -> list[int]:
        """The positions of all texts that match any word, best first; ties keep their order."""
        scores: dict[int, float] = {}
        for word in islice(dict.fromkeys(words(query)), QUERY_WORDS):
            spread = len(self._places.get(word, ())) or 1
            rarity = math.log(1 + (len(self._lengths) - spread + 0.5) / (spread + 0.5))
            for place, times in self._matches(word).items():
                weight = 1 - LENGTH + LENGTH * self._lengths[place] / self._mean
                gain = times * (SATURATION + 1) / (times + SATURATION * weight)
                scores[place] = scores.get(place, 0.0) + rarity * gain
        return sorted(scores, key=lambda place: (-scores[place], place))

    def _matches(self, word: str) -> dict[int, float]:
        """Count a word in each text; one that goes on (`issue`, `issues`) counts half."""
        exact = self._places.get(word, {})
        matches: dict[int, float] = dict(exact)
        for longer in self._longer(word):
            for place, times in self._places[longer].items():
                if place not in exact:
                    matches[place] = matches.get(place, 0.0) + times / 2
        return matches

    def _longer(self, word: str) -> Iterator[str]:
        """The words that begin with this one."""
        if len(word) < PREFIX:
            return iter(())
        vocabulary = self._vocabulary
        after = (
            vocabulary[place] for place in range(bisect_right(vocabulary, word), len(vocabulary))
        )
        return takewhile(lambda other: other.startswith(word), after)
