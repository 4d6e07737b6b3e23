"""The words that start this Toolyard again, which clients' files keep for long."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import toolyard as package
from toolyard.core.model import Command
from toolyard.features.clients.ours import is_ours
from toolyard.installation import (
    Installer,
    OwnInstallation,
    find_installer,
    this_installation,
)

SOURCE = Path(package.__file__).parents[1]
CACHE = "/cache/uv/archive-v0/Xy0z/bin"
BOX = "/data/uv/tools/toolyard/bin"

WORDS = [
    (OwnInstallation("/usr/bin/python3"), ("/usr/bin/python3", "-P", "-m", "toolyard")),
    (OwnInstallation(f"{BOX}/python", f"{BOX}/toolyard"), (f"{BOX}/toolyard",)),
    (OwnInstallation(f"{CACHE}/python", f"{CACHE}/toolyard"), ("uvx", "toolyard")),
    (
        OwnInstallation(f"{CACHE}/python", f"{CACHE}/toolyard", "file:///w/t.whl", "/opt/uvx"),
        ("/opt/uvx", "--from", "file:///w/t.whl", "toolyard"),
    ),
]


@pytest.mark.parametrize(("installation", "words"), WORDS)
def test_the_words_outlive_a_cache_and_are_known_again(
    installation: OwnInstallation, words: tuple[str, ...]
) -> None:
    assert installation.words == words
    assert installation.is_fleeting is words[0].endswith("uvx")
    assert is_ours("any", Command((*words, "mcp", "--agent", "a")))
    assert not is_ours("any", Command((*words, "status")))


def test_something_else_that_uvx_starts_is_not_ours() -> None:
    assert not is_ours("toolyard", Command(("uvx", "toolyard-clone", "mcp")))


def test_every_process_of_an_installation_gives_the_same_words() -> None:
    code = "from toolyard.installation import this_installation as t; print(*t().words)"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    said = subprocess.check_output([sys.executable, "-c", code], env=env, text=True)

    assert said.split() == [*this_installation().words]


def test_the_path_of_uvx_is_written_in_full(tmp_path: Path) -> None:
    for name in ("uv", "uvx"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)

    assert this_installation({"UV": str(tmp_path / "uv")}).uvx == str(tmp_path / "uvx")
    assert this_installation({"PATH": str(tmp_path)}).uvx == str(tmp_path / "uvx")
    assert this_installation({"PATH": "/nowhere"}).uvx == "uvx"


def test_what_installed_it_is_known_by_what_it_left(tmp_path: Path) -> None:
    assert find_installer(Path(CACHE).parent) is Installer.UVX
    assert find_installer(tmp_path) is Installer.PIP
    (tmp_path / "pipx_metadata.json").write_text("{}")
    assert find_installer(tmp_path) is Installer.PIPX
    (tmp_path / "uv-receipt.toml").write_text("[tool]")
    assert find_installer(tmp_path) is Installer.UV_TOOL


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Our command as a script in a folder of its own."""
    script = tmp_path / "env" / "bin" / "toolyard"
    script.parent.mkdir(parents=True)
    code = "import sys; from toolyard.__main__ import main; sys.exit(main())"
    script.write_text(f"#!{sys.executable}\n{code}\n")
    script.chmod(0o755)
    return script


def hint(command: list[str], path: str, cwd: Path) -> str:
    """The hint of a command that needs a hub where there is none."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PATH": path}
    done = subprocess.run([*command, "status"], env=env, cwd=cwd, capture_output=True, text=True)
    return done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_hint_names_the_command_as_it_can_be_typed(program: Path, tmp_path: Path) -> None:
    somewhere = "/usr/bin:/bin"

    on_the_path = hint(["toolyard"], f"{program.parent}:{somewhere}", tmp_path)
    assert on_the_path == "hint: run: toolyard up --detach"
    beside = hint(["env/bin/toolyard"], somewhere, tmp_path)
    assert beside == "hint: run: env/bin/toolyard up --detach"
    as_module = hint([sys.executable, "-m", "toolyard"], somewhere, tmp_path)
    assert as_module == "hint: run: toolyard up --detach"


@pytest.fixture
def cached(tmp_path: Path) -> list[str]:
    """Toolyard in an environment where uvx makes them, and the words that start it there."""
    place = tmp_path / "uv" / "archive-v0" / "Xy0z"
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(f"{SOURCE}\n{sysconfig.get_path('purelib')}\n")
    return [str(place / "bin" / "python"), "-P", "-m", "toolyard"]


@pytest.mark.executors
def test_real_uvx_starts_what_it_wrote_after_its_cache_was_cleaned(home: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    (home / ".cursor").mkdir()
    uvx = [str(Path(uv).with_name("uvx")), "--from", str(SOURCE.parent), "toolyard"]

    subprocess.run([*uvx, "connect", "cursor", "--yes"], cwd=home, check=True)
    subprocess.run([uv, "cache", "clean"], check=True)

    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["toolyard"]
    command = [entry["command"], *entry["args"], "--help"]
    assert "Serve one MCP client" in subprocess.check_output(command, cwd=home, text=True)


@pytest.mark.slow
def test_an_entry_that_is_written_from_uvs_cache_outlives_it(
    cached: list[str], home: Path, tmp_path: Path
) -> None:
    (home / ".cursor").mkdir()

    done = subprocess.run(
        [*cached, "connect", "cursor", "--yes"], cwd=tmp_path, capture_output=True, text=True
    )

    assert (done.returncode, "run: uv tool install " in done.stderr) == (0, True)
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["toolyard"]
    assert os.path.basename(entry["command"]) == "uvx"
    assert entry["args"][-2:] == ["toolyard", "mcp"]
    assert str(tmp_path) not in json.dumps(entry)
    assert hint(cached, "/usr/bin:/bin", tmp_path).startswith("hint: run: uvx ")
