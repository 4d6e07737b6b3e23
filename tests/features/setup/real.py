"""Real clients after a setup show the hub alone, and undo gives them their servers back.

Run by `make test-clients`: all of them in one home, without an account.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.clients.real import (
    BOX,
    HTTP_WORDS,
    LOOKS,
    PROGRAMS,
    Real,
    is_reached,
    line_of,
)
from tests.features.setup.machine import GITHUB
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import stub_command
from toolyard.core.model import Command

SHARED = "common-server"
SECOND = "second-file-server"


@pytest.fixture
def clients(home: Path) -> list[Real]:
    """Every client that is installed, with a server of its own, a common one and a dead one."""
    folder = home / "folder"
    folder.mkdir()
    (home / ".gemini").mkdir()
    trusted = json.dumps({str(folder): "TRUST_FOLDER"})
    (home / ".gemini" / "trustedFolders.json").write_text(trusted)
    programs = {name: BOX / name / "node_modules" / way for name, way in PROGRAMS.items()}
    clients = [Real(name, home, path) for name, path in programs.items() if path.exists()]
    if not clients:
        pytest.skip("no client is installed; run: make test-clients")
    for client in clients:
        client.run(*HTTP_WORDS[client.name])
        client.give(SHARED, Command(tuple(stub_command("--name", "shared", "--tools-only"))))
        own = stub_command("--name", client.name, "--tools-only")
        client.give(own_name(client), Command(tuple(own), (("API_TOKEN", GITHUB),)))
        if client.name == "opencode":
            command = stub_command("--name", "second", "--tools-only")
            entry = {SECOND: {"type": "local", "command": command}}
            client.place.path.with_name("opencode.json").write_text(json.dumps({"mcp": entry}))
    return clients


@pytest.fixture
def toolyard_env(clients: list[Real], home: Path) -> Iterator[dict[str, str]]:
    """The environment of a toolyard beside the clients; the hub it starts is stopped."""
    env = {
        **clients[0].env,
        "TOOLYARD_HOME": str(home / "ty"),
        "TOOLYARD_PORT": str(free_port()),
        "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
    }
    yield env
    run(env, "down")


def own_name(client: Real) -> str:
    return f"own-{client.name}-server"


def names_of(client: Real) -> set[str]:
    """The servers that a client had before."""
    return {SHARED, own_name(client), "h"} | ({SECOND} if client.name == "opencode" else set())


def listed(said: str, names: set[str]) -> set[str]:
    """Those of these servers that lines of a client's list begin with, after marks and blanks."""
    return {name for name in names if re.search(rf"(?m)^[^\w/]*{name}(?![\w/-])", said)}


def run(env: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-m", "toolyard", *words]
    done = subprocess.run(command, env=env, cwd=env["HOME"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(600)
def test_every_client_lists_the_hub_alone_until_the_setup_is_undone(
    clients: list[Real], toolyard_env: dict[str, str]
) -> None:
    every = {name for client in clients for name in names_of(client)} | {"toolyard"}
    for client in clients:
        assert listed(client.run("mcp", "list"), every) == names_of(client), client.name
    before = {client.place.path: client.place.path.read_bytes() for client in clients}

    done = json.loads(run(toolyard_env, "setup", "--yes", "--json"))["done"]

    assert set(done["connected"]) == {client.name for client in clients}
    assert done["failed"] == []
    changed = {path: path.read_bytes() for path in before}
    touched = set()
    for client in clients:
        said = client.run("mcp", "list")
        print(said)
        assert listed(said, every) == {"toolyard"}, client.name
        if client.name in LOOKS:
            assert is_reached(line_of(said, "toolyard")), said
        if client.place.path.read_bytes() != changed[client.place.path]:
            touched.add(client.place.path)  # some count their starts in the file

    run(toolyard_env, "undo", "--yes")

    for client in clients:
        path = client.place.path
        assert path in touched or path.read_bytes() == before[path], client.name
        assert listed(client.run("mcp", "list"), every) == names_of(client), client.name
