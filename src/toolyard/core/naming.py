"""The aliases of servers: who had one first keeps it, and a newcomer gets another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolyard.core.model import ServerId, Snapshot, SourceState
from toolyard.core.names import other_alias, own_alias
from toolyard.core.owners import Owners

FIRST: Final = "configured"
"""The source that chooses first where several choose at once: what the user wrote down."""
BY_HAND: Final = frozenset({FIRST, "catalog", "agents"})
"""Sources whose servers the user names. One of theirs may have the name of a server that is gone;
what is only found here may not, for lists and profiles may still mean the former by it."""
STAND_IN: Final = "bundled"
"""The source of the example, which leaves when another server comes, and keeps no name from it."""


def turn(source: str) -> tuple[bool, bool, str]:
    """Order sources by when they choose names."""
    return (source == STAND_IN, source != FIRST, source)


def name_servers(
    before: Snapshot, sources: Mapping[str, SourceState]
) -> tuple[dict[ServerId, str], Owners]:
    """Return the alias of each server that the sources declare, and who owns which name then."""
    ordered = sorted(sources, key=turn)
    ids = [server.id for source in ordered for server in sources[source].report.servers]
    naming = _Naming(before, sources, ids)
    aliases = {id_: naming.present_alias(id_) for id_ in ids}
    naming.taken = {alias for alias in aliases.values() if alias}
    for id_ in ids:
        aliases[id_] = aliases[id_] or naming.choose(id_)
    kept = {str(id_): alias for id_, alias in aliases.items() if id_.source != STAND_IN}
    return aliases, before.owners.name(kept, kept)


def alias_beside(picture: Snapshot, new: ServerId) -> str:
    """Return the alias that a server has, or would get if it came now."""
    if new in picture.entries:
        return picture.entries[new].alias
    naming = _Naming(picture, picture.sources, (*picture.entries, new))
    naming.taken = {e.alias for id_, e in picture.entries.items() if id_.source != STAND_IN}
    return naming.present_alias(new) or naming.choose(new)


class _Naming:
    """The names of one picture while its newcomers are given theirs."""

    def __init__(
        self, before: Snapshot, sources: Mapping[str, SourceState], ids: Iterable[ServerId]
    ) -> None:
        self._before = before
        self._owners = before.owners
        self._sure = {name for name, state in sources.items() if _is_sure(state)}
        self._declared = {str(id_) for id_ in ids}
        self.taken: set[str] = set()

    def present_alias(self, id_: ServerId) -> str:
        """Return the name a server has already; empty if it comes anew."""
        entry = self._before.entries.get(id_)
        if id_.source == STAND_IN or (entry is None and self._comes_anew(id_)):
            return ""
        alias = self._owners.alias(str(id_)) or (entry.alias if entry is not None else "")
        return alias if self._owners.named(alias) in ("", str(id_)) else ""

    def _comes_anew(self, id_: ServerId) -> bool:
        """Tell a server that the user adds from one that a hub sees again after its start."""
        state = self._before.sources.get(id_.source)
        return id_.source in BY_HAND and state is not None and _is_sure(state)

    def choose(self, id_: ServerId) -> str:
        """Return a name for a newcomer: its own if nobody has it, or its former, or another."""
        former = self._owners.alias(str(id_))
        wishes = [own_alias(id_.name), *([former] if former else [])]
        alias = next((wish for wish in wishes if self._is_free(wish, id_)), "")
        alias = alias or other_alias(id_.name, id_.source, lambda other: self._is_free(other, id_))
        self.taken.add(alias)
        return alias

    def _is_free(self, alias: str, id_: ServerId) -> bool:
        owner = self._owners.named(alias)
        if alias in self.taken:
            return False
        return owner in ("", str(id_)) or (id_.source in BY_HAND and self._is_gone(owner))

    def _is_gone(self, owner: str) -> bool:
        """Say whether the source of a server, which is asked and well, declares it no longer."""
        return owner not in self._declared and owner.rpartition("@")[2] in self._sure


def _is_sure(state: SourceState) -> bool:
    """Say whether what a report does not name is gone; it may also be what cannot be read."""
    return state.problem is None and not state.report.problems
