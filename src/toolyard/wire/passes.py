"""Passes by which one hub of a fleet proves to another that it has the key, once per message.

A pass is sealed: for one receiver, one body and half a minute. Whoever has read one can use it for
nothing else, and not for the same again.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable
from typing import Final

import msgspec

from toolyard.wire.seal import Seal

PURPOSE: Final = "peer"
SECONDS: Final = 30.0
MOST_USED: Final = 200_000
"""Passes of one span that are remembered; more are refused until the next."""


class PeerPass(msgspec.Struct, array_like=True, frozen=True):
    """The inside of a pass; a later version may add members at the end."""

    at: float
    nonce: bytes
    """No other pass has it."""
    digest: bytes
    """The SHA-256 of the body it is for."""


_read: Final = msgspec.msgpack.Decoder(PeerPass).decode


class PeerPasses:
    """Makes passes for others, and takes those that are for this hub."""

    def __init__(self, seal: Seal, own: str, clock: Callable[[], float]) -> None:
        """Take passes for the hub of this id; `clock` is the same for all hubs."""
        self._seal = seal
        self._own = own
        self._clock = clock
        self._start = secrets.token_bytes(12)
        """Tells the passes of this hub, since it started, from all others."""
        self._numbers = itertools.count()
        self._used: set[bytes] = set()
        self._used_before: set[bytes] = set()
        self._span = 0

    def make(self, receiver: str, body: bytes) -> str:
        """Make a pass for one body to one hub."""
        nonce = b"%b%d" % (self._start, next(self._numbers))
        inside = PeerPass(self._clock(), nonce, hashlib.sha256(body).digest())
        return self._seal.seal(PURPOSE, receiver, msgspec.msgpack.encode(inside))

    def open(self, text: str) -> PeerPass | None:
        """Read a pass; None if it is not for this hub, or too old."""
        data = self._seal.open(PURPOSE, self._own, text)
        if data is None:
            return None
        opened = _read(data)
        return opened if self._is_fresh(opened) else None

    def use(self, opened: PeerPass, body: bytes) -> bool:
        """Use a pass for this body; False if it is for another, was used, or is too old by now."""
        if opened.digest != hashlib.sha256(body).digest() or not self._is_fresh(opened):
            return False
        self._turn()
        if opened.nonce in self._used or opened.nonce in self._used_before:
            return False
        if len(self._used) >= MOST_USED:
            return False
        self._used.add(opened.nonce)
        return True

    def _is_fresh(self, opened: PeerPass) -> bool:
        return abs(self._clock() - opened.at) <= SECONDS

    def _turn(self) -> None:
        """Forget the passes that would be too old by now."""
        span = int(self._clock() / (2 * SECONDS))
        if span != self._span:
            self._used_before = self._used if span == self._span + 1 else set()
            self._used, self._span = set(), span
