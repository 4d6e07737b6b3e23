"""Names and values as they are given with options such as `-e` and `-H`."""

from __future__ import annotations

from collections.abc import Sequence

import click


def read_pairs(words: Sequence[str], mark: str, flag: str) -> dict[str, str]:
    """Read each word as a name and a value with a mark between them.

    Raises:
        UsageError: A word has no name or no mark.
    """
    pairs = {}
    for word in words:
        name, is_marked, value = word.partition(mark)
        if not is_marked or not name.strip():
            # The word may hold a secret, so it is not shown.
            form = "'NAME: value'" if mark == ":" else "NAME=value"
            raise click.UsageError(f"{flag} must be given as {form}")
        pairs[name.strip()] = value.strip() if mark == ":" else value
    return pairs
