"""The address of a hub, however a person writes it, and that of its MCP door."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlsplit

from toolyard.core.errors import ConfigError
from toolyard.links.addresses import is_loopback_name

MCP: Final = "/mcp"
EXAMPLE: Final = "write it like https://yard.example.com"


def read_hub(url: str) -> str:
    """Return the address of a hub without the path of its MCP door.

    Raises:
        ConfigError: It is not the address of a hub.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not url.isascii():
        raise ConfigError(f"{url[:200]!r} is not the address of a hub", EXAMPLE)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ConfigError("the address of a hub has no user, query or fragment", EXAMPLE)
    if parts.scheme == "http" and not is_loopback_name(host):
        raise ConfigError(f"{host!r} without https would show your login to others", EXAMPLE)
    path = parts.path.rstrip("/").removesuffix(MCP)
    if f"{path}/".startswith(f"{MCP}/"):
        hint = "name the hub alone; choose with: toolyard mcp --hub URL --profile NAME"
        raise ConfigError(f"{parts.path!r} is a part of a hub", hint)
    return f"{parts.scheme}://{parts.netloc.lower()}{path}"


def door_of(hub: str, profile: str = "", server: str = "") -> str:
    """Return the address of a hub's MCP door, or of the part that shows a profile or a server."""
    part = f"/p/{quote(profile, safe='')}" if profile else ""
    part = f"/s/{quote(server, safe='')}" if server else part
    return f"{hub}{MCP}{part}"


def hub_of(door: str) -> str:
    """Return the hub to which a login belongs, by the door that it is kept under."""
    return door.removesuffix(MCP)
