"""Keeps a state directory as an older commit writes it, as text, for the tests of upgrades.

    python scripts/keep_state.py COMMIT tests/records/states/NAME

Checks the commit out beside this tree, runs its hub in a home of its own, does there what leaves
something behind (calls, approvals, a tool that waits, a token, an agent's list, a profile), and
writes what it left: the database as SQL, the rest as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRIPTED = ROOT / "tests" / "e2e" / "scripted.py"
KEPT = ("state/tokens.json", "state/inputs.json", "config/profiles/review.json")
ENVIRONMENT = ("-e", "LEVEL=1")
"""Profiles had such a field once; whoever wrote it keeps the profile."""
AGENT = {
    "enabled": True,
    "servers": {"shop": {"server": "shop", "mode": "per_session"}, "docs": {"url": "http://a/mcp"}},
    "meta": {"docs": {"description": "The docs"}},
}


def main(commit: str, folder: Path) -> None:
    """Write the state that a commit leaves behind into a folder."""
    home = Path(tempfile.mkdtemp(prefix="ty-"))
    try:
        with _tree(commit) as tree:
            _live(home, tree)
        folder.mkdir(parents=True, exist_ok=True)
        _dump(home / "state" / "toolyard.db", folder / "toolyard.sql")
        for name in KEPT:
            if (home / name).exists():
                shutil.copy(home / name, folder)
    finally:
        shutil.rmtree(home)


@contextmanager
def _tree(commit: str) -> Iterator[Path]:
    tree = Path(tempfile.mkdtemp(prefix="tree-"))
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", "--force", str(tree), commit], check=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _live(home: Path, tree: Path) -> None:
    """Use the hub of a tree as a person would."""
    script, config = home / "shop.json", home / "config" / "servers.json"
    config.parent.mkdir()
    entry = {"command": sys.executable, "args": [str(SCRIPTED), str(script)]}
    config.write_text(json.dumps({"mcpServers": {"shop": entry}}))

    def run(*words: str, given: str = "", must: bool = True) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "TOOLYARD_HOME": str(home)}
        env |= {"PYTHONPATH": str(tree / "src"), "TOOLYARD_HISTORY_BODIES": "on"}
        command = [sys.executable, "-P", "-m", "toolyard", *words]
        done = subprocess.run(command, env=env, input=given, text=True, capture_output=True)
        # A command that the commit does not have yet leaves nothing behind.
        if must and done.returncode and "no such command" not in done.stderr:
            raise SystemExit(f"{' '.join(words)}: {done.stderr}")

    _say(script, look="looks", buy="buys")
    run("up", "--detach", "--config", str(config))
    try:
        run("call", "shop", "look", "what=shelf")
        run("call", "shop", "buy", must=False)  # ends in an error of the tool
        _say(script, look="looks", buy="buys a lot", sell="sells")
        run("server", "stop", "shop")
        run("call", "shop", "look", "what=door")
        run("token", "create", "ci", "--servers", "shop")
        run("profile", "set", "review", "--hide", "shop/buy", *ENVIRONMENT, must=False)
        run("agent", "set", "codex", "-", given=json.dumps(AGENT))
        run("policy", "set", "docker", "deny=docs", "--yes")
    finally:
        run("down")


def _say(script: Path, **tools: str) -> None:
    """Let the server offer these tools with these descriptions from its next start on."""
    schema: dict[str, Any] = {"type": "object", "properties": {"what": {"type": "string"}}}
    listed = [{"name": n, "description": text, "inputSchema": schema} for n, text in tools.items()]
    fine = {"content": [{"type": "text", "text": "done"}]}
    replies = {"tools/list": {"tools": listed}, "tools/call look": fine}
    replies["tools/call buy"] = {"content": [{"type": "text", "text": "sold out"}], "isError": True}
    texts = {method: json.dumps(reply) for method, reply in replies.items()}
    said = {"capabilities": {"tools": {"listChanged": True}}, "replies": texts}
    script.write_text(json.dumps(said))


def _dump(database: Path, file: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        lines = [*connection.iterdump(), f"PRAGMA user_version={version};"]
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
