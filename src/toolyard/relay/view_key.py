"""The key of a view: how much of the yard a client sees, and under which names."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from toolyard.core.caller import Caller
from toolyard.core.names import LONGEST


class ViewKey(Struct, frozen=True, cache_hash=True):
    """Everything that tells one view of a picture from another.

    A client's view is looked up with every call, so its key is hashed once.
    """

    separator: str = "__"
    pattern_separator: str | None = None
    """The separator of names in profiles, if not the same; the view of one server has none."""
    expose: str = "all"
    """`all`, or `search`: only the hub's own tools and those that are always listed."""
    always_listed: frozenset[str] = frozenset()
    page: int = 5000
    server: str = ""
    """The alias of the one server to show; empty for all."""
    app: str = ""
    """The one app to show, as its own hub would; empty for the whole yard."""
    profile: str = ""
    """The profile that selects; looked up in each picture, so that a change reaches everybody."""
    agent: str = ""
    """The agent whose servers are shown, as they are resolved for it; empty for the whole yard."""
    executor: str = ""
    """The executor that agent runs on."""
    only: frozenset[str] = frozenset()
    """The servers a client is limited to, by alias or full name; empty for no limit."""
    admitted: tuple[str, ...] | None = None
    """The profiles of which a member sees what any of them shows; None for no such limit."""
    tier: str = ""
    """The tools that are shown, by the harm they can do; empty for all."""
    profile_tiers: tuple[tuple[str, str], ...] = ()
    """The tier of each profile whose tools are shown up to that one alone."""
    longest: int = LONGEST
    """Characters of a tool's name."""
    most: int = 0
    """Tools in the list; 0 for no limit."""
    folders: tuple[str, ...] = ()
    """The projects a client works in; what belongs to others is not shown to it."""

    def limited_to(self, caller: Caller) -> ViewKey:
        """Return this view with the limits of a caller: wherever it is looked at, the same."""
        return replace(
            self,
            only=caller.servers,
            admitted=caller.admitted,
            tier=caller.tier,
            profile_tiers=caller.profile_tiers,
        )

    @property
    def is_limited(self) -> bool:
        """True if a client sees less than the whole yard."""
        limits = self.profile, self.only, self.agent, self.tier
        return any(limits) or self.admitted is not None
