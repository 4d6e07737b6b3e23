"""Finds the offers that match some words, best first (BM25)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from toolyard.core.errors import ConfigError
from toolyard.core.masks import Mask, make_mask, numbers_in
from toolyard.core.postings import Postings
from toolyard.core.ranking import Band, Ranking, Term, gain_of, make_bands, weight_of
from toolyard.core.shortlist import shortlist

Source = TypeVar("Source")
_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
QUERY_CHARS: Final = 8192
QUERY_WORDS: Final = 32
"""Words of a query that count."""
_REMEMBERED: Final = 256
"""Words of queries whose texts are remembered until a text changes."""
_SCORED: Final = 256
"""Texts that are scored one by one; of more, sets of texts are."""
_MANY_TERMS: Final = 4
"""Words of a query from which on it pays to leave texts out first."""
_SPARE: Final = 1024
"""Slots that may be free without being missed."""


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


@dataclass(frozen=True, slots=True)
class TextGroup(Generic[Source]):
    """Texts that change together, of at most about 64: a group is taken in at one go."""

    key: str
    names: tuple[str, ...]
    sources: tuple[Source, ...]
    """What each text is read from; read only if it is not what it was."""


class Matches(NamedTuple):
    """The positions of the texts that match best, and the number of all that match."""

    places: list[int]
    total: int


class _Segment(Generic[Source]):
    """A group of texts in the index."""

    __slots__ = ("first", "group", "lengths", "slots", "vocabulary")

    def __init__(self, group: TextGroup[Source], slots: range) -> None:
        self.group = group
        self.slots = slots
        self.first = 0
        """The position of the first text among all."""
        self.vocabulary: tuple[str, ...] = ()
        self.lengths: tuple[int, ...] = ()


class Index(Generic[Source]):
    """Texts that can be searched by words; a name counts more than a description.

    A text has a slot for as long as its group does not change. So a change of one group costs
    that group's work, whatever the place of its texts among all others.
    """

    def __init__(self, read: Callable[[Source], str]) -> None:
        """Begin with no text; `read` gives the text of a source."""
        self._read = read
        self._begin()

    def _begin(self) -> None:
        self._segments: dict[tuple[str, int], _Segment[Source]] = {}
        """By the key of their group, and its number among the groups of that key."""
        self._postings = Postings()
        self._lengths: dict[int, Mask] = {}
        """The slots of all texts, by their lengths."""
        self._owners: list[_Segment[Source] | None] = []
        """By slot."""
        self._length_of: list[int] = []
        """By slot."""
        self._free: dict[int, list[range]] = {}
        """Slots that groups have left, by how many there are in a row."""
        self._order: list[_Segment[Source]] = []
        self._bands: list[Band] = []
        self._mean = 1.0
        self._size = 0
        self._remembered: dict[str, Term] = {}

    def follow(self, groups: Sequence[TextGroup[Source]]) -> Iterator[None]:
        """Become the index of these texts, one changed group at each step.

        Until the last step is done, there is nothing to be searched. Whoever stops before it may
        begin again, with other texts, too.
        """
        if len(self._owners) > 2 * sum(len(group.names) for group in groups) + _SPARE:
            self._begin()
        wanted = _numbered(groups)
        for key, segment in list(self._segments.items()):
            if key not in wanted or not _is_same(segment.group, wanted[key]):
                self._remove(key)
                yield
        for key, group in wanted.items():
            if key not in self._segments:
                self._add(key, group)
                yield
        self._arrange([self._segments[key] for key in wanted])

    def search(self, query: str, most: int | None = None, key: str = "") -> Matches:
        """Find the texts that match any word, best first; ties keep their order.

        Args:
            most: How many are wanted; all without.
            key: Only texts of the groups with this key; all if empty.
        """
        asked = islice(dict.fromkeys(words(query)), QUERY_WORDS)
        terms = [term for word in asked if (term := self._term(word)).texts]
        among = 0
        for term in terms:
            among |= term.texts
        if key:
            among &= self._texts_of(key)
        total = among.bit_count()
        left = total if most is None else min(most, total)
        return Matches(self._best(terms, among, left), total)

    def _best(self, terms: Sequence[Term], among: Mask, most: int) -> list[int]:
        """The positions of the best matches; there are as many."""
        if not most:
            return []
        if len(terms) >= _MANY_TERMS and most <= _SCORED and among.bit_count() > _SCORED:
            last = partial(self._score_of_last, terms, most)
            among = shortlist(terms, self._bands, self._mean, among, most, last)
        if most > _SCORED or among.bit_count() <= _SCORED:
            scores = self._scores(terms, among)
            in_order = sorted((-score, self._place(slot)) for slot, score in scores.items())
            return [place for _, place in in_order[:most]]
        places: list[int] = []
        ranking = Ranking(terms, self._bands, self._mean).best(among)
        while len(places) < most:
            places += islice(self._places_in(next(ranking)), most - len(places))
        return places

    def _score_of_last(self, terms: Sequence[Term], most: int, texts: Mask) -> float:
        """The score of the last of the best among some texts; of very many, any will do."""
        slots = islice(numbers_in(texts), 2 * most)
        scores = self._scores(terms, make_mask(slots, texts.bit_length()))
        return sorted(scores.values(), reverse=True)[most - 1]

    def _scores(self, terms: Sequence[Term], among: Mask) -> dict[int, float]:
        """The scores of texts, by slot."""
        scores: dict[int, float] = {}
        for term in terms:
            for times, having in term.levels:
                gains: dict[int, float] = {}
                for slot in numbers_in(having & among):
                    length = self._length_of[slot]
                    gain = gains.get(length)
                    if gain is None:
                        weight = weight_of(length, self._mean)
                        gain = gains[length] = term.rarity * gain_of(times, weight)
                    scores[slot] = scores.get(slot, 0.0) + gain
        return scores

    def _term(self, word: str) -> Term:
        term = self._remembered.get(word)
        if term is None:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            term = self._remembered[word] = self._look_up(word)
        return term

    def _look_up(self, word: str) -> Term:
        """Find the texts of a word; one that goes on (`issue`, `issues`) counts half."""
        levels = dict(self._postings.exact(word))
        exact = 0
        for mask in levels.values():
            exact |= mask
        texts = exact
        for times, mask in self._postings.begun(word).items():
            if only := mask & ~exact:
                levels[times] = levels.get(times, 0) | only
                texts |= only
        spread = exact.bit_count() or 1
        rarity = math.log(1 + (self._size - spread + 0.5) / (spread + 0.5))
        return Term(rarity, tuple(sorted(levels.items(), reverse=True)), texts)

    def _texts_of(self, key: str) -> Mask:
        texts = 0
        for segment in self._order:
            if segment.group.key == key:
                texts |= _mask_of(segment.slots)
        return texts

    def _places_in(self, texts: Mask) -> Iterator[int]:
        """The positions of texts, in order."""
        if texts.bit_count() <= len(self._order):
            yield from sorted(map(self._place, numbers_in(texts)))
            return
        for segment in self._order:
            theirs = (texts >> segment.slots.start) & ((1 << len(segment.slots)) - 1)
            for number in numbers_in(theirs):
                yield segment.first + number

    def _place(self, slot: int) -> int:
        segment = self._owners[slot]
        assert segment is not None  # a slot without a text is in no mask
        return segment.first + slot - segment.slots.start

    def _add(self, key: tuple[str, int], group: TextGroup[Source]) -> None:
        segment = _Segment(group, self._take_slots(len(group.names)))
        found: dict[str, dict[int, int]] = {}
        lengths = []
        for number, (name, source) in enumerate(zip(group.names, group.sources, strict=True)):
            count = Counter(words(name) * 3 + words(self._read(source)))
            lengths.append(count.total())
            for word, times in count.items():
                found.setdefault(word, {})[number] = times
        self._postings.add(segment.slots.start, found)
        segment.vocabulary, segment.lengths = tuple(found), tuple(lengths)
        for slot, length in zip(segment.slots, lengths, strict=True):
            self._owners[slot], self._length_of[slot] = segment, length
            self._lengths[length] = self._lengths.get(length, 0) | 1 << slot
        self._segments[key] = segment

    def _remove(self, key: tuple[str, int]) -> None:
        segment = self._segments.pop(key)
        self._postings.remove(segment.slots, segment.vocabulary)
        for slot, length in zip(segment.slots, segment.lengths, strict=True):
            self._owners[slot] = None
            self._lengths[length] ^= 1 << slot
            if not self._lengths[length]:
                del self._lengths[length]
        self._free.setdefault(len(segment.slots), []).append(segment.slots)

    def _take_slots(self, size: int) -> range:
        if free := self._free.get(size):
            return free.pop()
        start = len(self._owners)
        self._owners += [None] * size
        self._length_of += [0] * size
        return range(start, start + size)

    def _arrange(self, order: list[_Segment[Source]]) -> None:
        """Count anew what depends on all texts."""
        self._order, self._size, total = order, 0, 0
        for segment in order:
            segment.first = self._size
            self._size += len(segment.slots)
            total += sum(segment.lengths)
        self._mean = (total / self._size if self._size else 1.0) or 1.0
        self._bands = make_bands(self._lengths)
        self._remembered.clear()


def search_texts(texts: Sequence[tuple[str, str]], query: str) -> list[int]:
    """Find the texts that match a query, once: their positions, best first."""
    index = Index[str](str)
    names, sources = tuple(name for name, _ in texts), tuple(text for _, text in texts)
    for _ in index.follow([TextGroup("", names, sources)]):
        pass
    return index.search(query).places


def _numbered(
    groups: Sequence[TextGroup[Source]],
) -> dict[tuple[str, int], TextGroup[Source]]:
    counts: Counter[str] = Counter()
    numbered = {}
    for group in groups:
        numbered[group.key, counts[group.key]] = group
        counts[group.key] += 1
    return numbered


def _is_same(group: TextGroup[Source], other: TextGroup[Source]) -> bool:
    return group.names == other.names and group.sources == other.sources


def _mask_of(slots: range) -> Mask:
    return ((1 << len(slots)) - 1) << slots.start
