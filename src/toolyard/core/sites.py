"""Executors as people name and configure them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Pairs = tuple[tuple[str, str], ...]
SiteType = Literal["local", "docker", "ssh", "kubernetes"]
SITE_TYPES: Final[tuple[SiteType, ...]] = get_args(SiteType)


@dataclass(frozen=True, slots=True)
class Site:
    """An executor as a person named and configured it."""

    name: str
    type: SiteType
    host: str = ""
    """`unix:///run/docker.sock`, `tcp://box:2376`, `ssh://user@box`, a context: by its type."""
    options: Pairs = ()
    """What else its type understands, e.g. `image` or `namespace`."""

    def option(self, name: str, default: str = "") -> str:
        """One of the options."""
        return next((value for key, value in self.options if key == name), default)
