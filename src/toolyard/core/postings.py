"""The postings of an inverted index: for each word, the texts it stands in, and how often."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Final

from toolyard.core.masks import Mask, make_mask

_PREFIX: Final = 3
"""Letters that say enough of how a word goes on."""
_FEW: Final = 32
"""Texts of a word that are kept one by one; of more, as masks, which take more room and no time."""

Levels = dict[float, Mask]
"""The texts in which something stands, by how often it does; no text is at two levels."""


class _Posting:
    """The texts that one word stands in."""

    __slots__ = ("few", "levels")

    def __init__(self) -> None:
        self.few: dict[int, int] | None = {}
        """How often, by slot; None once the texts are many."""
        self.levels: Levels = {}

    def add(self, base: int, times_of: Mapping[int, int]) -> None:
        if self.few is not None:
            for number, times in times_of.items():
                self.few[base + number] = times
            if len(self.few) > _FEW:
                self.levels, self.few = _levels_of(self.few), None
            return
        local: Levels = {}
        for number, times in times_of.items():
            local[times] = local.get(times, 0) | 1 << number
        for level, mask in local.items():
            self.levels[level] = self.levels.get(level, 0) | mask << base

    def remove(self, slots: range, everywhere_else: Mask) -> None:
        if self.few is not None:
            self.few = {slot: times for slot, times in self.few.items() if slot not in slots}
            return
        remaining = {times: mask & everywhere_else for times, mask in self.levels.items()}
        self.levels = {times: mask for times, mask in remaining.items() if mask}

    def as_levels(self) -> Levels:
        return self.levels if self.few is None else _levels_of(self.few)

    def __bool__(self) -> bool:
        return bool(self.few or self.levels)


class Postings:
    """All words of all texts; a text is known by its slot."""

    def __init__(self) -> None:
        self._of: dict[str, _Posting] = {}
        self._vocabulary: list[str] = []
        """Every word, sorted."""

    def add(self, base: int, found: Mapping[str, Mapping[int, int]]) -> None:
        """Take in the words of some texts: how often each stands in which, counted from `base`."""
        unknown = [word for word in found if word not in self._of]
        if len(unknown) > len(self._vocabulary) // 8:
            self._vocabulary = sorted([*self._vocabulary, *unknown])
        else:
            for word in unknown:
                insort(self._vocabulary, word)
        for word in unknown:
            self._of[word] = _Posting()
        for word, times_of in found.items():
            self._of[word].add(base, times_of)

    def remove(self, slots: range, words: Iterable[str]) -> None:
        """Forget the texts of these slots; `words` are all that stand in them."""
        everywhere_else = ~(((1 << len(slots)) - 1) << slots.start)
        for word in words:
            self._of[word].remove(slots, everywhere_else)
            if not self._of[word]:
                del self._of[word]
                del self._vocabulary[bisect_left(self._vocabulary, word)]

    def exact(self, word: str) -> Levels:
        """The texts that a word itself stands in."""
        posting = self._of.get(word)
        return posting.as_levels() if posting is not None else {}

    def begun(self, word: str) -> Levels:
        """The texts with words that begin with this one and go on; each of those counts half."""
        halves: dict[int, float] = {}
        sums: Levels = {}
        for longer in self._longer(word):
            posting = self._of[longer]
            if posting.few is None:
                sums = _add_halves(sums, posting.levels)
                continue
            for slot, times in posting.few.items():
                halves[slot] = halves.get(slot, 0.0) + times
        return _add_halves(sums, _levels_of(halves)) if halves else sums

    def _longer(self, word: str) -> Iterator[str]:
        if len(word) < _PREFIX:
            return iter(())
        vocabulary = self._vocabulary
        first = bisect_right(vocabulary, word)
        after = (vocabulary[place] for place in range(first, len(vocabulary)))
        return takewhile(lambda other: other.startswith(word), after)


def _levels_of(times_of: Mapping[int, float]) -> Levels:
    slots_at: dict[float, list[int]] = {}
    for slot, times in times_of.items():
        slots_at.setdefault(times, []).append(slot)
    return {times: make_mask(slots, max(slots) + 1) for times, slots in slots_at.items()}


def _add_halves(sums: Levels, levels: Levels) -> Levels:
    """Each text's sum with half of what it has in `levels`; sums of halves are exact."""
    added: Levels = {}
    remaining = dict(levels)
    for total, mask in sums.items():
        rest = mask
        for times, other in levels.items():
            if both := rest & other:
                added[total + times / 2] = added.get(total + times / 2, 0) | both
                remaining[times] ^= both
                rest ^= both
        if rest:
            added[total] = added.get(total, 0) | rest
    for times, mask in remaining.items():
        if mask:
            added[times / 2] = added.get(times / 2, 0) | mask
    return added
