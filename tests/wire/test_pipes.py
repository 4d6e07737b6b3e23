from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable

import pytest
import uvloop

from toolyard.wire.pipes import for_loop

Make = Callable[[], asyncio.AbstractEventLoop]


class End(asyncio.Protocol):
    """Knows when its pipe has been closed."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.over.set()


async def use_up(end: str) -> None:
    """Have the loop close one end, let a stranger have its number, and look whether it keeps it."""
    loop, protocol, (reading, writing) = asyncio.get_running_loop(), End(), os.pipe()
    is_read = end == "read"
    other = writing if is_read else reading
    file = for_loop(os.fdopen(reading if is_read else writing, "rb" if is_read else "wb", 0))
    connect = loop.connect_read_pipe if is_read else loop.connect_write_pipe
    number, (transport, _) = file.fileno(), await connect(lambda: protocol, file)
    transport.close()
    await asyncio.wait_for(protocol.over.wait(), 60)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
    os.dup2(other, number)
    del file, transport
    gc.collect()
    assert os.fstat(number)
    os.close(number)
    os.close(other)


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("make", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("end", ["read", "write"])
def test_a_pipe_is_closed_exactly_once(make: Make, end: str) -> None:
    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(use_up(end))


def test_with_uvloop_closing_the_file_leaves_the_number_to_the_loop() -> None:
    async def close() -> None:
        reading, writing = os.pipe()
        file = for_loop(os.fdopen(reading, "rb", 0))
        number = file.fileno()
        file.close()
        os.close(number)  # still ours: it would fail otherwise
        os.close(writing)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(close())
