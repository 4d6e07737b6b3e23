"""The paths of the MCP door: which part of the yard each shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from toolyard.core.agents import spelled
from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Snapshot
from toolyard.core.profiles import unknown_profile
from toolyard.relay.view import listed_for
from toolyard.relay.view_key import ViewKey

MCP: Final = "/mcp"
BELOW: Final = "/mcp/"
PATHS: Final = "/mcp, /mcp/p/PROFILE, /mcp/s/SERVER, /mcp/a/AGENT[/e/EXECUTOR][/s/SERVER]"


@dataclass(frozen=True, slots=True)
class Way:
    """What a path asks for; empty for the whole yard."""

    profile: str = ""
    server: str = ""
    agent: str = ""
    executor: str = ""


WHOLE: Final = Way()
LOCAL: Final = "local"
"""Where an agent runs whose path does not say it."""
_MARKS: Final = {"p": "profile", "s": "server", "a": "agent", "e": "executor"}
_ORDERS: Final = (["p"], ["s"], ["a"], ["a", "s"], ["a", "e"], ["a", "e", "s"])


def read_way(path: str) -> Way | None:
    """What a path of the MCP door asks for; None if it is none of its paths."""
    if path == MCP:
        return WHOLE
    words = [unquote(word) for word in path.removeprefix(BELOW).split("/")]
    if len(words) % 2 or words[::2] not in _ORDERS or not all(words):
        return None
    named = dict(zip(words[::2], words[1::2], strict=True))
    way = Way(**{_MARKS[mark]: name for mark, name in named.items()})
    return replace(way, agent=spelled(way.agent), executor=spelled(way.executor))


def exposed(usual: ViewKey, way: Way, snapshot: Snapshot) -> ViewKey:
    """How the yard is shown to whoever comes this way.

    Raises:
        UnknownNameError: It asks for what there is not. Never is everything shown instead.
    """
    if way.profile:
        if way.profile not in snapshot.profiles:
            raise unknown_profile(way.profile, snapshot.profiles)
        return replace(usual, profile=way.profile)
    shown = usual
    if way.agent:
        roster = snapshot.roster
        agent, executor = roster.agent(way.agent).id, roster.executor(way.executor)
        shown = replace(shown, agent=agent, executor=executor)
        if way.server and way.server not in listed_for(snapshot, shown):
            hint = f"see: toolyard resolve --agent {agent}"
            raise UnknownNameError(f"{agent!r} is given no server {way.server[:80]!r}", hint)
    elif way.server and way.server not in _aliases(snapshot):
        raise UnknownNameError(f"unknown server {way.server[:80]!r}", "see: toolyard list")
    if way.server:
        shown = replace(shown, server=way.server, separator="")
    return shown


def _aliases(snapshot: Snapshot) -> set[str]:
    entries = snapshot.entries.values()
    return {entry.alias for entry in entries if not entry.server.agents}
