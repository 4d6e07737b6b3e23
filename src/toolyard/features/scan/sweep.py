"""Looks at every port of this user for MCP servers, and finds one again that has moved."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from toolyard.core.errors import SourceError, StartError, ToolyardError
from toolyard.core.model import Identity, Peer, Url
from toolyard.executors.local.holders import Holder, find_holders
from toolyard.executors.local.listeners import ONLY_V6, Listener, read_listeners
from toolyard.links.probe import inspect, probe

PATHS: Final[tuple[tuple[str, Literal["http", "sse"]], ...]] = (
    ("/mcp", "http"),
    ("/", "http"),
    ("/sse", "sse"),
)
"""The usual places of servers, tried in this order."""
ASK_SECONDS: Final = 2.0
AT_ONCE: Final = 16
_NOBODY: Final = Holder(0, "")


@dataclass(frozen=True, slots=True)
class ScannedServer:
    """An MCP server that runs on this machine."""

    name: str
    """The name it can be adopted as; no two that were found together have the same."""
    port: int
    url: Url
    peer: Peer
    tools: tuple[str, ...]
    holder: Holder

    @property
    def identity(self) -> Identity:
        """The signs it is recognised by when its port has changed."""
        return Identity(self.holder.executable, self.peer.name)


class ScannedRow(Struct, frozen=True):
    """An MCP server that runs on this machine, as it is told."""

    name: str
    port: int
    url: str
    transport: str
    pid: int | None
    executable: str | None
    era: str
    protocol: str
    server: str
    version: str
    tools: list[str]


def scanned_row(server: ScannedServer) -> ScannedRow:
    """Return a server that was found, as it is told."""
    peer, holder = server.peer, server.holder
    return ScannedRow(
        name=server.name,
        port=server.port,
        url=server.url.url,
        transport=server.url.kind,
        pid=holder.pid or None,
        executable=holder.executable or None,
        era=peer.era,
        protocol=peer.version,
        server=peer.name,
        version=peer.release,
        tools=list(server.tools),
    )


async def sweep(
    only: frozenset[int] = frozenset(), skip: frozenset[int] = frozenset()
) -> tuple[ScannedServer, ...]:
    """Give every MCP server on a loopback port of this user, or on those ports only.

    Raises:
        SourceError: This system does not tell which ports are in use.
    """
    listeners, holders = await asyncio.to_thread(_mine)
    turn = asyncio.Semaphore(AT_ONCE)
    ports = {listener.port: listener for listener in sorted(listeners, reverse=True)}
    chosen = sorted((ports.keys() & only if only else ports.keys()) - skip)

    async def look(listener: Listener) -> ScannedServer | None:
        async with turn:
            return await _look(listener, holders.get(listener.inode, _NOBODY))

    servers = await asyncio.gather(*(look(ports[port]) for port in chosen))
    return _named([server for server in servers if server is not None])


async def _look(listener: Listener, holder: Holder) -> ScannedServer | None:
    for path, kind in PATHS:
        url = Url(f"http://{_host(listener)}:{listener.port}{path}", kind)
        try:
            peer, offers = await inspect(url, ASK_SECONDS)
        except ToolyardError as error:
            if "did not answer" in str(error):
                return None  # nor will it on another path
            continue
        tools = tuple(offer.key for offer in offers.tools)
        return ScannedServer(peer.name, listener.port, url, peer, tools, holder)
    return None


def _named(servers: list[ScannedServer]) -> tuple[ScannedServer, ...]:
    """The same with names that can be written down, and told apart by port where need be."""
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "-", server.name).strip("-.")[:50] for server in servers]
    names = [name or "server" for name in plain]
    return tuple(
        replace(server, name=name if names.count(name) == 1 else f"{name}-{server.port}")
        for server, name in zip(servers, names, strict=True)
    )


async def find_again(url: Url, identity: Identity) -> Url:
    """Give the address of an adopted server now: where it was, or where it has moved to.

    Raises:
        StartError: Another program has its port, and it is nowhere else.
    """
    try:
        listeners, holders = await asyncio.to_thread(_mine)
    except SourceError:
        return url
    parts = urlsplit(url.url)
    able = [listener for listener in listeners if _holder(listener, holders) == identity.executable]
    if not identity.executable or any(listener.port == parts.port for listener in able):
        return url
    for listener in able:
        place = f"{_host(listener)}:{listener.port}"
        moved = replace(url, url=parts._replace(netloc=place).geturl())
        try:
            peer = await probe(moved.url, ASK_SECONDS, moved.kind)
        except ToolyardError:
            continue
        if peer.name == identity.name:
            return moved
    others = (listener for listener in listeners if listener.port == parts.port)
    stranger = next((_holder(listener, holders) for listener in others), "")
    if stranger:
        text = f"port {parts.port} now belongs to '{stranger}', not to '{identity.executable}'"
        raise StartError(text, "start the server again, or remove it from the list")
    return url


def _holder(listener: Listener, holders: dict[int, Holder]) -> str:
    return holders.get(listener.inode, _NOBODY).executable


def _mine() -> tuple[list[Listener], dict[int, Holder]]:
    """This user's listeners, and their processes."""
    listeners = read_listeners()
    if listeners is None:
        text = "this system does not tell which ports are in use"
        raise SourceError(text, "add the server by its address: toolyard add NAME --url URL")
    mine = [listener for listener in listeners if listener.uid == os.geteuid()]
    return mine, find_holders(frozenset(listener.inode for listener in mine))


def _host(listener: Listener) -> str:
    return "[::1]" if listener.rank == ONLY_V6 else "127.0.0.1"
