"""The hub's own entry in a client's file: its content, and the way to recognise it.

There is no mark in it: clients complain about keys they do not know, or drop them.
"""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.endpoint import EndpointEntry
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.tokens.model import PREFIX
from toolyard.installation import NAME, this_installation
from toolyard.settings import HOME, Settings, moved_places, read_settings

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def own_command(settings: Settings, agent: str = "", profile: str = "") -> Command:
    """Give the command with which a client starts us, wherever it runs.

    Args:
        agent: The agent it is started for, if any.
        profile: The profile it shows, if any.
    """
    argv = (*this_installation().words, "mcp")
    env = os.environ
    # Clients pass on little of their environment, so what is not usual must be said.
    usual = {key: env[key] for key in env if not key.startswith("TOOLYARD_") or key == HOME}
    if settings.config_file != read_settings({}, usual).config_file:
        argv += ("--config", str(settings.config_file))
    if agent:
        argv += ("--agent", agent)
    if profile:
        argv += ("--profile", profile)
    return Command(argv, tuple(moved_places(env).items()))


def remote_command(hub: str, profile: str = "") -> Command:
    """Give the command with which a client starts what stands in for a hub elsewhere."""
    argv = (*this_installation().words, "mcp", "--hub", hub)
    if profile:
        argv += ("--profile", profile)
    return Command(argv, tuple(moved_places(os.environ).items()))


def own_entry(settings: Settings) -> EndpointEntry:
    """Give the entry for a client that keeps its servers as most do."""
    command = own_command(settings)
    entry: EndpointEntry = {"command": command.argv[0], "args": list(command.argv[1:])}
    return entry | ({"env": dict(command.env)} if command.env else {})


def own_address(url: str, token: str, agent: str = "", profile: str = "") -> Url:
    """Give the address of the hub, with the header that lets a client in."""
    path = f"/mcp/a/{agent}" if agent else f"/mcp/p/{profile}" if profile else "/mcp"
    return Url(f"{url}{path}", "http", (("Authorization", f"Bearer {token}"),))


def is_ours(name: str, endpoint: Endpoint) -> bool:
    """Return whether an entry leads to a hub of ours: by the command, or by name and address.

    An address on another machine is ours if a token goes with it that a hub has made.
    """
    if isinstance(endpoint, Command):
        return _is_our_command(endpoint.argv)
    try:
        parts = urlsplit(endpoint.url)
    except ValueError:
        return False
    is_door = parts.path == "/mcp" or parts.path.startswith("/mcp/")
    is_known = parts.hostname in LOOPBACK or _has_our_token(endpoint)
    return name == NAME and is_door and is_known


def _has_our_token(endpoint: Url) -> bool:
    headers = {name.lower(): value for name, value in endpoint.headers}
    return headers.get("authorization", "").startswith(f"Bearer {PREFIX}")


def _is_our_command(argv: tuple[str, ...]) -> bool:
    words = [*argv]
    if "-m" in words[:4]:
        words = words[words.index("-m") + 1 :]
    elif _program(words) == "uvx" and NAME in words:
        words = words[words.index(NAME) :]
    return _program(words) == NAME and "mcp" in words[1:2]


def _program(words: list[str]) -> str:
    return words[0].replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe") if words else ""
