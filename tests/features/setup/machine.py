"""A machine as people have it: five clients, eighteen servers in their files, all by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import stub_command

GITHUB = "ghp_notARealTokenOnlyForThisTest0123"
SLACK = "xoxb-0000-not-a-real-token"
BEARER = "not-a-real-bearer-token-42"
PASSWORD = "not-a-real-password"
SECRETS = (GITHUB, SLACK, BEARER, PASSWORD)
TAKEN = 17
"""Of eighteen entries, two run the same."""
READY = 14


def stub(name: str, *flags: str, **more: Any) -> dict[str, Any]:
    """The entry of a server that starts."""
    command = stub_command("--name", name, "--tools-only", *flags)
    return {"command": command[0], "args": command[1:], **more}


def fill(home: Path) -> dict[Path, bytes]:
    """Write the files of five clients; return them."""
    (home / "work").mkdir()
    env_file = home / "vars.env"
    env_file.write_text("MODE=fast\n# a note\nexport LEVEL='2'\n")
    files = {
        home / ".claude.json": json.dumps(_claude(home), indent=2),
        home / ".cursor" / "mcp.json": _cursor(),
        home / ".codex" / "config.toml": _codex(),
        home / ".gemini" / "settings.json": json.dumps(_gemini()),
        home / "config" / "Code" / "User" / "mcp.json": json.dumps(_vscode(env_file), indent="\t"),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return contents(files)


def contents(files: Mapping[Path, object]) -> dict[Path, bytes]:
    """The bytes of these files, as they are now."""
    return {path: path.read_bytes() for path in files}


def _claude(home: Path) -> dict[str, Any]:
    web = f"http://127.0.0.1:{free_port()}/mcp"
    return {
        "numStartups": 7,
        "mcpServers": {
            "time": stub("time"),
            "github": stub("github", env={"GITHUB_TOKEN": GITHUB}),
            "files": stub("files"),
            "web": {
                "type": "http",
                "url": web,
                "headers": {"Authorization": f"Bearer {BEARER}"},
            },
        },
        "projects": {str(home / "work"): {"mcpServers": {"local": stub("local")}}},
    }


def _cursor() -> str:
    servers = {
        "files-too": stub("files"),
        "slack": stub("slack", env={"SLACK": SLACK}),
        "missing": {"command": "there-is-no-such-program"},
        "notes": stub("notes"),
    }
    lines = (f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in servers.items())
    body = ",\n".join(lines)
    return f'{{\n  // mine\n  "mcpServers": {{\n{body},  // the last\n  }},\n}}\n'


def _codex() -> str:
    servers = {
        "db": stub("db", "--resource", f"postgres://me:{PASSWORD}@localhost/x"),
        "picked": {**stub("picked", "--tools", "3"), "enabled_tools": ["tool_0", "tool_2"]},
        "exits": stub("exits", "--exit-at-once", "3"),
    }
    text = 'model = "o9"  # the one\n'
    for name, entry in servers.items():
        text += f"\n[mcp_servers.{name}]\n"
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    return text


def _gemini() -> dict[str, Any]:
    limited = stub("limited", "--tools", "2", excludeTools=["tool_1"], timeout=30_000)
    servers = {"limited": limited, "plain": stub("plain"), "trusted": stub("trusted", trust=True)}
    return {"theme": "dark", "mcpServers": servers}


def _vscode(env_file: Path) -> dict[str, Any]:
    servers = {
        "one": stub("one"),
        "two": stub("two", envFile=str(env_file)),
        "three": stub("three"),
    }
    return {"servers": servers, "inputs": []}
