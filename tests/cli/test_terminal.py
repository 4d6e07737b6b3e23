from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import toolyard as package

SOURCE = str(Path(package.__file__).parents[1])


def on_a_terminal(*words: str, **env: str) -> str:
    """What a command writes when a person sits before it."""
    ours, theirs = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    with subprocess.Popen(
        [sys.executable, "-m", "toolyard", *words],
        env={**kept, "PYTHONPATH": SOURCE, "TERM": "xterm", "COLUMNS": "100", **env},
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
    ):
        os.close(theirs)
        said = b""
        try:
            while data := os.read(ours, 4096):
                said += data
        except OSError:  # how a terminal says that the other side is gone
            pass
        os.close(ours)
    return said.decode()


def test_a_terminal_gets_colours() -> None:
    assert "\x1b[" in on_a_terminal("list")
    assert "\x1b[31mtoolyard:" in on_a_terminal("status")


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("command", ["list", "status", "doctor"])
def test_no_colours_for_those_who_do_not_want_them(command: str, env: dict[str, str]) -> None:
    said = on_a_terminal(command, **env)

    assert said
    assert "\x1b" not in said


def test_json_has_no_colours_on_a_terminal() -> None:
    assert "\x1b" not in on_a_terminal("list", "--json")


def test_a_pipe_gets_no_colours_and_a_plain_table() -> None:
    kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    done = subprocess.run(
        [sys.executable, "-m", "toolyard", "list"],
        env={**kept, "PYTHONPATH": SOURCE, "TERM": "xterm"},
        capture_output=True,
        text=True,
    )

    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[0].split()[:3] == ["SERVER", "STATUS", "TRANSPORT"]


def test_a_terminal_that_lacks_a_letter_is_no_reason_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"mcpServers": {"a": {"command": "sh", "title": "日本"}, "ü": {}}}', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "toolyard", "list", "--json", "--config", str(file)],
        env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr
