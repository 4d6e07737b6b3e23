from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import toolyard as package
from tests.cli.conftest import Toolyard
from tests.cli.stand_in import SERVER, StandIn

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


def test_a_start_is_followed_on_a_terminal(hub: StandIn) -> None:
    new = {**SERVER, "name": "new", "alias": "new", "tools": 0, "resources": 0}
    hub.after(2, lambda: hub.status.update(servers=[{**new, "status": "installing"}]))
    hub.after(6, lambda: hub.status.update(servers=[{**new, "tools": 2}]))

    said = on_a_terminal("add", "new", "--", "sh", NO_COLOR="1")

    assert "\r\x1b[2Knew: installing, 0 s" in said
    assert said.endswith("\r\x1b[2K'new' is ready, 2 tools\r\n")


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
    assert done.stdout.splitlines()[0].split()[:3] == ["SERVER", "STATE", "TRANSPORT"]


HOSTILE = "a\x1b]0;title\x07b\x1b[31mc\x9b2Jd\u202ee\u200bf\rg\U000e0041h"
SPELLED = "a\\x1b]0;title\\x07b\\x1b[31mc\\x9b2Jd\\u202ee\\u200bf\\x0dg\\U000e0041h"
IN_PIPES = SPELLED.replace("\\u202e", "\u202e").replace("\\u200b", "\u200b")
IN_PIPES = IN_PIPES.replace("\\U000e0041", "\U000e0041")


def speaks_ill(hub: StandIn) -> None:
    """Have a server say in every way what is meant for the terminal."""
    hub.result = {"content": [{"type": "text", "text": HOSTILE}], "isError": True}
    hub.lines = [HOSTILE]


@pytest.mark.parametrize("words", [("call", "files", "read"), ("logs", "files")])
def test_a_server_cannot_speak_to_the_terminal(hub: StandIn, words: tuple[str, ...]) -> None:
    speaks_ill(hub)

    assert on_a_terminal(*words).splitlines()[0] == SPELLED
    followed = on_a_terminal("logs", "files", "--follow")
    assert followed.splitlines()[0] == SPELLED


@pytest.mark.parametrize("words", [("call", "files", "read"), ("logs", "files")])
def test_a_pipe_gets_no_control_characters_and_all_others(
    toolyard: Toolyard, hub: StandIn, words: tuple[str, ...]
) -> None:
    speaks_ill(hub)

    assert toolyard(*words).out == f"{IN_PIPES}\n"


def test_tabs_and_line_ends_and_what_has_no_byte_are_no_trouble(
    toolyard: Toolyard, hub: StandIn
) -> None:
    hub.result = {"content": [{"type": "text", "text": "a\tb\nc\r\nd \ud800"}]}

    done = toolyard("call", "files", "read")

    assert done.out.replace("\r\n", "\n") == "a\tb\nc\nd \\ud800\n"


def test_json_is_exact(toolyard: Toolyard, hub: StandIn) -> None:
    speaks_ill(hub)

    said = toolyard("--json", "call", "files", "read").json

    assert said["content"][0]["text"] == HOSTILE
    assert toolyard("logs", "files", "--json").json == {"lines": [HOSTILE]}


def test_what_a_server_said_in_an_error_is_spelled_too(hub: StandIn) -> None:
    hub.refuse = (502, {"title": f"'files' refused: {HOSTILE}", "hint": HOSTILE})

    said = on_a_terminal("call", "files", "read")

    assert f"refused: {SPELLED}" in said and said.count(SPELLED) == 2
    assert "\x1b[31mtoolyard:" in said


def test_a_terminal_that_lacks_a_letter_is_no_reason_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"mcpServers": {"a": {"command": "sh", "title": "日本"}, "ü": {}}}', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "toolyard", "list", "--json", "--config", str(file)],
        env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr
