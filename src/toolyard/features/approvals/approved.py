"""Approved parts of servers as values: how they are made, and what is told of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.model import Part
from toolyard.core.parts import LOOSE, loose_hash, part_hash, words_hash

TURNS: Final = 2
"""Returns to an earlier text after which a part is called restless."""
TEXTS: Final = 4
"""Other texts since the approval after which it is, too."""
RESOURCES: Final = 2000
"""Resources of one server that are remembered; beyond that those that are gone are forgotten."""
UNSEEN: Final = 0.0
"""In place of a time: listed because it was new, and nobody has looked."""


@dataclass(slots=True)
class PartApproval:
    """The approval of one part, and the texts that were seen since."""

    mark: str
    is_seen: bool = True
    """Somebody looked at it, or it was there first; else it is listed because it is new."""
    last: str = ""
    words: tuple[str, ...] = ()
    turns: int = 0

    @property
    def is_restless(self) -> bool:
        """True if its text changes again and again, and nobody said that it may."""
        often = self.turns >= TURNS or len(self.words) > TEXTS
        return often and not self.mark.startswith(LOOSE)

    def turned(self, mark: str, words: str) -> PartApproval:
        """Return the same after another text was seen."""
        is_back = words in self.words
        texts = self.words if is_back else (*self.words, words)[-2 * TEXTS :]
        return PartApproval(self.mark, self.is_seen, mark, texts, self.turns + is_back)


@dataclass(slots=True)
class ServerApprovals:
    """The approved parts of one server."""

    parts: dict[Part, PartApproval] = field(default_factory=dict)

    @property
    def marks(self) -> dict[Part, str]:
        """The mark of each part as it was approved."""
        return {part: approval.mark for part, approval in self.parts.items()}

    @property
    def unseen(self) -> frozenset[Part]:
        """The parts that came later and are listed, though nobody has looked at them yet."""
        return frozenset(part for part, approval in self.parts.items() if not approval.is_seen)

    @property
    def restless(self) -> frozenset[Part]:
        """The parts whose text changes again and again."""
        return frozenset(part for part, approval in self.parts.items() if approval.is_restless)

    @property
    def loose(self) -> frozenset[Part]:
        """The parts of which any text was approved."""
        approvals = self.parts.items()
        return frozenset(part for part, approval in approvals if approval.mark.startswith(LOOSE))

    @property
    def has_offers(self) -> bool:
        """True if it was ever seen to offer something."""
        return any(kind != "instructions" for kind, _ in self.parts)


def approved_now(
    parts: Mapping[Part, bytes], before: Mapping[Part, PartApproval], loose: Collection[Part] = ()
) -> dict[Part, PartApproval]:
    """Return approvals of parts as they are; descriptions of what is `loose` may change."""
    approvals = {}
    for part, raw in few_resources(parts).items():
        mark = (loose_hash if part in loose else part_hash)(part, raw)
        turns = before[part].turns if part in before and part not in loose else 0
        text = part_hash(part, raw)
        approvals[part] = PartApproval(mark, True, text, (words_hash(raw),), turns)
    return approvals


def listed_as_new(
    parts: Mapping[Part, bytes], before: Mapping[Part, PartApproval], offered: Collection[Part]
) -> tuple[dict[Part, PartApproval], list[Part]]:
    """Return approvals of parts that came later, and the parts to forget for them.

    Of resources, which some servers have ever new ones of, those that are not offered any more
    are forgotten when there are too many.
    """
    resources = [part for part in before if part[0] == "resources"]
    gone = []
    if len(resources) + sum(part[0] == "resources" for part in parts) > RESOURCES:
        gone = [part for part in resources if part not in offered]
    approvals = {}
    for part, raw in few_resources(parts, RESOURCES - len(resources) + len(gone)).items():
        mark = part_hash(part, raw)
        approvals[part] = PartApproval(mark, False, mark, (words_hash(raw),))
    return approvals, gone


def few_resources(parts: Mapping[Part, bytes], most: int = RESOURCES) -> dict[Part, bytes]:
    """Return the same parts with so many resources at most."""
    surplus = {*[part for part in parts if part[0] == "resources"][most:]}
    return {part: raw for part, raw in parts.items() if part not in surplus}
