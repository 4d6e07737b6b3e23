"""Servers that announced themselves can be taken into the list, once a person has said so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.fixtures.forking import run as run_forked
from toolyard.announce import Announcements


def toolyard(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, with a home of its own."""
    env = {**os.environ, "TOOLYARD_HOME": str(folder / "home")}
    return run_forked([sys.executable, "-m", "toolyard", *words], env=env, cwd=folder)


def announce_command(folder: Path) -> None:
    """Announce a server of this project that is started by a command."""
    entry = {
        "name": "weather",
        "pid": os.getpid(),
        "http": {"enabled": False},
        "transports": [{"type": "stdio", "command": ["weather-server", "--city", "a b"]}],
    }
    (folder / ".git").mkdir()
    Announcements(folder / ".nisaba" / "mcp_servers.json").register_server("weather_1", entry)


def test_a_command_from_a_project_file_is_shown_and_not_taken_without_a_word(
    tmp_path: Path,
) -> None:
    announce_command(tmp_path)

    done = toolyard(tmp_path, "scan", "adopt", "weather")

    assert done.returncode != 0
    assert "weather-server --city 'a b'" in done.stderr
    assert not (tmp_path / "home" / "config" / "servers.json").exists()


def test_an_announced_server_is_adopted_with_its_exact_command(tmp_path: Path) -> None:
    announce_command(tmp_path)

    done = toolyard(tmp_path, "--json", "scan", "adopt", "weather", "--yes")

    assert done.returncode == 0, done.stderr
    file = Path(json.loads(done.stdout)["file"])
    entry = json.loads(file.read_text())["mcpServers"]["weather"]
    assert [entry["command"], *entry["args"]] == ["weather-server", "--city", "a b"]
