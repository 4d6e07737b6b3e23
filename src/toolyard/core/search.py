"""Finds the offers that match some words, best first (BM25)."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from toolyard.core.errors import ConfigError

_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
QUERY_CHARS: Final = 8192
QUERY_WORDS: Final = 32
"""Words of a query that count: each is compared with every word of every text."""
_PREFIX: Final = 3
"""Letters that say enough of how a word goes on."""
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75


def words(text: str) -> list[str]:
    """The words of a text; `listIssues` and `list_issues` have two."""
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def check_query(query: str) -> None:
    """Refuse words to search for that are too many.

    Raises:
        ConfigError: They are.
    """
    if len(query) > QUERY_CHARS:
        text = f"a query has at most {QUERY_CHARS} characters; this one has {len(query)}"
        raise ConfigError(text, "search for a few words")


class Index:
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
                weight = 1 - _LENGTH + _LENGTH * self._lengths[place] / self._mean
                gain = times * (_SATURATION + 1) / (times + _SATURATION * weight)
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
        if len(word) < _PREFIX:
            return iter(())
        vocabulary = self._vocabulary
        after = (
            vocabulary[place] for place in range(bisect_right(vocabulary, word), len(vocabulary))
        )
        return takewhile(lambda other: other.startswith(word), after)
