"""Leaves out texts that cannot be among the best, without scoring one of them.

A bound of every text's score is counted at once, as in a column of numbers: the first mask has the
lowest bit of all bounds, the second the next, and so on. What that costs depends on the words of
the query, and hardly on the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final

from toolyard.core.masks import Mask
from toolyard.core.ranking import Band, Term, weight_of

_STEPS: Final = 1000
"""Steps from nothing to the highest bound; more would tell texts apart no better."""
_ROUNDING: Final = 1 - 1e-9

Planes = list[Mask]
"""The bounds of all texts, bit by bit, the lowest first."""


def shortlist(
    terms: Sequence[Term],
    bands: Sequence[Band],
    mean: float,
    among: Mask,
    most: int,
    score_of_last: Callable[[Mask], float],
) -> Mask:
    """Return the texts that can be among the best; `most` are wanted, and there are as many.

    `score_of_last` returns a score that at least `most` of the given texts have.
    """
    shortest = weight_of(bands[0].lengths[0][0], mean)
    unit = sum(term.gains(shortest)[0] for term in terms) / _STEPS
    planes = _bounds(terms, bands, mean, among, unit)
    least = score_of_last(_highest(planes, among, most))
    return _at_least(planes, among, int(least / unit * _ROUNDING))


def _bounds(
    terms: Sequence[Term], bands: Sequence[Band], mean: float, among: Mask, unit: float
) -> Planes:
    planes: Planes = []
    for band in bands:
        texts, weight = among & band.texts, weight_of(band.lengths[0][0], mean)
        for term in terms if texts else ():
            for (_, having), gain in zip(term.levels, term.gains(weight), strict=True):
                if both := texts & having:
                    _add(planes, ceil(gain / unit), both)
    return planes


def _add(planes: Planes, number: int, texts: Mask) -> None:
    """Add a number to the bounds of some texts."""
    place, carry = 0, 0
    while number or carry:
        if place == len(planes):
            planes.append(0)
        plane = planes[place]
        if number & 1:
            planes[place], carry = plane ^ texts ^ carry, plane & texts | carry
        else:
            planes[place], carry = plane ^ carry, plane & carry
        number, place = number >> 1, place + 1


def _highest(planes: Planes, among: Mask, most: int) -> Mask:
    """At least `most` texts, none of the others with a higher bound."""
    above, equal = 0, among
    for plane in reversed(planes):
        high = equal & plane
        if (above | high).bit_count() >= most:
            equal = high
        else:
            above, equal = above | high, equal ^ high
    return above | equal


def _at_least(planes: Planes, among: Mask, number: int) -> Mask:
    """The texts whose bounds are at least this number."""
    if number >> len(planes):
        return 0
    above, equal = 0, among
    for place in reversed(range(len(planes))):
        high = equal & planes[place]
        if number >> place & 1:
            equal = high
        else:
            above, equal = above | high, equal ^ high
    return above | equal
