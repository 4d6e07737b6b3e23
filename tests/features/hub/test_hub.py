from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolyard as package
from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from toolyard.console.exits import Exit
from toolyard.console.holder import find_holder
from toolyard.records.runfile import RunDir
from toolyard.settings import read_settings

SOURCE = str(Path(package.__file__).parents[1])


@pytest.fixture
def busy() -> Iterator[int]:
    """A port that somebody listens on: this test."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use_is_named_with_who_uses_it(toolyard: Toolyard, busy: int) -> None:
    done = toolyard("up", "--port", str(busy))

    assert done.code == Exit.PORT_IN_USE
    assert f"port {busy} on 127.0.0.1 is in use by" in done.err
    assert f"(pid {os.getpid()})" in done.err
    assert "--port" in done.err.splitlines()[1]


def test_nobody_is_named_for_a_port_that_is_free(busy: int) -> None:
    assert f"(pid {os.getpid()})" in find_holder(busy)
    assert find_holder(1) == ""


def test_a_file_that_was_named_must_exist(toolyard: Toolyard, tmp_path: Path) -> None:
    done = toolyard("up", "--config", str(tmp_path / "no.json"))

    assert done.code == Exit.CONFIG
    assert "no.json" in done.err


@pytest.mark.parametrize("words", [("up",), ("up", "--detach"), ("restart",)])
def test_a_file_that_others_can_change_is_refused(
    toolyard: Toolyard, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "theirs.json"
    file.write_text('{"mcpServers": {"a": {"command": "true"}}}')
    file.chmod(0o666)

    done = toolyard(*words, "--config", str(file))

    assert done.code == Exit.CONFIG
    assert "can be changed by others" in done.err and f"hint: run: chmod o-w '{file}'" in done.err


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--port", "99999"), ("--expose", "some"), ("--separator", "+"), ("--log-level", "x")],
)
def test_a_flag_with_a_wrong_value_is_refused(flag: str, value: str, toolyard: Toolyard) -> None:
    done = toolyard("up", flag, value)

    assert done.code == Exit.CONFIG
    assert f"{flag} is '{value}'" in done.err


def test_an_address_that_is_not_ours_is_one_sentence(toolyard: Toolyard) -> None:
    done = toolyard("up", "--host", "203.0.113.7")

    assert done.code == Exit.CONFIG
    assert "203.0.113.7" in done.err.splitlines()[-2]


def test_a_second_hub_says_where_the_first_one_is(toolyard: Toolyard, hub: StandIn) -> None:
    done = toolyard("up")

    assert done.code == Exit.RUNNING
    assert hub.status["url"] in done.err


def test_starting_in_the_background_is_no_trouble_if_one_runs(
    toolyard: Toolyard, hub: StandIn
) -> None:
    done = toolyard("up", "--detach", "--json")

    assert done.code == Exit.OK
    assert done.json["url"] == hub.status["url"]
    assert done.json["link"].endswith("/open?code=once")
    entry = done.json["client"]["mcpServers"]["toolyard"]
    assert entry["args"][-1] == "mcp"


def test_a_start_names_the_next_commands(toolyard: Toolyard, hub: StandIn) -> None:
    out = toolyard("up", "--detach").out

    assert f"running at {hub.status['url']}" in out
    _, _, rest = out.partition("Next:\n")
    assert [line.split("  # ")[0].strip() for line in rest.splitlines()[:2]] == [
        "toolyard setup",
        "toolyard add NAME -- COMMAND",
    ]


def test_what_is_wrong_with_the_address_is_said_at_the_start(
    toolyard: Toolyard, hub: StandIn
) -> None:
    moved = {"code": "port-moved", "text": "the hub listens on 7421", "hint": "free it"}
    other = {"code": "start-failed", "text": "a server failed", "hint": "look"}
    moved["subject"] = other["subject"] = ""
    hub.status["problems"] = [moved, other]

    done = toolyard("up", "--detach")

    assert "warning: the hub listens on 7421" in done.err
    assert "hint: free it" in done.err
    assert "a server failed" not in done.err


def test_the_entry_for_clients_says_all_that_they_would_not_know(
    toolyard: Toolyard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_HOME", str(tmp_path))
    (tmp_path / "mine.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    from tests.cli.stand_in import standing_in

    with standing_in():
        done = toolyard("up", "--detach", "--json", "--config", "mine.json")

    entry = done.json["client"]["mcpServers"]["toolyard"]
    assert entry["args"][-2:] == ["--config", str(tmp_path / "mine.json")]
    assert entry["env"] == {"TOOLYARD_HOME": str(tmp_path)}


@pytest.mark.slow
def test_a_hub_that_ends_at_once_is_explained(toolyard: Toolyard, busy: int) -> None:
    done = toolyard("up", "--detach", "--port", str(busy))

    assert done.code == Exit.PORT_IN_USE
    assert f"the hub ended at once: port {busy}" in done.err


STUBBORN = """
import os, pathlib, signal, sys
from toolyard.settings import read_settings
from toolyard.records.runfile import HubState, RunDir
place = RunDir(read_settings({}, os.environ).runtime_dir)
place.write(HubState.of_this_process("http://127.0.0.1:9", 9))
print("here", flush=True)
sys.stdin.read()
"""


def test_a_hub_that_does_not_listen_any_more_is_ended_by_a_signal(toolyard: Toolyard) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "here\n"
        done = toolyard("down")
        assert process.wait(60) == -signal.SIGTERM

    assert done.code == Exit.OK
    assert RunDir(read_settings({}, os.environ).runtime_dir).read() is None


@pytest.mark.slow
def test_a_restart_begins_with_the_flags_of_the_last_start(toolyard: Toolyard, busy: int) -> None:
    toolyard("up", "--port", str(busy), "--pin", "a", "--pin", "b")
    kept = RunDir(read_settings({}, os.environ).runtime_dir).path / "flags.json"

    assert json.loads(kept.read_text()) == {"port": str(busy), "pinned": ["a", "b"]}
    assert f"port {busy}" in toolyard("restart").err


def test_files_are_kept_in_full_for_a_restart_from_elsewhere(
    toolyard: Toolyard, busy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ("--frozen", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    toolyard("up", "--port", str(busy), *files)
    flags = json.loads(
        (RunDir(read_settings({}, os.environ).runtime_dir).path / "flags.json").read_text()
    )

    names = {"lock_file": "toolyard.lock", "tls_cert": "cert.pem", "tls_key": "key.pem"}
    assert {name: flags[name] for name in names} == {
        name: str(tmp_path / file) for name, file in names.items()
    }
