"""A hub whose doors have opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolyard.core.model import Problem


@dataclass(frozen=True, slots=True)
class OpenedHub:
    """All that the hub's own terminal tells of it at the start, so that nobody asks its doors."""

    url: str
    link: str
    """Opens its page in a browser, once."""
    problems: tuple[Problem, ...] = ()
