"""The hubs whose files can be read, and where they keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.names import closest
from toolyard.features.clients.peers.claude_plugins import read_claude_plugins
from toolyard.features.clients.peers.docker import read_docker
from toolyard.features.clients.peers.documents import PeerDocument, read_document
from toolyard.features.clients.peers.fastmcp import read_fastmcp
from toolyard.features.clients.peers.litellm import read_litellm
from toolyard.features.clients.peers.mcp_hub import read_mcp_hub
from toolyard.features.clients.peers.mcphub import read_mcphub
from toolyard.features.clients.peers.mcpm import read_mcpm
from toolyard.features.clients.peers.mcpproxy import read_mcpproxy
from toolyard.features.clients.peers.model import PeerFile
from toolyard.features.clients.peers.onemcp import read_onemcp
from toolyard.features.clients.peers.toolhive import read_toolhive
from toolyard.features.clients.places import Surroundings


@dataclass(frozen=True, slots=True)
class PeerHub:
    """A hub whose file can be read."""

    name: str
    title: str
    read: Callable[[PeerDocument], PeerFile]
    place: str
    """Its usual file, which may be a pattern: below home, or in the current folder (`./`)."""
    moved: tuple[str, str] | None = None
    """The variable that names another folder, and the pattern in it."""


PEERS: Final = (
    PeerHub("mcpproxy", "mcpproxy", read_mcpproxy, ".mcpproxy/mcp_config.json"),
    PeerHub(
        "toolhive",
        "ToolHive",
        read_toolhive,
        ".local/state/toolhive/runconfigs/*.json",
        ("XDG_STATE_HOME", "toolhive/runconfigs/*.json"),
    ),
    PeerHub("docker", "Docker MCP", read_docker, ".docker/mcp/registry.yaml"),
    PeerHub(
        "1mcp", "1MCP", read_onemcp, ".config/1mcp/mcp.json", ("ONE_MCP_CONFIG_DIR", "mcp.json")
    ),
    PeerHub("mcphub", "MCPHub", read_mcphub, "./mcp_settings.json"),
    PeerHub(
        "mcp-hub",
        "MCP Hub",
        read_mcp_hub,
        ".config/mcphub/servers.json",
        ("XDG_CONFIG_HOME", "mcphub/servers.json"),
    ),
    PeerHub("mcpm", "mcpm", read_mcpm, ".config/mcpm/servers.json"),
    PeerHub("fastmcp", "FastMCP", read_fastmcp, "./fastmcp.json"),
    PeerHub("litellm", "LiteLLM", read_litellm, "./config.yaml"),
    PeerHub(
        "claude-plugins",
        "plugins of Claude Code",
        read_claude_plugins,
        ".claude/plugins/installed_plugins.json",
        ("CLAUDE_CONFIG_DIR", "plugins/installed_plugins.json"),
    ),
)
BY_NAME: Final = {peer.name: peer for peer in PEERS}


def find_peer(name: str) -> PeerHub:
    """Return the hub of that name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in BY_NAME:
        near = ", ".join(closest(name, list(BY_NAME)) or BY_NAME)
        raise UnknownNameError(f"unknown hub {name[:80]!r}", f"there are: {near}")
    return BY_NAME[name]


def read_peer(peer: PeerHub, paths: Iterable[Path]) -> list[PeerFile]:
    """Read the files of a hub.

    Raises:
        ConfigError: One of them cannot be read.
    """
    return [peer.read(read_document(path)) for path in paths]


def usual_files(peer: PeerHub, around: Surroundings, folder: Path) -> list[Path]:
    """Return the files of a hub on this machine; `folder` is the current one.

    Raises:
        ConfigError: There are none.
    """
    for base, pattern in _places(peer, around, folder):
        if paths := sorted(path for path in base.glob(pattern) if path.is_file()):
            return paths
    place = peer.place if peer.place.startswith("./") else f"~/{peer.place}"
    raise ConfigError(
        f"{peer.title} has no file at its usual place, '{place}'",
        f"name it: toolyard import --from {peer.name} FILE",
    )


def _places(peer: PeerHub, around: Surroundings, folder: Path) -> Iterator[tuple[Path, str]]:
    if peer.moved and (moved := around.named(peer.moved[0])):
        yield moved, peer.moved[1]
        return
    if peer.place.startswith("./"):
        yield folder, peer.place[2:]
    else:
        yield around.home, peer.place
