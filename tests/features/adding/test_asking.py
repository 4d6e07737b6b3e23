"""A person at a terminal is asked for a yes, and for the values that only they know."""

from __future__ import annotations

import json
import os
import pty
import select
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from toolyard.core.install_links import vscode_link
from toolyard.features.servers.store import ServersFile

pytestmark = pytest.mark.slow

SECRET = "fake-secret-of-nobody"
PATIENCE = 60


def converse(*words: str, answers: list[tuple[str, str]]) -> str:
    """What a person sees who waits for each text and answers it; nobody here has a keyring."""
    main, other = pty.openpty()
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "TERM": "dumb",
        "COLUMNS": "200",
    }
    command = [sys.executable, "-m", "toolyard", *words]
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=env)
    os.close(other)
    shown, at = "", 0
    for question, answer in answers:
        while question not in shown[at:]:
            assert select.select([main], [], [], PATIENCE)[0], shown
            shown += os.read(main, 4096).decode()
        at = len(shown)
        os.write(main, f"{answer}\n".encode())
    try:
        while chunk := os.read(main, 4096):
            shown += chunk.decode()
    except OSError:
        pass  # its end of the terminal is closed
    os.close(main)
    process.wait(PATIENCE)
    return shown


def entry(home: Path, name: str) -> dict[str, object]:
    return ServersFile(home / "config" / "toolyard" / "servers.json").entry(name)


def test_the_secret_of_a_bundle_is_typed_unseen_and_kept_in_a_private_file(
    home: Path, tmp_path: Path
) -> None:
    manifest = {
        "name": "sky",
        "server": {"mcp_config": {"command": "sh", "env": {"KEY": "${user_config.key}"}}},
        "user_config": {"key": {"title": "API key", "sensitive": True, "required": True}},
    }
    path = tmp_path / "sky.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))

    shown = converse("add", str(path), answers=[("Add it?", "y"), ("API key", SECRET)])

    assert "added 'sky'" in shown and SECRET not in shown
    kept = home / "state" / "toolyard" / "secrets" / "sky-key"
    assert entry(home, "sky")["env"] == {"KEY": f"${{file:{kept}}}"}
    assert kept.read_text().strip() == SECRET
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_number_out_of_bounds_is_asked_for_again(home: Path, tmp_path: Path) -> None:
    manifest = {
        "name": "sky",
        "server": {"mcp_config": {"command": "sh", "args": ["${user_config.count}"]}},
        "user_config": {"count": {"type": "number", "title": "Count", "min": 1, "max": 3}},
    }
    path = tmp_path / "sky.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))

    answers = [("Add it?", "y"), ("Count", "4"), ("must be a number from 1 to 3", "2")]
    converse("add", str(path), answers=answers)

    assert entry(home, "sky")["args"] == ["2"]


def test_a_link_asks_for_its_inputs(home: Path) -> None:
    inputs = [{"id": "city", "description": "Your city", "default": "Bonn"}]
    link = vscode_link("sky", {"command": "sh", "args": ["${input:city}"], "inputs": inputs})

    converse("add", link, answers=[("Add it?", "y"), ("Your city", "")])

    assert entry(home, "sky")["args"] == ["Bonn"]


def test_who_says_no_has_changed_nothing(home: Path) -> None:
    converse("add", vscode_link("sky", {"command": "sh"}), answers=[("Add it?", "n")])

    assert not (home / "config" / "toolyard" / "servers.json").exists()


def test_a_bundle_that_is_not_wanted_is_not_called_damaged(home: Path, tmp_path: Path) -> None:
    manifest = {"name": "sky", "server": {"mcp_config": {"command": "sh"}}}
    path = tmp_path / "sky.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))

    shown = converse("add", str(path), answers=[("Add it?", "n")])

    assert "damaged" not in shown
    assert not (home / "config" / "toolyard" / "servers.json").exists()
