"""The clients that are known: what their files look like, and where they are.

To add one, add it here; the tests go through this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from toolyard.clients.shapes import (
    BY_VARIABLE,
    Shape,
    bare_url_is_sse,
    from_braces,
    from_shell,
    headers_by_variable,
    literal,
    nested_command,
)
from toolyard.clients.untaken import server_lists, tool_patterns
from toolyard.core.errors import UnknownNameError
from toolyard.core.names import closest

Folder = Literal["home", "config", "support"]
"""The home directory, that for configuration (XDG), or that for data of applications."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program that uses MCP servers, and keeps a list of them in a file."""

    name: str
    title: str
    shape: Shape
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


_WEB: Final = {"http": "url", "sse": "url"}
_TYPES: Final = {"http": "http", "sse": "sse"}
_SAID: Final = {"stdio": "stdio", **_TYPES}
_MILLISECONDS: Final = ("timeout", 0.001)
_SECONDS: Final = ("timeout", 1.0)

CLIENTS: Final[tuple[Client, ...]] = (
    Client(
        "claude-code",
        "Claude Code",
        Shape(words=_SAID, addresses=_WEB, timeout=_MILLISECONDS),
        (".claude.json",),
        moved=("CLAUDE_CONFIG_DIR", ".claude.json"),
        project=(".mcp.json",),
        programs=("claude",),
        marks=(".claude",),
        local=True,
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        Shape(refer=literal),
        ("Claude/claude_desktop_config.json",),
        folder="support",
    ),
    Client(
        "cursor",
        "Cursor",
        Shape(addresses=_WEB),
        (".cursor/mcp.json",),
        project=(".cursor/mcp.json",),
        programs=("cursor", "cursor-agent"),
    ),
    Client(
        "vscode",
        "VS Code",
        Shape("servers", words=_SAID, addresses=_WEB),
        ("Code/User/mcp.json",),
        folder="support",
        project=(".vscode/mcp.json",),
        programs=("code",),
    ),
    Client(
        "codex",
        "Codex",
        Shape(
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
        "Gemini CLI",
        Shape(
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
        "Qwen Code",
        Shape(
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
        "opencode",
        Shape(
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
        "Windsurf",
        Shape(addresses={"http": "serverUrl", "sse": "serverUrl"}),
        (".codeium/windsurf/mcp_config.json",),
        programs=("windsurf",),
    ),
    Client(
        "zed",
        "Zed",
        Shape(
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
        "Copilot CLI",
        Shape(
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
BY_NAME: Final = {each.name: each for each in CLIENTS}


def find_client(name: str) -> Client:
    """Give the client of that name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in BY_NAME:
        near = ", ".join(closest(name, list(BY_NAME)) or BY_NAME)
        raise UnknownNameError(f"unknown client {name[:80]!r}", f"there are: {near}")
    return BY_NAME[name]
