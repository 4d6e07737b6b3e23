"""The paths of the MCP door: which part of the yard each shows."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from toolyard.core.agents import spelled
from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Snapshot
from toolyard.core.profiles import unknown_profile
from toolyard.relay.view_key import ViewKey
from toolyard.relay.views import Resolve

MCP: Final = "/mcp"
BELOW: Final = "/mcp/"
PATHS: Final = "/mcp, /mcp/p/PROFILE, /mcp/s/SERVER, /mcp/a/AGENT[/e/EXECUTOR][/s/SERVER]"


class PathScope(Struct, frozen=True):
    """The part of the yard that a path asks for; empty for all of it."""

    profile: str = ""
    server: str = ""
    agent: str = ""
    executor: str = ""


WHOLE: Final = PathScope()
LOCAL: Final = "local"
"""The executor of an agent whose path names none."""
_MARKS: Final = {"p": "profile", "s": "server", "a": "agent", "e": "executor"}
_ORDERS: Final = (["p"], ["s"], ["a"], ["a", "s"], ["a", "e"], ["a", "e", "s"])


def read_scope(path: str) -> PathScope | None:
    """Read a path of the MCP door; None if it is none of its paths."""
    if path == MCP:
        return WHOLE
    words = [unquote(word) for word in path.removeprefix(BELOW).split("/")]
    if len(words) % 2 or words[::2] not in _ORDERS or not all(words):
        return None
    named = dict(zip(words[::2], words[1::2], strict=True))
    scope = PathScope(**{_MARKS[mark]: name for mark, name in named.items()})
    return replace(scope, agent=spelled(scope.agent), executor=spelled(scope.executor))


def narrowed(usual: ViewKey, scope: PathScope, snapshot: Snapshot, resolve: Resolve) -> ViewKey:
    """Narrow the usual view_key to what a path asks for; `resolve` says what an agent is given.

    Raises:
        UnknownNameError: It asks for what there is not. Never is everything shown instead.
    """
    if scope.profile:
        if scope.profile not in snapshot.profiles:
            raise unknown_profile(scope.profile, snapshot.profiles)
        return replace(usual, profile=scope.profile)
    shown = usual
    if scope.agent:
        roster = snapshot.roster
        agent, executor = roster.agent(scope.agent).id, roster.executor(scope.executor)
        shown = replace(shown, agent=agent, executor=executor)
        if scope.server and scope.server not in resolve(agent, executor).names:
            hint = f"see: toolyard agent resolve {agent}"
            raise UnknownNameError(f"{agent!r} is given no server {scope.server[:80]!r}", hint)
    elif scope.server and scope.server not in _aliases(snapshot):
        raise UnknownNameError(f"unknown server {scope.server[:80]!r}", "see: toolyard list")
    if scope.server:
        shown = replace(shown, server=scope.server, separator="", pattern_separator=usual.separator)
    return shown


def _aliases(snapshot: Snapshot) -> set[str]:
    entries = snapshot.entries.values()
    return {entry.alias for entry in entries if not entry.server.agents}
