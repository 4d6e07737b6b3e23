"""How many examples of a property are tried, by the profile that is loaded."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

USUAL: Final = 100


def examples(number: int) -> settings:
    """Try so many where the profile tries a hundred, and in proportion where it tries fewer."""
    return settings(max_examples=max(1, number * settings().max_examples // USUAL))
