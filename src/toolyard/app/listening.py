"""The sockets of a hub, bound before anything is built: one that cannot be had ends the start."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from typing import Final

from toolyard.core.errors import ConfigError
from toolyard.doors.http.address import LOOPBACK
from toolyard.doors.http.server import BoundDoor, bind
from toolyard.doors.http.tls import open_tls
from toolyard.settings import Settings

PORTS_TRIED: Final = 20


@dataclass(frozen=True, slots=True)
class Listeners:
    """The sockets of a hub."""

    door: BoundDoor
    """The HTTP doors, for everybody."""
    here: BoundDoor
    """The same doors for programs on this machine, which do not know their certificate."""
    probes: socket.socket | None
    peers: socket.socket | None
    """The door for other replicas."""

    @property
    def served(self) -> list[BoundDoor]:
        """Those of the HTTP doors."""
        return [self.door] if self.here is self.door else [self.door, self.here]


def bind_all(settings: Settings) -> Listeners:
    """Every socket of a hub, bound.

    Raises:
        ConfigError: One of them cannot be had, or its certificate cannot be used.
    """
    tls, probes, peers = open_tls(settings), bind_probes(settings), bind_peers(settings)
    door = BoundDoor(bind_door(settings), tls)
    here = door if tls is None else BoundDoor(bind(LOOPBACK, 0))
    return Listeners(door, here, probes, peers)


def bind_door(settings: Settings) -> socket.socket:
    """The socket of the HTTP doors: the port that was told, or the next free one.

    Raises:
        ConfigError: It cannot be had.
    """
    tries = 1 if settings.port_fixed else PORTS_TRIED
    for port in range(settings.port, settings.port + tries):
        try:
            return bind(settings.host, port)
        except OSError as error:
            last = error
    why = (last.strerror or str(last)).lower()
    text = f"cannot listen on {settings.host}:{settings.port} ({why})"
    is_foreign = isinstance(last, socket.gaierror) or last.errno == errno.EADDRNOTAVAIL
    hint = "give --host an address of this machine, or 0.0.0.0 for all of them"
    raise ConfigError(text, hint if is_foreign else "choose another with --port") from last


def bind_probes(settings: Settings) -> socket.socket | None:
    """The socket of the door for probes; None if there is to be none.

    Raises:
        ConfigError: It cannot be had.
    """
    if not settings.probe_port:
        return None
    return _bind_other("PROBE", settings.probe_host or settings.host, settings.probe_port)


def bind_peers(settings: Settings) -> socket.socket | None:
    """The socket of the door for other replicas; None if there is to be none.

    Raises:
        ConfigError: It cannot be had, or there is nothing by which replicas know each other.
    """
    if not settings.peer_port:
        return None
    if not settings.key or not settings.database:
        text = "TOOLYARD_PEER_PORT needs TOOLYARD_KEY and TOOLYARD_DATABASE"
        raise ConfigError(text, "set both to what the other replicas have, or unset the port")
    return _bind_other("PEER", settings.peer_host or settings.host, settings.peer_port)


def _bind_other(what: str, host: str, port: int) -> socket.socket:
    """The socket of a door that is not for clients."""
    try:
        return bind(host, port)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        text = f"cannot listen for {what.lower()}s on {host}:{port} ({why})"
        hint = (
            f"set TOOLYARD_{what}_PORT to a free port, TOOLYARD_{what}_HOST to an address of yours"
        )
        raise ConfigError(text, hint) from None
