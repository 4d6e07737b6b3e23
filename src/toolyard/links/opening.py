"""Opens links: starts or reaches the server, finds out which era it speaks, shakes hands.

A probe that is not understood must never cost a server its life for good: what
dies of `server/discover` is started once more and greeted the old way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from toolyard import __version__
from toolyard.core.errors import LinkError, StartError, ToolyardError
from toolyard.core.model import Command, Endpoint, Peer, Url
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Executor, Pipes
from toolyard.core.sites import ANYWHERE, Placement
from toolyard.links.eventstream import EventStreamChannel
from toolyard.links.http import HttpChannel, HttpStatusError, Post
from toolyard.links.link import Flight, Link, RefusedError
from toolyard.links.owner import EVERYBODY, Owner
from toolyard.links.stdio import StdioChannel
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

CLIENT: Final = {"name": "toolyard", "title": "Toolyard", "version": __version__}
CAPABILITIES: Final = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
}
"""What a legacy server is told we can do: all that any client may have. A question that the
caller cannot answer is refused then, see docs/decisions/0005. One that runs for one client alone
is told what that client can do."""
ENVELOPE: Final = {era.META_VERSION: era.MODERN, era.META_CLIENT: CLIENT, era.META_CAPABILITIES: {}}
"""What every modern request of the hub's own carries."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what, in seconds."""

    probe: float = 2.0
    open: float = 60.0
    """Enough for a package runner that downloads first."""
    list: float = 15.0
    call: float = 120.0
    idle: float = 600.0
    """After so long without a call a process is ended; 0 means never."""


def own_params(link: Link, fields: dict[str, Any]) -> bytes:
    """Params of a request of the hub's own, with the envelope where the era wants one."""
    return jsonrpc.encode({**fields, "_meta": ENVELOPE} if link.is_modern else fields)


@asynccontextmanager
async def open_link(
    name: str,
    endpoint: Endpoint,
    executor: Executor,
    patience: Patience,
    limit: int,
    hint: era.Era | None,
    owner: Owner = EVERYBODY,
    placement: Placement = ANYWHERE,
) -> AsyncIterator[Link]:
    """Give a link that is ready for requests; leaving ends it and what was started for it.

    Raises:
        StartError: The server could not be started or reached.
        LinkError: It did not answer as an MCP server does.
    """
    if isinstance(endpoint, Command):
        run = Run(name, endpoint, placement, owner.name)
        opened = open_run(run, executor, patience, limit, hint, owner)
    else:
        opened = open_url(name, endpoint, patience, limit, hint, owner)
    async with opened as link:
        yield link


@asynccontextmanager
async def open_run(
    run: Run,
    executor: Executor,
    patience: Patience,
    limit: int,
    hint: era.Era | None,
    owner: Owner = EVERYBODY,
) -> AsyncIterator[Link]:
    """Give a link to a server that is started for it; leaving stops the server.

    Raises:
        StartError: The server could not be started or reached.
        LinkError: It did not answer as an MCP server does.
    """
    running: Pipes | Address | None = None
    try:
        async with executor.open(run) as running:
            if isinstance(running, Address):
                opened = open_url(run.name, running.url, patience, limit, hint, owner)
            else:
                opened = _over_pipes(run.name, running, patience, limit, hint, owner)
            async with opened as link:
                link.where = running.where
                yield link
    except ToolyardError as error:
        # Its process has ended, so all that it wrote has been read by now.
        if running is not None and not isinstance(running, Address):
            error.trace = running.stderr
        raise


@asynccontextmanager
async def open_url(
    name: str,
    url: Url,
    patience: Patience,
    limit: int,
    hint: era.Era | None,
    owner: Owner = EVERYBODY,
) -> AsyncIterator[Link]:
    """Give a link to an address that is ready for requests; leaving ends it.

    Raises:
        StartError: The server could not be reached.
        LinkError: It did not answer as an MCP server does.
    """
    if url.kind == "sse":
        opened = _over_event_stream(name, url, patience, limit, owner)
    else:
        opened = _over_http(name, url, patience, limit, hint, owner)
    async with opened as link:
        yield link


@asynccontextmanager
async def _over_pipes(
    name: str, pipes: Pipes, patience: Patience, limit: int, hint: era.Era | None, owner: Owner
) -> AsyncIterator[Link]:
    link = _link(name, patience, owner)
    channel = StdioChannel(link, pipes, limit)
    try:
        await _greet_over_pipes(link, patience, hint)
        yield link
    finally:
        link.lose("was stopped")
        channel.close()
        await link.tasks.close()


async def _greet_over_pipes(link: Link, patience: Patience, hint: era.Era | None) -> None:
    """Probe, and greet the old way as soon as the probe fails, or stays unanswered for long."""
    async with _bounded(link, patience.open):
        if hint == "legacy":
            await _initialize(link, patience.open)
            return
        probe = _send_probe(link, patience.open)
        await asyncio.wait(
            (probe.answer, link.closed), timeout=patience.probe, return_when=asyncio.FIRST_COMPLETED
        )
        if link.closed.done():
            raise ProbeFatalError(f"{link.name!r} {link.closed.result()}", _last(link))
        if probe.answer.done():
            if not _adopt(link, probe.answer.result()):
                await _initialize(link, patience.open)
            return
        # Slow, or silent because it waits for `initialize`: whichever it answers decides.
        greeting = _send_greeting(link, patience.open)
        await asyncio.wait((probe.answer, greeting.answer), return_when=asyncio.FIRST_COMPLETED)
        if not probe.answer.done() and _is_refused_as_old(greeting):
            await asyncio.wait((probe.answer,))
        if probe.answer.done() and _succeeded(probe) and _adopt(link, probe.answer.result()):
            return
        _welcome(link, await greeting.answer)
        link.notify("notifications/initialized")


class ProbeFatalError(LinkError):
    """The server ended when it was probed; it may live if greeted the old way."""


@asynccontextmanager
async def _over_http(
    name: str, url: Url, patience: Patience, limit: int, hint: era.Era | None, owner: Owner
) -> AsyncIterator[Link]:
    link = _link(name, patience, owner)
    channel = _http_channel(link, url, limit)
    try:
        async with _bounded(link, patience.open):
            fallback = await _greet_over_http(link, channel, patience, hint)
        if not fallback:
            yield link
    finally:
        link.lose("was stopped")
        await channel.close()
        await link.tasks.close()
    if fallback:
        async with _over_event_stream(name, url, patience, limit, owner) as older:
            yield older


def _http_channel(link: Link, url: Url, limit: int) -> HttpChannel:
    try:
        return HttpChannel(link, url, limit)
    except ValueError as error:
        raise StartError(str(error), "correct its address") from error


async def _greet_over_http(
    link: Link, channel: HttpChannel, patience: Patience, hint: era.Era | None
) -> bool:
    """Shake hands; true means that only the older HTTP+SSE transport can be there."""
    if hint != "legacy" and await _probe_over_http(link, channel, patience):
        return False
    channel.settle("", "")
    link.peer = Peer(era="legacy", version="")
    greeting = _send_greeting(link, patience.open)
    try:
        message = await greeting.answer
    except HttpStatusError as error:
        if error.status in (400, 404, 405, 406, 415):
            return True
        raise
    _welcome(link, message)
    session = (
        greeting.tag.headers.get(b"mcp-session-id", b"").decode("latin-1")
        if isinstance(greeting.tag, Post)
        else ""
    )
    channel.settle(session, link.peer.version)
    link.notify("notifications/initialized")
    channel.listen()
    return False


async def _probe_over_http(link: Link, channel: HttpChannel, patience: Patience) -> bool:
    channel.settle("", era.MODERN)
    link.peer = Peer(era="modern", version=era.MODERN)
    probe = _send_probe(link, patience.open)
    await asyncio.wait((probe.answer,), timeout=patience.probe * 2)
    if not probe.answer.done():
        # Some servers never answer what they do not know.
        link.cancel(probe, "no answer")
        return False
    try:
        message = await probe.answer
    except HttpStatusError as error:
        if error.status in (401, 403):
            raise
        return False
    return _adopt(link, message)


@asynccontextmanager
async def _over_event_stream(
    name: str, url: Url, patience: Patience, limit: int, owner: Owner
) -> AsyncIterator[Link]:
    link = _link(name, patience, owner)
    try:
        channel = EventStreamChannel(link, url, limit)
    except ValueError as error:
        raise StartError(str(error), "correct its address") from error
    try:
        await channel.open(patience.list)
        async with _bounded(link, patience.open):
            await _initialize(link, patience.open)
        yield link
    finally:
        link.lose("was stopped")
        await channel.close()
        await link.tasks.close()


def _link(name: str, patience: Patience, owner: Owner) -> Link:
    """A link that knows whom it is for before the server says its first word."""
    link = Link(name, patience.call)
    link.home = owner.home
    if owner.capabilities is not None:
        link.declares = {
            key: owner.capabilities[key] for key in CAPABILITIES.keys() & owner.capabilities.keys()
        }
    return link


# The two greetings.


def _send_probe(link: Link, seconds: float) -> Flight:
    params = jsonrpc.encode({"_meta": ENVELOPE})
    return _heard(link.request("server/discover", params, patience=seconds))


def _send_greeting(link: Link, seconds: float) -> Flight:
    params = {
        "protocolVersion": era.LATEST_LEGACY,
        "capabilities": CAPABILITIES if link.declares is None else link.declares,
        "clientInfo": CLIENT,
    }
    return _heard(link.request("initialize", jsonrpc.encode(params), patience=seconds))


async def _initialize(link: Link, seconds: float) -> None:
    _welcome(link, await _send_greeting(link, seconds).answer)
    link.notify("notifications/initialized")


def _adopt(link: Link, message: Message) -> bool:
    """Take the answer to a probe; false means that it does not prove a modern server."""
    if not message.result:
        return False
    said = _object(message.result)
    versions = said.get("supportedVersions")
    if not isinstance(versions, list) or era.MODERN not in versions:
        return False
    meta = said.get("_meta")
    info = meta.get(era.META_SERVER) if isinstance(meta, dict) else None
    link.peer = _peer("modern", era.MODERN, said, info)
    link.capabilities = _capabilities(said)
    return True


def _welcome(link: Link, message: Message) -> None:
    if message.error:
        raise RefusedError(link.name, "initialize", jsonrpc.read_fault(message.error))
    said = _object(message.result)
    version = said.get("protocolVersion")
    if not isinstance(version, str):
        raise LinkError(f"{link.name!r} answered initialize without a protocol version")
    link.peer = _peer("legacy", version, said, said.get("serverInfo"))
    link.capabilities = _capabilities(said)


def _peer(which: era.Era, version: str, said: dict[str, Any], info: Any) -> Peer:
    info = info if isinstance(info, dict) else {}
    return Peer(
        era=which,
        version=version,
        name=_text(info.get("name")),
        release=_text(info.get("version")),
        capabilities=jsonrpc.encode(_capabilities(said)),
        instructions=_text(said.get("instructions"), 16384),
    )


def _capabilities(said: dict[str, Any]) -> dict[str, Any]:
    found = said.get("capabilities")
    return found if isinstance(found, dict) else {}


def _object(raw: Any) -> dict[str, Any]:
    try:
        value = jsonrpc.to_python(raw)
    except jsonrpc.MalformedError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any, limit: int = 200) -> str:
    return value[:limit] if isinstance(value, str) else ""


def _succeeded(flight: Flight) -> bool:
    return not flight.answer.cancelled() and flight.answer.exception() is None


def _is_refused_as_old(greeting: Flight) -> bool:
    """Whether only a modern server can have said so: one that is slow, and yet to answer."""
    if not greeting.answer.done() or not _succeeded(greeting):
        return False
    error = greeting.answer.result().error
    return bool(error) and jsonrpc.read_fault(error).code == era.UNSUPPORTED_VERSION


def _heard(flight: Flight) -> Flight:
    """Of two greetings only one answer matters; the other may fail unseen."""
    flight.answer.add_done_callback(_look_away)
    return flight


def _look_away(answer: asyncio.Future[Message]) -> None:
    if not answer.cancelled():
        answer.exception()


def _last(link: Link) -> str:
    return f"last words on its stderr: {' | '.join(link.trace[-3:])}" if link.trace else ""


@asynccontextmanager
async def _bounded(link: Link, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise LinkError(
            f"{link.name!r} did not answer within {seconds:g} s of its start", _last(link)
        ) from None
