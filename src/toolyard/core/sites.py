"""Executors as people name and configure them, and where servers are to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from toolyard.core.errors import ConfigError

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
    running_limit: int | None = None
    """How many servers may run there; 0 for as many as like, None as the hub's setting says."""
    memory_limit: int | None = None
    """MB they may take together; 0 and None as above."""

    def option(self, name: str, default: str = "") -> str:
        """One of the options."""
        return next((value for key, value in self.options if key == name), default)


@dataclass(frozen=True, slots=True)
class Placement:
    """The place a server is to run at, as declared; empty means the executor's default."""

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


_TEXTS: Final = ("image", "path", "network", "user")
_NUMBERS: Final = ("port", "memory", "processes", "descriptors")
_KEYS: Final = ("name", *_TEXTS, *_NUMBERS, "cpus", "mounts", "writable")


def read_placement(entry: Any) -> Placement:
    """Make a placement of what a declaration says: the name of an executor, or an object.

    Raises:
        ConfigError: It cannot be used.
    """
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping):
        raise ConfigError("'executor' is neither a name nor an object", 'write it as "box"')
    for key in entry:
        if key not in _KEYS:
            hint = f"there are: {', '.join(_KEYS)}"
            raise ConfigError(f"there is no '{str(key)[:80]}' in 'executor'", hint)
    texts = {key: _text(entry, key) for key in ("name", *_TEXTS) if key in entry}
    numbers = {key: _number(entry, key) for key in _NUMBERS if key in entry}
    placement = Placement(executor=texts.pop("name", ""), **texts, **numbers)  # type: ignore[arg-type]
    cpus, mounts, writable = entry.get("cpus", 0), entry.get("mounts", []), entry.get("writable")
    if isinstance(cpus, bool) or not isinstance(cpus, int | float) or not 0 <= cpus <= 1024:
        raise ConfigError("'executor.cpus' is not a number above 0", "write it as 0.5")
    if not isinstance(mounts, list) or not all(isinstance(mount, str) for mount in mounts):
        raise ConfigError("'executor.mounts' is not a list", 'write it as ["/there:/inside"]')
    if writable not in (None, True, False):
        raise ConfigError("'executor.writable' is neither true nor false", "write true or false")
    if not placement.path.startswith("/") or placement.port > 65535:
        raise ConfigError("'executor' has no usable port and path", "write 8000 and /mcp")
    return replace(placement, cpus=float(cpus), mounts=tuple(mounts), writable=bool(writable))


PlacementEntry = dict[str, str | int | float | bool | list[str]]
"""A placement as a declaration has it."""


def write_placement(placement: Placement) -> PlacementEntry:
    """Return a placement as a declaration has it: only what it sets."""
    entry: PlacementEntry = {"name": placement.executor, "mounts": list(placement.mounts)}
    usual = ANYWHERE
    for key in (*_TEXTS, *_NUMBERS, "cpus", "writable"):
        if getattr(placement, key) != getattr(usual, key):
            entry[key] = getattr(placement, key)
    return {key: value for key, value in entry.items() if value}


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or "\0" in value:
        raise ConfigError(f"'executor.{key}' is not text", "put it in double quotes")
    return value


def _number(entry: Mapping[str, Any], key: str) -> int:
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ConfigError(f"'executor.{key}' is not a whole number", "write it as 128")
    return value
