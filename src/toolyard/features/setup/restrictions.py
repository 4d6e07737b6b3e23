"""Restrictions of clients as profiles: what a client hid before, it hides with the hub too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from toolyard.core.profiles import Profile
from toolyard.features.clients.filters import NOTHING, ToolFilter, combined, hidden_patterns
from toolyard.features.clients.importing import FoundServer
from toolyard.features.clients.known import Client

Named = Sequence[tuple[str, FoundServer]]
"""Servers by the names that they have in the yard."""


def plan_profile(client: Client, servers: Named, profiles: Mapping[str, Profile]) -> Profile | None:
    """The profile that keeps the restrictions of a client; None if it has none."""
    hide: list[str] = []
    for name, server in servers:
        tools = filter_for(client.name, server)
        hide += hidden_patterns(name, tools) if tools else []
    if not hide:
        return None
    profile = Profile(client.name, f"What {client.title} may use", hide=tuple(hide))
    return _with_free_name(profile, profiles)


def filter_for(client: str, server: FoundServer) -> ToolFilter | None:
    """The tools of a server that a client must not see; None if it may see all.

    A client that did not have the server gets the restrictions of those that had it, if all of
    them restricted it: nobody ever used it without.
    """
    owners = {origin.place.client.name for origin in server.origins}
    if client in owners:
        return _own_filter(client, server)
    filters = [_own_filter(owner, server) for owner in owners]
    restricting = [tools for tools in filters if tools and tools != NOTHING]
    return combined(restricting) if filters and len(restricting) == len(filters) else None


def _own_filter(client: str, server: FoundServer) -> ToolFilter | None:
    used = [o.enabled for o in server.origins if o.place.client.name == client]
    if server.enabled and not any(used):
        return NOTHING  # it is switched off there, and on elsewhere
    filters = [part.tools for part in server.untaken if part.tools and part.client == client]
    if NOTHING in filters:
        return NOTHING
    return combined(filters) if filters else None


def _with_free_name(profile: Profile, profiles: Mapping[str, Profile]) -> Profile:
    """The profile under its name, or another if that is in use for something else."""
    for number in count(1):
        name = profile.name if number == 1 else f"{profile.name}-{number}"
        named = Profile(name, profile.title, hide=profile.hide)
        if profiles.get(name, named) == named:
            return named
    raise AssertionError("there is always a next number")
