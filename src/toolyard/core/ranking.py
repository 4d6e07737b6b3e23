"""Ranks texts by BM25, the best first, and looks only at as many as are asked for.

Texts that have the same words equally often and are equally long have the same score. So sets of
texts are scored, not texts: the set of all matches is cut along the words, then along the lengths,
always where the best score can be. What is not asked for is never cut.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from toolyard.core.masks import Mask

_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_BANDS: Final = 4
_ROUNDING: Final = 1 + 1e-9
"""Keeps a bound above the scores it bounds, whatever the order in which they were added up."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query: how rare it is, and the texts that have it, most often first."""

    rarity: float
    levels: tuple[tuple[float, Mask], ...]
    texts: Mask
    """All of them."""

    def gains(self, weight: float) -> list[float]:
        """Return what the word gives to a text at each level."""
        return [self.rarity * gain_of(times, weight) for times, _ in self.levels]


@dataclass(frozen=True, slots=True)
class Band:
    """Texts of about the same length."""

    texts: Mask
    lengths: tuple[tuple[int, Mask], ...]
    """The shortest first."""


def make_bands(lengths: Mapping[int, Mask]) -> list[Band]:
    """Cut texts into bands of about as many each."""
    counts = {length: lengths[length].bit_count() for length in sorted(lengths)}
    least = sum(counts.values()) / _BANDS
    bands: list[Band] = []
    within: list[tuple[int, Mask]] = []
    size, texts = 0, 0
    for place, (length, count) in enumerate(counts.items(), start=1):
        within.append((length, lengths[length]))
        size, texts = size + count, texts | lengths[length]
        if size >= least or place == len(counts):
            bands.append(Band(texts, tuple(within)))
            within, size, texts = [], 0, 0
    return bands


def weight_of(length: int, mean: float) -> float:
    """The weight that the length of a text has against its words."""
    return 1 - _LENGTH + _LENGTH * length / mean


def gain_of(times: float, weight: float) -> float:
    """Return what a word gives to a text, before its rarity counts."""
    return times * (_SATURATION + 1) / (times + _SATURATION * weight)


class _Node(NamedTuple):
    """Some texts of one band; ordered by the best score that can be among them."""

    negated: float
    """The score, or a bound of it, the sign turned: the heap has the least first."""
    is_scored: bool
    """Of equals, what is not yet scored comes first: it may have texts of the same score."""
    serial: int
    """Of no meaning; keeps what follows from being compared."""
    texts: Mask
    band: int
    times: tuple[float, ...] = ()
    """How often the texts have each of the words they were cut by."""
    gained: float = 0.0
    """The most that these words can give."""


class Ranking:
    """The texts that match a query, in sets of equal score, the best first."""

    def __init__(self, terms: Sequence[Term], bands: Sequence[Band], mean: float) -> None:
        """Rank by these terms; `mean` is the mean length of all texts."""
        self._terms = terms
        self._bands = bands
        self._mean = mean
        # The words that say most come first: they cut off most.
        most = [term.gains(1.0)[0] if term.levels else 0.0 for term in terms]
        self._order = sorted(range(len(terms)), key=lambda place: -most[place])
        self._gains: list[list[list[float]]] = []
        """By band, word and level, the most that the word gives: to the shortest text."""
        self._bounds: list[list[float]] = []
        """By band and number of words, the most that all words after these give."""
        for band in bands:
            weight = weight_of(band.lengths[0][0], mean)
            gains = [terms[place].gains(weight) for place in self._order]
            highest = [levels[0] if levels else 0.0 for levels in gains]
            self._gains.append(gains)
            self._bounds.append([sum(highest[depth:]) for depth in range(len(terms) + 1)])
        self._heap: list[_Node] = []
        self._serial = 0

    def best(self, among: Mask) -> Iterator[Mask]:
        """Yield the matches among some texts."""
        for band, whole in enumerate(self._bands):
            self._push(among & whole.texts, band, (), 0.0)
        while self._heap:
            node = heapq.heappop(self._heap)
            if node.is_scored:
                yield self._with_equals(node)
            elif len(node.times) == len(self._terms):
                self._score(node)
            else:
                self._cut(node)

    def _push(self, texts: Mask, band: int, times: tuple[float, ...], gained: float) -> None:
        if texts:
            bound = (gained + self._bounds[band][len(times)]) * _ROUNDING
            self._serial += 1
            node = _Node(-bound, False, self._serial, texts, band, times, gained)
            heapq.heappush(self._heap, node)

    def _cut(self, node: _Node) -> None:
        """Cut texts by how often they have the next word."""
        depth, rest = len(node.times), node.texts
        term, gains = self._terms[self._order[depth]], self._gains[node.band][depth]
        for (times, having), gain in zip(term.levels, gains, strict=True):
            if texts := rest & having:
                rest ^= texts
                self._push(texts, node.band, (*node.times, times), node.gained + gain)
        self._push(rest, node.band, (*node.times, 0.0), node.gained)

    def _score(self, node: _Node) -> None:
        """Cut texts that have the same words by their lengths; that gives their scores."""
        times_of = dict(zip(self._order, node.times, strict=True))
        for length, having in self._bands[node.band].lengths:
            if texts := node.texts & having:
                weight = weight_of(length, self._mean)
                score = 0.0
                # In the order of the query: sums of fractions depend on it.
                for place, term in enumerate(self._terms):
                    if times := times_of[place]:
                        score += term.rarity * gain_of(times, weight)
                self._serial += 1
                heapq.heappush(self._heap, _Node(-score, True, self._serial, texts, node.band))

    def _with_equals(self, node: _Node) -> Mask:
        """The texts of a node with those of all others of the same score."""
        texts, heap = node.texts, self._heap
        while heap and heap[0].is_scored and heap[0].negated == node.negated:
            texts |= heapq.heappop(heap).texts
        return texts
