"""Where a server runs, and within which bounds: what is declared, and what an executor is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolyard.core.model import Command
from toolyard.core.sites import Site as Site


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
