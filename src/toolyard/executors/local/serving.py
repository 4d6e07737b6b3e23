"""Servers on this machine that speak HTTP: started like any other, reached by their port."""

from __future__ import annotations

import asyncio
import contextlib

from toolyard.core.errors import StartError
from toolyard.core.last_words import explain
from toolyard.core.model import Url
from toolyard.core.placement import Run
from toolyard.core.ports import Address
from toolyard.executors.child import Child

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.5
SECONDS = 60.0
"""Time until a server must accept connections."""


async def check_port(run: Run) -> None:
    """Make sure that the port of a server is free before it starts.

    Raises:
        StartError: It is in use.
    """
    if await _accepts(run.placement.port):
        text = f"cannot start {run.name!r}: port {run.placement.port} is taken"
        raise StartError(text, "end what uses it, or give the server another port")


async def serving(run: Run, child: Child, seconds: float = SECONDS) -> Address:
    """Return the address of a started server, once it accepts connections, `seconds` at most.

    Raises:
        StartError: It ended, or does not accept any in time.
    """
    why: list[str] = []
    # Its output is not needed, but a pipe that nobody reads would block it.
    child.connect(lambda _data: None, why.append)
    port, pause = run.placement.port, FIRST_PAUSE
    try:
        async with asyncio.timeout(seconds):
            while not await _accepts(port):
                if child.gone.is_set():
                    raise _failed(child, f"{run.name!r} ended before it accepted connections")
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE)
    except TimeoutError:
        text = f"{run.name!r} accepts no connections at port {port} after {seconds:g} s"
        raise _failed(child, text, "check 'executor.port' of its entry") from None
    url = Url(f"http://127.0.0.1:{port}{run.placement.path}")
    return Address(url, child.where, lambda: why[0] if why else "")


def _failed(child: Child, text: str, hint: str = "") -> StartError:
    error = StartError(text, hint)
    explain(error, child.stderr)
    return error


async def _accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
