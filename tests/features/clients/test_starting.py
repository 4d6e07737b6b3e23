"""The words that start this Toolyard again, which clients' files keep for long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolyard.core.model import Command
from toolyard.features.clients.ours import is_ours
from toolyard.features.clients.starting import OwnInstallation, this_installation

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
    code = (
        "from toolyard.features.clients.starting import this_installation as t; print(*t().words)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    said = subprocess.check_output([sys.executable, "-c", code], env=env, text=True)

    assert said.split() == [*this_installation().words]


def test_the_path_of_uvx_is_written_in_full(tmp_path: Path) -> None:
    for name in ("uv", "uvx"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)

    assert this_installation({"UV": str(tmp_path / "uv")}).uvx == str(tmp_path / "uvx")
    assert this_installation({"PATH": str(tmp_path)}).uvx == str(tmp_path / "uvx")
    assert this_installation({"PATH": "/nowhere"}).uvx == "uvx"
