"""Looks at every port of this user for MCP servers, and finds one again that has moved."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import urlsplit

from toolyard.core.errors import SourceError, StartError, ToolyardError
from toolyard.core.model import Identity, Peer, Url
from toolyard.links.probe import inspect, probe
from toolyard.sources.holders import Holder, find_holders
from toolyard.sources.listeners import ONLY_V6, Listener, read_listeners

PATHS: Final[tuple[tuple[str, Literal["http", "sse"]], ...]] = (
    ("/mcp", "http"),
    ("/", "http"),
    ("/sse", "sse"),
)
"""Where servers usually are, tried in this order."""
ASK_SECONDS: Final = 2.0
AT_ONCE: Final = 16
_NOBODY: Final = Holder(0, "")


@dataclass(frozen=True, slots=True)
class Found:
    """An MCP server that runs on this machine."""

    name: str
    """What it can be adopted as; no two that were found together have the same."""
    port: int
    url: Url
    peer: Peer
    tools: tuple[str, ...]
    holder: Holder

    @property
    def identity(self) -> Identity:
        """What it is recognised by when its port has changed."""
        return Identity(self.holder.executable, self.peer.name)


async def sweep(
    only: frozenset[int] = frozenset(), skip: frozenset[int] = frozenset()
) -> tuple[Found, ...]:
    """Give every MCP server on a loopback port of this user, or on those ports only.

    Raises:
        SourceError: This system does not tell which ports are in use.
    """
    listeners, holders = await asyncio.to_thread(_mine)
    turn = asyncio.Semaphore(AT_ONCE)
    ports = {each.port: each for each in sorted(listeners, reverse=True)}
    chosen = sorted((ports.keys() & only if only else ports.keys()) - skip)

    async def look(listener: Listener) -> Found | None:
        async with turn:
            return await _look(listener, holders.get(listener.inode, _NOBODY))

    found = await asyncio.gather(*(look(ports[port]) for port in chosen))
    return _named([each for each in found if each is not None])


async def _look(listener: Listener, holder: Holder) -> Found | None:
    for path, kind in PATHS:
        url = Url(f"http://{_host(listener)}:{listener.port}{path}", kind)
        try:
            peer, offers = await inspect(url, ASK_SECONDS)
        except ToolyardError as error:
            if "did not answer" in str(error):
                return None  # nor will it on another path
            continue
        tools = tuple(offer.key for offer in offers.tools)
        return Found(peer.name, listener.port, url, peer, tools, holder)
    return None


def _named(found: list[Found]) -> tuple[Found, ...]:
    """The same with names that can be written down, and told apart by port where need be."""
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "-", each.name).strip("-.")[:50] for each in found]
    names = [name or "server" for name in plain]
    return tuple(
        replace(each, name=name if names.count(name) == 1 else f"{name}-{each.port}")
        for each, name in zip(found, names, strict=True)
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
    able = [each for each in listeners if _holder(each, holders) == identity.executable]
    if not identity.executable or any(each.port == parts.port for each in able):
        return url
    for each in able:
        moved = replace(url, url=parts._replace(netloc=f"{_host(each)}:{each.port}").geturl())
        try:
            peer = await probe(moved.url, ASK_SECONDS, moved.kind)
        except ToolyardError:
            continue
        if peer.name == identity.name:
            return moved
    stranger = next((_holder(e, holders) for e in listeners if e.port == parts.port), "")
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
    mine = [each for each in listeners if each.uid == os.geteuid()]
    return mine, find_holders(frozenset(each.inode for each in mine))


def _host(listener: Listener) -> str:
    return "[::1]" if listener.rank == ONLY_V6 else "127.0.0.1"
