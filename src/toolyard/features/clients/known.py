"""The clients whose files are known: the shape of these, and where they are.

Ids and titles are those of `core/known_clients.py`. To add a client, add it there and here; the
tests go through both tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from toolyard.core.errors import UnknownNameError
from toolyard.core.known_clients import KNOWN_CLIENTS
from toolyard.core.names import closest
from toolyard.features.clients.shapes import (
    BY_VARIABLE,
    FileShape,
    bare_url_is_sse,
    from_braces,
    from_shell,
    headers_by_variable,
    literal,
    nested_command,
)
from toolyard.features.clients.untaken import server_lists, tool_patterns

Folder = Literal["home", "config", "support"]
"""The home directory, that for configuration (XDG), or that for data of applications."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program that uses MCP servers, and keeps a list of them in a file."""

    name: str
    """Its id, under which its quirks are known too."""
    shape: FileShape
    files: tuple[str, ...]
    """Its file for the user, below `folder`; of several the first that exists, else the first."""
    folder: Folder = "home"
    moved: tuple[str, str] | None = None
    """The variable that names another folder, and the file in it."""
    project: tuple[str, ...] = ()
    """Its file in a project; empty if it has none."""
    programs: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """Folders below home that tell that it is there, beside those its files are in."""
    local: bool = False
    """Its own file holds servers for single projects too."""

    @property
    def title(self) -> str:
        """The name by which people know it."""
        return _TITLES[self.name]


_TITLES: Final = {client.name: client.title for client in KNOWN_CLIENTS}
_WEB: Final = {"http": "url", "sse": "url"}
_TYPES: Final = {"http": "http", "sse": "sse"}
_SAID: Final = {"stdio": "stdio", **_TYPES}
_MILLISECONDS: Final = ("timeout", 0.001)
_SECONDS: Final = ("timeout", 1.0)

CLIENTS: Final[tuple[Client, ...]] = (
    Client(
        "claude-code",
        FileShape(words=_SAID, addresses=_WEB, timeout=_MILLISECONDS),
        (".claude.json",),
        moved=("CLAUDE_CONFIG_DIR", ".claude.json"),
        project=(".mcp.json",),
        programs=("claude",),
        marks=(".claude",),
        local=True,
    ),
    Client(
        "claude-desktop",
        FileShape(refer=literal),
        ("Claude/claude_desktop_config.json",),
        folder="support",
    ),
    Client(
        "cursor",
        FileShape(addresses=_WEB),
        (".cursor/mcp.json",),
        project=(".cursor/mcp.json",),
        programs=("cursor", "cursor-agent"),
    ),
    Client(
        "vscode",
        FileShape("servers", words=_SAID, addresses=_WEB),
        ("Code/User/mcp.json",),
        folder="support",
        project=(".vscode/mcp.json",),
        programs=("code",),
    ),
    Client(
        "codex",
        FileShape(
            "mcp_servers",
            "toml",
            addresses={"http": "url"},
            headers="http_headers",
            mend=headers_by_variable,
            mended=BY_VARIABLE,
            timeout=("tool_timeout_sec", 1.0),
        ),
        (".codex/config.toml",),
        moved=("CODEX_HOME", "config.toml"),
        project=(".codex/config.toml",),
        programs=("codex",),
    ),
    Client(
        "gemini",
        FileShape(
            words=_TYPES,
            addresses=_WEB,
            refer=from_shell,
            timeout=_MILLISECONDS,
            elsewhere=server_lists,
        ),
        (".gemini/settings.json",),
        moved=("GEMINI_CLI_HOME", ".gemini/settings.json"),
        project=(".gemini/settings.json",),
        programs=("gemini",),
    ),
    Client(
        "qwen",
        FileShape(
            addresses={"http": "httpUrl", "sse": "url"},
            mend=bare_url_is_sse,
            refer=from_shell,
            timeout=_MILLISECONDS,
            elsewhere=server_lists,
        ),
        (".qwen/settings.json",),
        moved=("QWEN_HOME", "settings.json"),
        project=(".qwen/settings.json",),
        programs=("qwen",),
    ),
    Client(
        "opencode",
        FileShape(
            "mcp",
            words={"stdio": "local", "http": "remote", "sse": "remote"},
            addresses=_WEB,
            one_list=True,
            env="environment",
            refer=from_braces,
            elsewhere=tool_patterns,
        ),
        ("opencode/opencode.jsonc", "opencode/opencode.json"),
        folder="config",
        project=("opencode.json", "opencode.jsonc"),
        programs=("opencode",),
    ),
    Client(
        "windsurf",
        FileShape(addresses={"http": "serverUrl", "sse": "serverUrl"}),
        (".codeium/windsurf/mcp_config.json",),
        programs=("windsurf",),
    ),
    Client(
        "zed",
        FileShape(
            "context_servers",
            fixed=(("source", "custom"),),
            words=_TYPES,
            addresses=_WEB,
            mend=nested_command,
            timeout=_SECONDS,
        ),
        ("zed/settings.json",),
        folder="config",
        project=(".zed/settings.json",),
        programs=("zed", "zeditor"),
    ),
    Client(
        "copilot",
        FileShape(
            fixed=(("tools", ["*"]),),
            words={"stdio": "local", **_TYPES},
            addresses=_WEB,
            timeout=_MILLISECONDS,
        ),
        (".copilot/mcp-config.json",),
        moved=("COPILOT_HOME", "mcp-config.json"),
        project=(".github/mcp.json",),
        programs=("copilot",),
    ),
)
BY_NAME: Final = {client.name: client for client in CLIENTS}


def find_client(name: str) -> Client:
    """Give the client of that name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in BY_NAME:
        near = ", ".join(closest(name, list(BY_NAME)) or BY_NAME)
        raise UnknownNameError(f"unknown client {name[:80]!r}", f"there are: {near}")
    return BY_NAME[name]
