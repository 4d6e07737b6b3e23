"""The clients that are known, each with its id, its title, its abilities and its limits.

The ids are those that people type; every command and every page uses them.

Names are measured for a hub that the client's own file calls `toolyard`: most clients put that
name before each tool's, and count both. Limits of tools are for all servers of a client together;
the hub is meant to be the only one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from toolyard.core.quirks import ClientQuirk, Fact, KnownClient

_ALL: Final = ("stdio", "http", "sse")
Entry = TypeVar("Entry")

KNOWN_CLIENTS: Final = (
    KnownClient(
        "claude-code",
        "Claude Code",
        ("claude-code",),
        _ALL,
        relists=True,
        longest_instructions=2048,
        facts=(
            Fact("relists", "reported", "since 2.1.0; before, claude-code#4118 and #13646"),
            Fact(
                "longest_instructions", "documented", "2 KB; measured with 2.1.285: 2,048 letters"
            ),
            Fact("longest_name", "hearsay", "128 with `mcp__toolyard__`; the hub's 64 fit"),
            Fact(
                "largest_result",
                "documented",
                "25,000 tokens (`MAX_MCP_OUTPUT_TOKENS`); what is larger it keeps in a file of its "
                "own, so the hub cuts nothing",
            ),
        ),
    ),
    KnownClient(
        "claude-desktop",
        "Claude Desktop",
        ("claude-ai", "claude-desktop"),
        ("stdio",),
        largest_result=1_000_000,
        facts=(
            Fact("largest_result", "reported", "1 MB, else an error (claude-code#66519)"),
            Fact("matches", "reported", "`claude-ai`, which the web app calls itself too"),
        ),
    ),
    KnownClient(
        "codex",
        "Codex",
        ("codex-mcp-client", "codex"),
        ("stdio", "http"),
        "2025-06-18",
        relists=False,
        longest_name=49,
        largest_result=40_000,
        facts=(
            Fact("era", "recorded", "0.166.0 over stdio"),
            Fact("relists", "reported", "openai/codex#10105, #33266, #37417, with a reproduction"),
            Fact("longest_name", "reported", "64 with `mcp__toolyard__` (openai/codex#8174)"),
            Fact(
                "largest_result",
                "hearsay",
                "10 KiB in 2025 (openai/codex#6544), since then about 10,000 tokens by model",
            ),
        ),
    ),
    KnownClient(
        "cursor",
        "Cursor",
        ("cursor-vscode", "cursor*"),
        _ALL,
        relists=False,
        longest_name=51,
        most_tools=80,
        facts=(
            Fact("relists", "reported", "cursor/cursor#2980, of 2025; newer versions may"),
            Fact("longest_name", "reported", "less than 60 with `toolyard` (composio#2788)"),
            Fact("most_tools", "reported", "80, before that 40 (Snowflake-Labs/mcp#77)"),
        ),
    ),
    KnownClient(
        "vscode",
        "VS Code",
        ("visual studio code*", "visual-studio-code*", "vscode*"),
        _ALL,
        relists=True,
        most_tools=100,
        facts=(
            Fact("relists", "hearsay", "its documentation speaks of dynamic discovery"),
            Fact(
                "most_tools",
                "reported",
                "128 in one request, its own among them (vscode-copilot-release#9375, #13337)",
            ),
            Fact("matches", "hearsay", "`Visual Studio Code`, with blanks or hyphens"),
        ),
    ),
    KnownClient(
        "windsurf",
        "Windsurf",
        ("windsurf*",),
        _ALL,
        most_tools=100,
        facts=(
            Fact("most_tools", "reported", "100; 50 in 2025 (cocos-mcp-server#11)"),
            Fact("matches", "reported", "`windsurf-client` and `Windsurf`"),
        ),
    ),
    KnownClient(
        "gemini",
        "Gemini CLI",
        ("gemini-cli*",),
        _ALL,
        "2025-06-18",
        relists=True,
        longest_name=51,
        facts=(
            Fact("era", "recorded", "0.61.0 over stdio"),
            Fact("relists", "reported", "gemini-cli#14375 and #21050, both merged"),
            Fact("longest_name", "reported", "64 with `mcp_toolyard_`; longer ones lose letters"),
        ),
    ),
    KnownClient(
        "qwen",
        "Qwen Code",
        ("qwen-code*", "qwen-cli*"),
        _ALL,
        "2025-11-25",
        facts=(
            Fact("era", "recorded", "0.24.4 over stdio"),
            Fact("matches", "hearsay", "what it calls itself in a session"),
        ),
    ),
    KnownClient(
        "opencode",
        "opencode",
        ("opencode",),
        ("stdio", "http"),
        "2025-11-25",
        relists=True,
        longest_name=55,
        facts=(
            Fact("era", "recorded", "1.18.33 over stdio"),
            Fact("relists", "reported", "anomalyco/opencode#5913, merged"),
            Fact("longest_name", "reported", "64 with `toolyard_` (anomalyco/opencode#24871)"),
        ),
    ),
    KnownClient(
        "copilot",
        "Copilot CLI",
        ("copilot-cli*", "github-copilot*"),
        _ALL,
        facts=(
            Fact("longest_name", "reported", "128 (github/copilot-cli#1879); the hub's 64 fit"),
            Fact("matches", "hearsay", "what it calls itself"),
        ),
    ),
    KnownClient(
        "zed", "Zed", ("zed",), ("stdio", "http"), facts=(Fact("matches", "reported", "Zed"),)
    ),
    KnownClient(
        "grok",
        "Grok",
        ("grok-shell-*",),
        ("stdio", "http"),
        "2025-11-25",
        facts=(
            Fact("era", "recorded", "1.0.41 over stdio"),
            Fact("matches", "recorded", "`grok-shell-` and the name of the server"),
        ),
    ),
    KnownClient(
        "inspector",
        "MCP Inspector",
        ("inspector-cli", "inspector-client", "mcp-inspector"),
        _ALL,
        "2025-11-25",
        facts=(Fact("era", "recorded", "2.12.0 over stdio"),),
    ),
    KnownClient(
        "mcporter",
        "mcporter",
        ("mcporter",),
        _ALL,
        "2025-11-25",
        facts=(Fact("era", "recorded", "0.12.3 over stdio"),),
    ),
    KnownClient(
        "python-sdk",
        "MCP SDK for Python, FastMCP",
        ("mcp",),
        _ALL,
        "2026-07-28",
        facts=(Fact("era", "recorded", "mcp 2.3.0, fastmcp 4.1.2: modern first, then legacy"),),
    ),
    KnownClient(
        "probe",
        "`mcp list` of Gemini CLI and Qwen Code",
        ("mcp-test-client",),
        _ALL,
        "2025-11-25",
        facts=(Fact("era", "recorded", "gemini-cli 0.61.0 asks for 2025-06-18"),),
    ),
)
"""In the order in which they are matched."""
FORMER_IDS: Final = {"copilot-cli": "copilot", "gemini-cli": "gemini", "qwen-code": "qwen"}
"""Ids that clients had once, in files and journals of then, and the ids they have now."""


def recognise_client(name: str, quirks: Mapping[str, ClientQuirk]) -> KnownClient | None:
    """The client that calls itself so; None if nothing is known of it."""
    name = name.partition(" (via ")[0].strip().lower()
    if not name:
        return None
    return next((client for client in known_clients(quirks) if _fits(name, client)), None)


def known_clients(quirks: Mapping[str, ClientQuirk]) -> Iterator[KnownClient]:
    """Every client with what the user set for it, the user's own clients first."""
    ids = {client.name for client in KNOWN_CLIENTS}
    for name, quirk in quirks.items():
        if name not in ids:
            yield _with(KnownClient(name, name, (name.lower(),)), quirk)
    for client in KNOWN_CLIENTS:
        yield _with(client, quirks.get(client.name))


def _fits(name: str, client: KnownClient) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in client.matches)


def _with(client: KnownClient, quirk: ClientQuirk | None) -> KnownClient:
    if quirk is None:
        return client
    return replace(
        client,
        relists=_chosen(quirk.relists, client.relists),
        longest_name=_chosen(quirk.longest_name, client.longest_name),
        most_tools=_chosen(quirk.most_tools, client.most_tools),
        largest_result=_chosen(quirk.largest_result, client.largest_result),
        longest_instructions=_chosen(quirk.longest_instructions, client.longest_instructions),
    )


def _chosen(own: Entry | None, usual: Entry) -> Entry:
    return usual if own is None else own
