"""The stream of events that answers a request, and the pauses between two streams."""

from __future__ import annotations

import asyncio
from typing import Final

from toolyard.doors.stdio.remote_http import Deliver
from toolyard.wire import jsonrpc

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 30.0
LASTING: Final = 5.0
"""Seconds after which a stream has worked, and the next one is opened soon."""


class AnswerStream:
    """Passes on what comes before an answer, and the answer."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self.is_answered = False

    def take(self, message: bytes) -> None:
        """Take one message of the stream."""
        self.is_answered |= is_answer(message)
        self._deliver(message)


class Pauses:
    """Pauses that grow while streams fail at once."""

    def __init__(self) -> None:
        self._pause = FIRST_PAUSE
        self._began = 0.0

    def begin(self) -> None:
        """A stream is opened."""
        self._began = asyncio.get_running_loop().time()

    async def rest(self) -> None:
        """Wait until the next one may be."""
        if asyncio.get_running_loop().time() - self._began > LASTING:
            self._pause = FIRST_PAUSE
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def is_answer(message: bytes) -> bool:
    """Tell whether a message answers a request."""
    try:
        return jsonrpc.read(message).is_answer
    except jsonrpc.MalformedError:
        return False
