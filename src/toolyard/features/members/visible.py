"""The servers that a member sees."""

from __future__ import annotations

from toolyard.core.errors import UnknownNameError
from toolyard.features.members.directory import MemberDirectory
from toolyard.relay.relay import Relay
from toolyard.yard import Yard


def find_visible(yard: Yard, member: str) -> frozenset[str]:
    """Return the aliases of the servers that a member is admitted to something of."""
    caller = yard.part(MemberDirectory).caller(member)
    if caller is None:
        return frozenset()
    views = yard.part(Relay).views
    return frozenset(views.look(views.usual_key.limited_to(caller)).entries)


def check_visible(yard: Yard, member: str, alias: str) -> str:
    """Return the alias of a server that a member sees.

    Raises:
        UnknownNameError: They see no such server.
    """
    visible = find_visible(yard, member)
    if alias not in visible:
        near = ", ".join(sorted(visible)) or "none"
        raise UnknownNameError(f"you see no server {alias[:80]!r}", f"you see: {near}")
    return alias
