"""The line in front of a busy server: calls that it has no room for wait there, within bounds.

Clients take turns: the calls of one pass in the order in which they came, and each call that passes
is of another client, if others wait. One that sends thousands keeps nobody else waiting for long.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from toolyard.core.errors import BusyError, LinkError
from toolyard.links.deadlines import Deadlines
from toolyard.links.pending import PendingRequest

PLACES: Final = 8192
"""Calls that may wait for one server. No client holds more places than are free, so that alone it
has half of them at most, and a client that comes later finds room, however many others ask for."""
BYTES: Final = 64 << 20
"""Bytes of the messages that wait for one server; they are shared in the same way."""


class PlaceInLine(Struct, eq=False):
    """A call that waits, and what it will send."""

    pending: PendingRequest
    lane: object
    params: bytes
    head: bytes
    patience: float
    """Seconds that it may wait."""
    deadline: float
    cap: float = math.inf

    def waited(self, now: float) -> float:
        """The seconds since it came, without those in which the hub itself stood still."""
        return self.patience - (self.deadline - now)


class Lane(Struct, eq=False):
    """The places of one client, in the order in which it took them."""

    places: OrderedDict[int, PlaceInLine]
    size: int = 0
    """Bytes of its messages."""


class WaitingLine:
    """Calls that wait until the server has answered others."""

    def __init__(self, name: str, most: int, seconds: float, send: _Send) -> None:
        """Open a line for a server that has so many calls under way; each may wait so long."""
        self._name = name
        self._most = most
        self._seconds = seconds
        self._send = send
        self._now = asyncio.get_running_loop().time
        self.places: dict[int, PlaceInLine] = {}
        """By the numbers of the requests; every answer of the server asks whether there are any."""
        self._lanes: OrderedDict[object, Lane] = OrderedDict()
        """Those of clients that wait; the one whose turn is next comes first."""
        self._size = 0
        self._last_wait = 0.0
        """Seconds that the call waited which passed last."""
        self._is_moving = False
        self._deadlines = Deadlines(self.places.values, self._expire)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[PendingRequest]:
        return (place.pending for place in self.places.values())

    def join(self, pending: PendingRequest, lane: object, params: bytes, head: bytes) -> None:
        """Take a call in at the end of its client's lane.

        Raises:
            BusyError: There is no place for it.
        """
        now, wait = self._now(), self._seconds
        if pending.patience:
            wait = min(wait, pending.patience)
        place = PlaceInLine(pending, lane, params, head, wait, now + wait)
        client = self._lanes.get(lane) or Lane(OrderedDict())
        self._check(client, len(params))
        self._lanes[lane] = client
        client.places[pending.number] = self.places[pending.number] = place
        client.size += len(params)
        self._size += len(params)
        if self._deadlines.timer is None:
            self._deadlines.begin(wait, now)

    def _check(self, client: Lane, size: int) -> None:
        """See that a client has no more than is left for the others."""
        waiting = len(self.places)
        hint = _again(self._last_wait)
        if not self._seconds:
            raise BusyError(f"{self._busy}, as many as it may have", *hint)
        if len(client.places) >= PLACES - waiting:
            text = f"{self._busy}; {waiting} more wait, {len(client.places)} of them this client's"
            raise BusyError(text, *hint)
        if client.size + size > BYTES - self._size:
            text = f"{self._busy}; {waiting} more wait with {self._size >> 20} MiB of arguments"
            raise BusyError(f"{text}, {client.size >> 20} MiB of them this client's", *hint)

    @property
    def _busy(self) -> str:
        return f"{self._name!r} has {self._most} calls under way"

    def find(self, number: int) -> PendingRequest | None:
        """Return the call that waits with this number."""
        place = self.places.get(number)
        return place.pending if place is not None else None

    def leave(self, number: int) -> bool:
        """Give up the place of a call; false if it has none."""
        place = self.places.get(number)
        if place is not None:
            self._remove(place)
        return place is not None

    def move(self, has_room: Callable[[], bool]) -> None:
        """Have calls sent while there is room for them."""
        if self._is_moving:
            return  # a call that failed as it was sent: the loop below goes on
        self._is_moving = True
        try:
            while self._lanes and has_room():
                self._pass(self._next())
        finally:
            self._is_moving = False

    def _next(self) -> PlaceInLine:
        """The oldest call of the client whose turn it is; other clients come first after that."""
        lane, client = next(iter(self._lanes.items()))
        place = next(iter(client.places.values()))
        self._remove(place)
        if client.places:
            self._lanes.move_to_end(lane)
        return place

    def _pass(self, place: PlaceInLine) -> None:
        pending, waited = place.pending, place.waited(self._now())
        self._last_wait = waited
        if not pending.answer.done():  # it may have been cancelled a moment ago
            self._send(place, waited)

    def end(self, why: str, hint: str) -> None:
        """Fail all who wait: there is no server any more. None of them was sent."""
        places, hint = list(self.places.values()), hint or "call again: the server has not seen it"
        for place in places:
            self._remove(place)
            place.pending.fail(LinkError(f"{self._name!r} {why}", hint))
        self._deadlines.stop()

    def _expire(self, place: PlaceInLine) -> None:
        self._remove(place)
        text = f"{self._busy}, and had no place for this one within {place.patience:g} s"
        more = f"; {len(self.places)} more wait" if self.places else ""
        place.pending.fail(BusyError(text + more, *_again(place.patience)))

    def _remove(self, place: PlaceInLine) -> None:
        number, client = place.pending.number, self._lanes[place.lane]
        del self.places[number], client.places[number]
        client.size -= len(place.params)
        self._size -= len(place.params)
        if not client.places:
            del self._lanes[place.lane]


_Send = Callable[[PlaceInLine, float], None]
"""Sends a call that has waited so many seconds."""


def _again(wait: float) -> tuple[str, int]:
    """Say when to try again: a call that comes now waits about as long as the last one did."""
    seconds = max(1, math.ceil(wait))
    return f"try again in {seconds} s", seconds
