"""The resources of one legacy server that are followed, and by whom: one subscription for all."""

from __future__ import annotations


class FollowedHere:
    """Tells who is the last to follow a resource, so that nobody ends it for the others."""

    def __init__(self) -> None:
        self._followers: dict[str, set[object]] = {}

    def join(self, who: object, uri: str) -> None:
        """Follow a resource."""
        self._followers.setdefault(uri, set()).add(who)

    def leave(self, who: object, uri: str) -> bool:
        """Follow it no longer; true if nobody does now."""
        followers = self._followers.get(uri, set())
        followers.discard(who)
        if not followers:
            self._followers.pop(uri, None)
        return not followers

    def of(self, who: object) -> list[str]:
        """The resources that somebody follows."""
        return [uri for uri, followers in self._followers.items() if who in followers]
