"""Links that open the page."""

from __future__ import annotations

from collections.abc import Callable


class PageLinks:
    """Makes links that open the page in a browser, each of them once."""

    def __init__(self, make: Callable[[], str]) -> None:
        """Give the links that `make` makes; the door of the page knows how."""
        self._make = make

    def new(self) -> str:
        """Return a link that nobody has used."""
        return self._make()
