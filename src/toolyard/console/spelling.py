"""Our commands in hints, spelled as they can be typed where they are read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolyard.installation import NAME


class Spelling:
    """Writes `toolyard COMMAND` with the words that start this Toolyard."""

    def __init__(self, command: str = NAME, names: Iterable[str] = ()) -> None:
        """Spell the commands of these names with `command` in place of `toolyard`."""
        self._command = command
        self._names = tuple(names)

    def fit(self, text: str) -> str:
        """Return a text with our commands as they can be typed."""
        if self._command == NAME:
            return text
        names = "|".join(map(re.escape, self._names))
        pattern = rf"(?<![\w./-]){NAME}(?= (?:{names})\b)"
        return re.sub(pattern, lambda _: self._command, text)
