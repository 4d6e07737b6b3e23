"""The listeners on this machine's TCP ports, as the kernel tells without anybody being asked.

Linux answers over netlink at a cost that does not grow with the number of connections; where that
is forbidden, its table in /proc is read, which on a busy machine takes milliseconds.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
ANSWER_SECONDS: Final = 1.0

_ANY4, _HERE4 = bytes(4), bytes([127, 0, 0, 1])
_MAPPED: Final = bytes(10) + b"\xff\xff"
_RANKS: Final = {
    _HERE4: 0,
    _MAPPED + _HERE4: 0,
    _ANY4: 1,
    _MAPPED + _ANY4: 1,
    bytes(16): 2,
    bytes(15) + b"\x01": 3,
}
"""Addresses by how a connection to 127.0.0.1 prefers them; the last is reached as ::1 only."""
ONLY_V6: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class Listener:
    """One socket that takes connections from this machine."""

    port: int
    rank: int
    """0 for 127.0.0.1 itself, 1 and 2 for all addresses, 3 for ::1 alone."""
    uid: int
    inode: int


def read_listeners() -> tuple[Listener, ...] | None:
    """Give every listener that can be reached over the loopback; None where nobody tells."""
    if sys.platform != "linux":
        return None
    for ask in (_over_netlink, _from_tables):
        try:
            listeners = list(ask())
        except (OSError, ValueError, struct.error):
            continue
        return tuple(listener for listener in listeners if listener is not None)
    return None


def read_ports() -> set[int] | None:
    """The ports of this machine that somebody listens on; None if the kernel does not tell."""
    listeners = read_listeners()
    return None if listeners is None else {listener.port for listener in listeners}


def on_port(listeners: tuple[Listener, ...], port: int) -> tuple[Listener, ...]:
    """Give who would get a connection to 127.0.0.1 on this port."""
    able = [listener for listener in listeners if listener.port == port and listener.rank < ONLY_V6]
    best = min((listener.rank for listener in able), default=0)
    return tuple(sorted(listener for listener in able if listener.rank == best))


def _listener(address: bytes, port: int, uid: int, inode: int) -> Listener | None:
    rank = _RANKS.get(address)
    return None if rank is None else Listener(port, rank, uid, inode)


# The kernel's own interface, sock_diag(7).

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_ASK_ALL: Final = 0x301
_ERROR, _DONE = 2, 3
_STATE_LISTEN: Final = 1 << 10
_HEAD: Final = struct.Struct("=IHHII")
_QUESTION: Final = struct.Struct("=BBBBI48x")
_ANSWER: Final = struct.Struct("=4s2s2x16s40xII")
"""Family and state, source port, source address, then the owner and the number of the socket."""


def _over_netlink() -> Iterator[Listener | None]:
    for family, size in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        for body in _dump(family):
            _, port, address, uid, inode = _ANSWER.unpack_from(body)
            yield _listener(address[:size], int.from_bytes(port, "big"), uid, inode)


def _dump(family: int) -> Iterator[bytes]:
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, _STATE_LISTEN)
    head = _HEAD.pack(_HEAD.size + len(question), _SOCK_DIAG_BY_FAMILY, _ASK_ALL, 1, 0)
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    with socket.socket(socket.AF_NETLINK, kind, _NETLINK_SOCK_DIAG) as sock:
        sock.settimeout(ANSWER_SECONDS)
        sock.send(head + question)
        while True:
            part = sock.recv(1 << 16)
            at = 0
            while at < len(part):
                length, type_, *_ = _HEAD.unpack_from(part, at)
                if type_ == _DONE:
                    return
                if type_ == _ERROR or length < _HEAD.size:
                    raise OSError("the kernel does not tell who listens")
                yield part[at + _HEAD.size : at + length]
                at += (length + 3) & ~3


# The table for people.


def _from_tables() -> Iterator[Listener | None]:
    with open(TABLES[0], "rb") as file:
        lines = file.readlines()
    try:
        with open(TABLES[1], "rb") as file:
            lines += file.readlines()
    except FileNotFoundError:
        pass  # a machine without IPv6
    for line in lines:
        if b" 0A " in line:
            cells = line.split(None, 10)
            address, _, port = cells[1].partition(b":")
            yield _listener(_bytes(address), int(port, 16), int(cells[7]), int(cells[9]))


def _bytes(written: bytes) -> bytes:
    """An address of the table: 32-bit words, each in the machine's own byte order."""
    raw = bytes.fromhex(written.decode("ascii"))
    if sys.byteorder == "big":
        return raw
    return b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
