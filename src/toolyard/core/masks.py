"""Sets of small numbers as the bits of one integer: joined, cut and counted at the speed of C."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

Mask = int
_FEW: Final = 8
"""Numbers that are picked out one by one; of more, the whole mask is read as text."""


def make_mask(numbers: Iterable[int], end: int) -> Mask:
    """The set of these numbers, all below `end`."""
    data = bytearray((end + 7) // 8)
    for number in numbers:
        data[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(data, "little")


def numbers_in(mask: Mask) -> Iterator[int]:
    """The numbers of a set, in order."""
    if mask.bit_count() > _FEW:
        yield from _read(mask)
        return
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _read(mask: Mask) -> Iterator[int]:
    bits = f"{mask:b}"[::-1]
    place = bits.find("1")
    while place >= 0:
        yield place
        place = bits.find("1", place + 1)
