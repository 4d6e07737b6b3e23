"""The load: closed loops of MCP calls over streamable HTTP, as cheap as they can be made."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from http_wire import Line, head

VERSION = "2025-06-18"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
PATIENCE = 30.0  # seconds beyond the planned ones; a target that needs more has failed
WARM_UP = 0.3
LOOK_SECONDS = 0.4
QUIET_LOOKS = 3  # in a row: the hub writes its history a second after the first call of a batch
QUIET_CPU = 0.004  # seconds of CPU within one look: timers of a process that has nothing to do
MOST_REST = 20.0  # seconds for coming to rest; some peers never do
FIRST_ID = 10_000_000  # all ids are equally long, so that a request's length never changes


HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "load", "version": "1"},
}
NO_SESSION = b"SESSION"  # stands where the id of a session goes


class LoadError(Exception):
    """The target answered wrongly or not at all."""


@dataclass
class Tally:
    """What one run came to."""

    calls: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def cpu_us(self) -> float:
        """CPU microseconds of the target per call."""
        return self.cpu / max(1, self.calls) * 1e6

    @property
    def per_second(self) -> float:
        """Calls per second."""
        return self.calls / self.seconds if self.seconds else 0.0

    def quantile_ms(self, share: float) -> float:
        """That quantile of the latency."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 if ordered else 0.0


class Target:
    """Something that serves MCP at an address."""

    def __init__(self, url: str, token: str = "", prefix: str = "") -> None:
        self.url = url
        parts = urlsplit(url)
        self.host, self.port, self.path = parts.hostname or "", parts.port or 80, parts.path
        self.token = f"authorization: Bearer {token}\r\n" if token else ""
        self.prefix = prefix
        self.count = FIRST_ID
        # Ready-made, so that the generator stays cheaper than what it measures.
        self.opening = self.request({"id": 0, "method": "initialize", "params": HELLO})
        hole = NO_SESSION.decode()
        self.opened = self.request({"method": "notifications/initialized"}, hole)
        self.listing = self.request({"id": 1, "method": "tools/list", "params": {}}, hole)
        self.closing = self.head("DELETE", hole) + b"0\r\n\r\n"

    async def connect(self) -> Line:
        """A new connection."""
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(Line, self.host, self.port)
        return line

    def head(self, verb: str, session: str = "") -> bytes:
        """The head of a request, in a session if one is given."""
        extra = self.token
        if session:
            extra += f"mcp-session-id: {session}\r\nmcp-protocol-version: {VERSION}\r\n"
        return head(verb, f"{self.host}:{self.port}", self.path, extra)

    def request(self, message: dict[str, Any], session: str = "") -> bytes:
        """A message as a whole request."""
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        return b"%b%d\r\n\r\n%b" % (self.head("POST", session), len(body), body)

    async def open(self, line: Line) -> str:
        """Open a session."""
        headers, _ = await exchange(line, self.opening)
        session = headers.get(b"mcp-session-id", b"")
        await exchange(line, self.opened.replace(NO_SESSION, session, 1))
        return session.decode()

    async def close(self, line: Line, session: str) -> None:
        """End a session."""
        await exchange(line, self.closing.replace(NO_SESSION, session.encode(), 1))

    async def tools(self, line: Line, session: str) -> list[str]:
        """The names of all tools, page by page."""
        names: list[str] = []
        params: dict[str, Any] = {}
        while True:
            message = {"id": 1, "method": "tools/list", "params": params}
            _, body = await exchange(line, self.request(message, session))
            result = json.loads(body)["result"]
            names += [tool["name"] for tool in result["tools"]]
            if "nextCursor" not in result:
                return names
            params = {"cursor": result["nextCursor"]}

    def repeated(self, method: str, params: dict[str, Any], session: str) -> Callable[[], bytes]:
        """Makes the same request again and again, each time with an id of its own."""
        request = {"id": FIRST_ID, "method": method, "params": params}
        return self.renumbered(self.request(request, session))

    def stateless(self, method: str, params: dict[str, Any]) -> Callable[[], bytes]:
        """Makes the same request of the modern era again and again, as `repeated` does."""
        request = {"id": FIRST_ID, "method": method, "params": params}
        return self.renumbered(self.modern_request(request))

    def renumbered(self, whole: bytes) -> Callable[[], bytes]:
        """Makes a request with the first id again and again, each time with an id of its own."""
        before, after = whole.split(b"%d" % FIRST_ID)

        def fresh() -> bytes:
            self.count += 1
            return b"%b%d%b" % (before, self.count, after)

        return fresh

    def modern_request(self, message: dict[str, Any]) -> bytes:
        """A message as a client of the modern era sends it: without a session."""
        meta = {
            META + "protocolVersion": MODERN,
            META + "clientCapabilities": {},
            META + "clientInfo": {"name": "load", "version": "1"},
        }
        message = {**message, "params": {**message["params"], "_meta": meta}}
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        mirrored = f"mcp-protocol-version: {MODERN}\r\nmcp-method: {message['method']}\r\n"
        if "name" in message["params"]:
            mirrored += f"mcp-name: {message['params']['name']}\r\n"
        opening = head("POST", f"{self.host}:{self.port}", self.path, self.token + mirrored)
        return b"%b%d\r\n\r\n%b" % (opening, len(body), body)


async def exchange(line: Line, request: bytes) -> tuple[dict[bytes, bytes], bytes]:
    """Send a request; gives the headers and the JSON of its answer.

    Raises:
        LoadError: It failed, or the answer is an error.
    """
    heard: asyncio.Future[tuple[int, dict[bytes, bytes], bytes]]
    heard = asyncio.get_running_loop().create_future()

    def hear(status: int, headers: dict[bytes, bytes], body: bytes) -> None:
        if not heard.done():
            heard.set_result((status, headers, body))

    line.send(request, hear)
    status, headers, body = await heard
    if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
        body = b"".join(part[5:] for part in body.splitlines() if part.startswith(b"data:"))
    if not 200 <= status < 300 or b'"error":' in body[:80] or b'"isError":true' in body[-60:]:
        raise LoadError(f"status {status}: {body[:200].decode(errors='replace')}")
    return headers, body


Once = Callable[[], Awaitable[None]]
Meter = Callable[[], float]


async def loop_closed(once: list[Once], seconds: float, meter: Meter) -> Tally:
    """Every caller calls again as soon as it is answered, until the time is up."""
    await run_for(once, WARM_UP, Tally())
    tally = Tally()
    cpu = await at_rest(meter)
    await run_for(once, seconds, tally)
    tally.cpu = await at_rest(meter) - cpu
    return tally


async def at_rest(meter: Meter) -> float:
    """Read the meter once the process has done what its calls left behind, such as a history.

    Otherwise whatever is put off until after the loop would cost nothing.
    """
    cpu, quiet, latest = meter(), 0, time.monotonic() + MOST_REST
    while quiet < QUIET_LOOKS and time.monotonic() < latest:
        await asyncio.sleep(LOOK_SECONDS)
        before, cpu = cpu, meter()
        quiet = quiet + 1 if cpu - before < QUIET_CPU else 0
    return cpu


async def run_for(once: list[Once], seconds: float, tally: Tally) -> None:
    """One phase of a closed loop."""
    begin = time.perf_counter()
    end = begin + seconds

    async def caller(call: Once) -> None:
        while (start := time.perf_counter()) < end:
            await call()
            tally.latencies.append(time.perf_counter() - start)

    # One bound for all callers: a timer per call would cost more than the call.
    async with asyncio.timeout(seconds + PATIENCE), asyncio.TaskGroup() as group:
        for call in once:
            group.create_task(caller(call))
    tally.calls, tally.seconds = len(tally.latencies), time.perf_counter() - begin


async def repeat(
    target: Target,
    method: str,
    params: dict[str, Any],
    callers: int,
    seconds: float,
    meter: Meter,
) -> Tally:
    """The same request from many callers, each with a connection and a session of its own."""
    lines = [await target.connect() for _ in range(callers)]
    pairs = [(line, await target.open(line)) for line in lines]
    calls = [repeating(line, target.repeated(method, params, session)) for line, session in pairs]
    tally = await loop_closed(calls, seconds, meter)
    for line, session in pairs:
        await target.close(line, session)
        line.transport.close()
    return tally


async def repeat_stateless(
    target: Target,
    method: str,
    params: dict[str, Any],
    callers: int,
    seconds: float,
    meter: Meter,
) -> Tally:
    """The same request from many callers of the modern era, each with a connection of its own."""
    lines = [await target.connect() for _ in range(callers)]
    calls = [repeating(line, target.stateless(method, params)) for line in lines]
    tally = await loop_closed(calls, seconds, meter)
    for line in lines:
        line.transport.close()
    return tally


def repeating(line: Line, fresh: Callable[[], bytes]) -> Once:
    """A caller: sends what `fresh` makes and waits for its answer."""

    async def once() -> None:
        await exchange(line, fresh())

    return once


async def churn(target: Target, callers: int, seconds: float, meter: Meter) -> Tally:
    """Open a session, list the tools, close it; again and again."""
    lines = [await target.connect() for _ in range(callers)]

    def caller(line: Line) -> Once:
        async def once() -> None:
            session = await target.open(line)
            listing = target.listing.replace(NO_SESSION, session.encode(), 1)
            await exchange(line, listing)
            await target.close(line, session)

        return once

    tally = await loop_closed([caller(line) for line in lines], seconds, meter)
    for line in lines:
        line.transport.close()
    return tally


async def burst(target: Target, count: int, milliseconds: int, meter: Meter) -> Tally:
    """Many sleeping calls at once: how long until all are answered."""
    lines = [await target.connect() for _ in range(count)]
    session = await target.open(lines[0])
    params = {"name": target.prefix + "sleep", "arguments": {"ms": milliseconds}}
    fresh = target.repeated("tools/call", params, session)
    for _ in range(2):  # the first round opens the target's own connections
        cpu, begin = await at_rest(meter), time.perf_counter()
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for line in lines:
                group.create_task(exchange(line, fresh()))
        tally = Tally(count, time.perf_counter() - begin)
        tally.cpu = await at_rest(meter) - cpu
    await target.close(lines[0], session)
    for line in lines:
        line.transport.close()
    return tally
