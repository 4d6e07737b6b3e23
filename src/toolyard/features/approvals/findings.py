"""Findings: what in the words of a server a person should look at before a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

EXCERPT: Final = 160
"""Characters of a text that a finding quotes."""


class FindingKind(StrEnum):
    """The kinds of findings."""

    HIDDEN = "hidden-text"
    """Characters that a person does not see, or takes for others."""
    INSTRUCTION = "instruction"
    """Words that give a model orders, in place of describing something."""
    LOOK_ALIKE = "look-alike"
    """A name that is easily taken for another."""
    OTHER_TOOL = "other-tool"
    """Words about tools that are not the server's own."""


@dataclass(frozen=True, slots=True)
class TextFinding:
    """One thing in the words of a part that a person should look at."""

    kind: FindingKind
    is_serious: bool
    """No honest server is expected to have it: what is new with it waits for approval."""
    path: str
    """The field it is in."""
    text: str
    """The words it is about, with nothing invisible in them."""
    why: str
