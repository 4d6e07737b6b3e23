"""Where a server runs, and within which bounds: what is declared, and what an executor is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from toolyard.core.model import Command, Pairs

SiteType = Literal["local", "docker", "ssh", "kubernetes"]
SITE_TYPES: Final[tuple[SiteType, ...]] = get_args(SiteType)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a server is to run, as its declaration says; empty means the executor's default."""

    executor: str = ""
    """The name of an executor; empty for the hub's own machine."""
    image: str = ""
    port: int = 0
    """It serves HTTP on this port there; 0 if it speaks on its stdin and stdout."""
    path: str = "/mcp"
    """Where on that port its endpoint is."""
    mounts: tuple[str, ...] = ()
    """`/there:/inside`, read-only unless `:rw` follows."""
    network: str = ""
    user: str = ""
    memory: int = 0
    """MiB; 0 for the executor's default."""
    cpus: float = 0.0
    processes: int = 0
    descriptors: int = 0
    writable: bool = False
    """Whether it may write to the root of its container."""


ANYWHERE: Final = Placement()


@dataclass(frozen=True, slots=True)
class Run:
    """One process that an executor is to start: what, within which bounds, for whom."""

    name: str
    """The server's; several runs may share it."""
    command: Command
    placement: Placement = ANYWHERE
    owner: str = ""
    """The session it runs for; empty if it is shared."""


@dataclass(frozen=True, slots=True)
class Site:
    """An executor as a person named and configured it."""

    name: str
    type: SiteType
    host: str = ""
    """`unix:///run/docker.sock`, `tcp://box:2376`, `ssh://user@box`, a context: by its type."""
    options: Pairs = field(default=())
    """What else its type understands, e.g. `image` or `namespace`."""

    def option(self, name: str, default: str = "") -> str:
        """One of the options."""
        return next((value for key, value in self.options if key == name), default)
