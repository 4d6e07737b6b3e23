"""Real clients read what we write, and we read what they write; run by `make test-clients`.

Each has a home of its own, and no account.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.stub_run import stub_command
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.formats import put, read
from toolyard.features.clients.known import BY_NAME
from toolyard.features.clients.places import Place, Surroundings, one_place
from toolyard.features.clients.plan import read_file
from toolyard.features.clients.shapes import ClientEntry

BOX = Path(os.environ.get("REAL_CLIENTS", "no clients"))
NODE = Path(os.environ.get("REAL_NODE", "node"))
PATIENCE = 90
URL = "http://127.0.0.1:9/mcp"
PROGRAMS = {
    "claude-code": "@anthropic-ai/claude-code-linux-x64/claude",
    "codex": ".bin/codex",
    "gemini": ".bin/gemini",
    "qwen": ".bin/qwen",
    "opencode": "opencode-linux-x64/bin/opencode",
    "copilot": ".bin/copilot",
}
LOOKS = ("claude-code", "gemini", "qwen", "opencode")
"""Those whose list says whether a server could be reached."""
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
}
STDIO_WORDS = {
    "claude-code": ("mcp", "add", "-s", "user", "s", "-e", "FOO=bar", "--"),
    "codex": ("mcp", "add", "s", "--env", "FOO=bar", "--"),
    "gemini": ("mcp", "add", "-s", "user", "-e", "FOO=bar", "s"),
    "qwen": ("mcp", "add", "-s", "user", "-e", "FOO=bar", "s"),
    "opencode": ("mcp", "add", "s", "--env", "FOO=bar", "--"),
    "copilot": ("mcp", "add", "s", "--env", "FOO=bar", "--"),
}
HTTP_WORDS = {
    "claude-code": ("mcp", "add", "-s", "user", "-t", "http", "h", URL, "-H", "X-A: b"),
    "codex": ("mcp", "add", "h", "--url", URL),
    "gemini": ("mcp", "add", "-s", "user", "-t", "http", "h", URL, "-H", "X-A: b"),
    "qwen": ("mcp", "add", "-s", "user", "-t", "http", "h", URL, "-H", "X-A: b"),
    "opencode": ("mcp", "add", "h", "--url", URL, "--header", "X-A=b"),
    "copilot": ("mcp", "add", "--transport", "http", "h", URL, "--header", "X-A: b"),
}


@dataclass(frozen=True)
class Real:
    """A client that runs, and its file."""

    name: str
    home: Path
    program: Path

    @property
    def env(self) -> dict[str, str]:
        path = f"{NODE.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
        return {"HOME": str(self.home), "PATH": path, "TERM": "dumb", "NO_COLOR": "1", **QUIET}

    @property
    def place(self) -> Place:
        return one_place(BY_NAME[self.name], Surroundings(self.env, self.home, sys.platform))

    def run(self, *words: str) -> str:
        """Run it; what it says."""
        folder = self.home / "folder"
        done = subprocess.run(
            [str(self.program), *words],
            env=self.env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout + done.stderr)
        assert done.returncode == 0, said
        return said

    def give(self, server: str, endpoint: Endpoint) -> None:
        """Put a server into its file, as `connect` does."""
        place = self.place
        shape = place.client.shape
        place.path.parent.mkdir(parents=True, exist_ok=True)
        place.path.write_bytes(put(shape, read_file(place) or b"", server, shape.write(endpoint)))

    def has(self) -> tuple[ClientEntry, ...]:
        """What our reader finds in its file."""
        data = read_file(self.place)
        assert data is not None
        found = read(self.place.client.shape, data)
        assert found.problems == ()
        return found.entries


@pytest.fixture(params=PROGRAMS)
def real(request: pytest.FixtureRequest, home: Path) -> Real:
    name: str = request.param
    program = BOX / name / "node_modules" / PROGRAMS[name]
    if not program.exists():
        pytest.skip(f"{name} is not installed; run: make test-clients")
    folder = home / "folder"
    folder.mkdir()
    (home / ".gemini").mkdir()
    trust = f'{{"{folder}": "TRUST_FOLDER"}}'
    (home / ".gemini" / "trustedFolders.json").write_text(trust)
    return Real(name, home, program)


def line_of(said: str, server: str) -> str:
    """The line of a list that is about a server."""
    line = next((each for each in said.splitlines() if re.search(rf"\b{server}\b", each)), None)
    assert line is not None, said
    return line


def is_reached(line: str) -> bool:
    """Whether a client says of a server that it could reach it."""
    return re.search(r"\bconnected\b", line, re.IGNORECASE) is not None


@pytest.mark.timeout(200)
def test_the_client_lists_what_we_wrote(real: Real) -> None:
    command = stub_command("--name", "probe", "--only", "echo")
    real.give("probe", Command(tuple(command), (("FOO", "bar"),)))
    real.give("distant", Url(URL, "http", (("X-A", "b"),)))

    said = real.run("mcp", "list")

    print(said)
    probe, distant = line_of(said, "probe"), line_of(said, "distant")
    assert not is_reached(distant)
    if real.name in LOOKS:
        assert is_reached(probe), said


@pytest.mark.timeout(200)
def test_what_the_client_wrote_is_read_equal(real: Real) -> None:
    argv = ("/usr/bin/env", "run", "a b")
    real.run(*STDIO_WORDS[real.name], *argv)
    real.run(*HTTP_WORDS[real.name])

    found = {each.name: each.endpoint for each in real.has()}

    headers = () if real.name == "codex" else (("X-A", "b"),)
    assert found == {"s": Command(argv, (("FOO", "bar"),)), "h": Url(URL, "http", headers)}


@pytest.mark.timeout(200)
def test_what_the_client_adds_leaves_our_entry_alone_and_the_reverse(real: Real) -> None:
    ours = Command(("/opt/bin/toolyard", "mcp"))
    real.run(*STDIO_WORDS[real.name], "run")
    real.give("toolyard", ours)
    real.run(*HTTP_WORDS[real.name])

    found = {each.name: each.endpoint for each in real.has()}

    assert found["toolyard"] == ours
    assert found["s"] == Command(("run",), (("FOO", "bar"),))
    assert set(found) == {"s", "h", "toolyard"}


@pytest.fixture
def yard(real: Real) -> Iterator[dict[str, str]]:
    """The environment of a toolyard beside the client; the hub it starts is stopped."""
    source = str(Path(__file__).parents[3] / "src")
    env = {**real.env, "TOOLYARD_HOME": str(real.home / "ty"), "PYTHONPATH": source}
    yield env
    subprocess.run([sys.executable, "-m", "toolyard", "down"], env=env, capture_output=True)


@pytest.mark.timeout(200)
def test_a_connected_client_reaches_the_hub_and_undo_puts_its_file_back(
    real: Real, yard: dict[str, str]
) -> None:
    def toolyard(*words: str) -> str:
        command = [sys.executable, "-m", "toolyard", *words]
        done = subprocess.run(command, env=yard, capture_output=True, text=True, check=True)
        return done.stdout

    real.run(*HTTP_WORDS[real.name])
    before = real.place.path.read_bytes()
    toolyard("connect", real.name, "--yes")
    connected = real.place.path.read_bytes()

    said = real.run("mcp", "list")

    if real.name in LOOKS:
        assert is_reached(line_of(said, "toolyard")), said
    is_touched = real.place.path.read_bytes() != connected  # some count their starts in the file
    toolyard("undo", "--yes")
    assert is_touched or real.place.path.read_bytes() == before
    assert [each.name for each in real.has()] == ["h"]
