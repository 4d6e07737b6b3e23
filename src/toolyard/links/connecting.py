"""Connects and greets: starts or reaches a server, finds out which era it speaks, shakes hands.

A probe that is not understood must never cost a server its life for good: what
dies of `server/discover` is started once more and greeted the old way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from toolyard.core.errors import LinkError, StartError, ToolyardError
from toolyard.core.last_words import explain
from toolyard.core.model import Command, Endpoint, Peer, Url
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Executor, Pipes
from toolyard.core.sites import ANYWHERE, Placement
from toolyard.links.eventstream import EventStreamChannel
from toolyard.links.greeting import (
    CAPABILITIES,
    adopt,
    finish_greeting,
    initialize,
    is_refused_as_old,
    refuses_legacy,
    send_greeting,
    send_probe,
    succeeded,
    welcome,
)
from toolyard.links.http import HttpChannel, Post
from toolyard.links.link import Link, RequestRefusedError
from toolyard.links.owner import EVERYBODY, Owner
from toolyard.links.patience import Patience
from toolyard.links.pending import PendingRequest
from toolyard.links.refusals import HttpStatusError
from toolyard.links.stdio import StdioChannel
from toolyard.wire import era

if TYPE_CHECKING:
    from toolyard.core.leases import Deadline


def open_link(
    name: str,
    endpoint: Endpoint,
    executor: Executor,
    patience: Patience,
    limit: int,
    hint: era.Era | None,
    owner: Owner = EVERYBODY,
    placement: Placement = ANYWHERE,
    deadline: Deadline | None = None,
) -> AbstractAsyncContextManager[Link]:
    """Give a link that is ready for requests; leaving ends it and what was started for it.

    Raises:
        StartError: The server could not be started or reached.
        LinkError: It did not answer as an MCP server does.
    """
    if isinstance(endpoint, Command):
        run = Run(name, endpoint, placement, owner.name, deadline)
        return open_run(run, executor, patience, limit, hint, owner)
    return open_url(name, endpoint, patience, limit, hint, owner)


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
                url, where = running.url, running.where
                opened = open_url(run.name, url, patience, limit, hint, owner, where)
            else:
                opened = _over_pipes(run.name, running, patience, limit, hint, owner)
            async with opened as link:
                yield link
    except ToolyardError as error:
        # Its process has ended, so all that it wrote has been read by now.
        if running is not None and not isinstance(running, Address):
            _attach(error, running.stderr)
        raise


def _attach(error: ToolyardError, stderr: tuple[str, ...]) -> None:
    """Add to an error what the server wrote; a refusal is in the server's own words already."""
    if not isinstance(error, RequestRefusedError):
        explain(error, stderr)
    error.trace = stderr


def open_url(
    name: str,
    url: Url,
    patience: Patience,
    limit: int,
    hint: era.Era | None,
    owner: Owner = EVERYBODY,
    where: str = "",
) -> AbstractAsyncContextManager[Link]:
    """Give a link to an address that is ready for requests; leaving ends it.

    `where` tells people where the server runs, if it was started for this.

    Raises:
        StartError: The server could not be reached.
        LinkError: It did not answer as an MCP server does.
    """
    if url.kind == "sse":
        return _over_event_stream(name, url, patience, limit, owner, where)
    return _over_http(name, url, patience, limit, hint, owner, where)


@asynccontextmanager
async def _over_pipes(
    name: str, pipes: Pipes, patience: Patience, limit: int, hint: era.Era | None, owner: Owner
) -> AsyncIterator[Link]:
    link = _link(name, patience, owner, pipes.where)
    channel = StdioChannel(link, pipes, limit)
    try:
        await _greet_over_pipes(link, patience, hint)
        yield link
    finally:
        link.lose("was stopped")
        channel.close()
        await link.tasks.close()


async def _greet_over_pipes(link: Link, patience: Patience, hint: era.Era | None) -> None:
    """Probe, and greet the old way as soon as the probe fails, or stays unanswered for long.

    A server that was legacy the last time is probed only if it is modern now.
    """
    async with _bounded(link, patience.open):
        if hint == "legacy":
            message = await send_greeting(link, patience.open).answer
            if not refuses_legacy(message):
                finish_greeting(link, message)
                return
        probe = send_probe(link, patience.open)
        await asyncio.wait(
            (probe.answer, link.closed), timeout=patience.probe, return_when=asyncio.FIRST_COMPLETED
        )
        if link.closed.done():
            raise ProbeFatalError(f"{link.name!r} {link.closed.result()}")
        if probe.answer.done():
            if not adopt(link, probe.answer.result()):
                await initialize(link, patience.open)
            return
        # Slow, or silent because it waits for `initialize`: whichever it answers decides.
        greeting = send_greeting(link, patience.open)
        await asyncio.wait((probe.answer, greeting.answer), return_when=asyncio.FIRST_COMPLETED)
        if not probe.answer.done() and is_refused_as_old(greeting):
            await asyncio.wait((probe.answer,))
        if probe.answer.done() and succeeded(probe) and adopt(link, probe.answer.result()):
            return
        finish_greeting(link, await greeting.answer)


class ProbeFatalError(LinkError):
    """The server ended when it was probed; it may live if greeted the old way."""


@asynccontextmanager
async def _over_http(
    name: str,
    url: Url,
    patience: Patience,
    limit: int,
    hint: era.Era | None,
    owner: Owner,
    where: str,
) -> AsyncIterator[Link]:
    link = _link(name, patience, owner, where)
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
        async with _over_event_stream(name, url, patience, limit, owner, where) as older:
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
    greeting = send_greeting(link, patience.open)
    try:
        message = await greeting.answer
    except HttpStatusError as error:
        if error.status in (400, 404, 405, 406, 415):
            return True
        raise
    if hint == "legacy" and refuses_legacy(message):
        return await _greet_over_http(link, channel, patience, None)
    welcome(link, message)
    channel.settle(_session_of(greeting), link.peer.version)
    link.notify("notifications/initialized")
    channel.listen()
    return False


def _session_of(pending: PendingRequest) -> str:
    """The session that the answer to a request began; empty if none."""
    headers = pending.tag.headers if isinstance(pending.tag, Post) else {}
    return headers.get(b"mcp-session-id", b"").decode("latin-1")


async def _probe_over_http(link: Link, channel: HttpChannel, patience: Patience) -> bool:
    channel.settle("", era.MODERN)
    link.peer = Peer(era="modern", version=era.MODERN)
    probe = send_probe(link, patience.open)
    is_modern = await _is_adopted(link, probe, patience)
    session = _session_of(probe)
    if session and not is_modern:
        # Older servers begin one for whatever they are asked, and would keep it.
        channel.end_session(session)
    return is_modern


async def _is_adopted(link: Link, probe: PendingRequest, patience: Patience) -> bool:
    """Return whether the answer to a probe proves a modern server."""
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
    return adopt(link, message)


@asynccontextmanager
async def _over_event_stream(
    name: str, url: Url, patience: Patience, limit: int, owner: Owner, where: str
) -> AsyncIterator[Link]:
    link = _link(name, patience, owner, where)
    try:
        channel = EventStreamChannel(link, url, limit)
    except ValueError as error:
        raise StartError(str(error), "correct its address") from error
    try:
        await channel.open(patience.list)
        async with _bounded(link, patience.open):
            await initialize(link, patience.open)
        yield link
    finally:
        link.lose("was stopped")
        await channel.close()
        await link.tasks.close()


def _link(name: str, patience: Patience, owner: Owner, where: str) -> Link:
    """A link that knows whom it is for before the server says its first word."""
    able = owner.capabilities
    declares = None if able is None else {k: able[k] for k in CAPABILITIES.keys() & able.keys()}
    return Link(
        name,
        patience.call,
        where=where,
        declares=declares,
        home=owner.home,
        on_asked=owner.on_question,
        line_seconds=patience.line,
    )


@asynccontextmanager
async def _bounded(link: Link, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        text = f"{link.name!r} did not answer within {seconds:g} s of its start"
        raise LinkError(text) from None
