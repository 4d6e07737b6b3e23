"""The tools that a client would get: what its person sees, by server, with the harm each can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Struct

from toolyard.core.caller import Caller
from toolyard.core.errors import UnknownNameError
from toolyard.core.tiers import Tier, tier_of
from toolyard.relay.view import View

MOST: Final = 1000
"""Tools that are shown one by one."""
_LONGEST: Final = 140


@dataclass(frozen=True, slots=True)
class PathViews:
    """The views that callers have at the paths of the MCP door."""

    look: Callable[[str, Caller], View]
    """Raises `UnknownNameError` where a caller has none."""


class PreviewTool(Struct, frozen=True):
    """A tool, and how much harm it can do."""

    name: str
    description: str
    tier: Tier


class PreviewServer(Struct, frozen=True):
    """A server, and those of its tools that a client would get."""

    name: str
    tools: list[PreviewTool]

    def count(self, tier: Tier) -> int:
        """The number of its tools with that much harm."""
        return sum(tool.tier is tier for tool in self.tools)


class ToolPreview(Struct, frozen=True):
    """Everything that a client would get."""

    servers: list[PreviewServer]
    left_out: int = 0
    """Tools beyond those that are shown."""

    @property
    def total(self) -> int:
        """The number of tools."""
        return sum(len(server.tools) for server in self.servers) + self.left_out

    def count(self, tier: Tier) -> int:
        """The number of tools with that much harm."""
        return sum(server.count(tier) for server in self.servers)


class _Described(Struct, frozen=True):
    title: str = ""
    description: str = ""


def preview(views: PathViews, path: str, caller: Caller) -> ToolPreview:
    """Return what a caller would get at a path of the MCP door."""
    try:
        view = views.look(path, caller)
    except UnknownNameError:
        return ToolPreview([])
    servers: dict[str, list[PreviewTool]] = {}
    left_out = 0
    for route in view.tools.values():
        if route.server is None:
            continue
        if sum(map(len, servers.values())) >= MOST:
            left_out += 1
            continue
        offer = route.offer
        tool = PreviewTool(
            route.key, _describe(offer.raw), tier_of(offer, dict(view.entries[route.alias].marks))
        )
        servers.setdefault(route.alias, []).append(tool)
    order = sorted(servers.items())
    return ToolPreview([PreviewServer(name, tools) for name, tools in order], left_out)


def _describe(raw: bytes) -> str:
    try:
        described = msgspec.json.decode(raw, type=_Described)
    except msgspec.DecodeError:
        return ""
    text = " ".join((described.description or described.title).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
