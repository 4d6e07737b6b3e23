"""The command line with the real hub behind it: real processes, the real example server."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

import toolyard as package
from tests.fixtures.forking import run as run_forked
from tests.fixtures.ports import free_port
from toolyard.console.exits import Exit
from toolyard.records.runfile import HubState, RunDir
from toolyard.settings import read_settings

SOURCE = str(Path(package.__file__).parents[1])
TOOLYARD = [sys.executable, "-m", "toolyard"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCE}


def toolyard(*words: str) -> subprocess.CompletedProcess[str]:
    return run_forked([*TOOLYARD, *words], env=env())


def spawn(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*TOOLYARD, *words],
        env=env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(client: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert client.stdin and client.stdout
    client.stdin.write(json.dumps(message) + "\n")
    client.stdin.flush()
    while True:
        answer: dict[str, Any] = json.loads(client.stdout.readline())
        if answer.get("id") == message["id"]:
            return answer


def state() -> HubState | None:
    return RunDir(read_settings({}, os.environ).runtime_dir).read()


def left(home: Path) -> list[psutil.Process]:
    """Every process that was started in this home and still runs."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("HOME") == str(home) and process.pid != os.getpid():
                found.append(process)
    return found


@pytest.fixture(autouse=True)
def nothing_left(home: Path) -> Iterator[None]:
    """Whatever a test started ends with its hub; no second hub may come up in its place."""
    yield
    running = state()
    if running is not None:
        with suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGTERM)
    _, rest = psutil.wait_procs(left(home), timeout=60)
    for process in rest:
        process.kill()
    assert rest == []
    assert left(home) == []


def test_a_hub_is_started_asked_called_and_stopped() -> None:
    started = toolyard("up", "--detach", "--json")
    assert started.returncode == Exit.OK, started.stderr
    url = json.loads(started.stdout)["url"]
    with urllib.request.urlopen(f"{url}/health/live") as response:
        assert response.status == 200

    assert url in toolyard("status").stdout
    tools = json.loads(toolyard("tools", "--json", "convert", "units").stdout)["tools"]
    assert tools[0]["name"] == "example__convert_units"
    words = ["value=26.2", "from_unit=mi", "to_unit=km"]
    called = toolyard("call", "example", "convert_units", *words)
    assert called.returncode == Exit.OK, called.stderr
    assert json.loads(called.stdout)["value"] == pytest.approx(42.16, abs=0.01)

    running = state()
    assert running is not None
    stopped = toolyard("down")
    assert stopped.returncode == Exit.OK, stopped.stderr
    assert not running.is_alive
    assert toolyard("status").returncode == Exit.NO_HUB


def test_a_call_without_a_hub_starts_one_and_says_so() -> None:
    called = toolyard("--json", "call", "example", "time_in", "zone=UTC")

    assert "starting one in the background" in called.stderr
    assert called.returncode in (Exit.OK, Exit.REFUSED)
    assert json.loads(called.stdout)["content"]
    assert state() is not None


MISTAKES = {
    ("token", "create", "control"): Exit.CONFIG,
    ("profile", "remove", "nothing"): Exit.NOT_FOUND,
    ("app", "remove", "kunobi"): Exit.REFUSED,
}
"""What a person may get wrong, and what it ends with, whoever says no."""


def test_a_mistake_ends_alike_with_and_without_a_hub() -> None:
    def ends() -> dict[tuple[str, ...], int]:
        return {words: toolyard(*words).returncode for words in MISTAKES}

    assert ends() == MISTAKES
    assert toolyard("up", "--detach").returncode == Exit.OK
    assert ends() == MISTAKES


def test_unknown_servers_and_tools_are_not_found() -> None:
    assert toolyard("up", "--detach").returncode == Exit.OK

    tool = toolyard("call", "example", "convert_unit")
    server = toolyard("call", "exmaple", "convert_units")

    assert (tool.returncode, server.returncode) == (Exit.NOT_FOUND, Exit.NOT_FOUND)
    assert "convert_units" in tool.stderr
    assert "example" in server.stderr


def test_clients_that_start_at_once_share_one_hub() -> None:
    clients = [spawn("mcp") for _ in range(4)]
    try:
        for client in clients:
            assert ask(client, HELLO)["result"]["serverInfo"]["name"]
        running = state()
        assert running is not None
        names = [each["name"] for each in ask(clients[0], LIST)["result"]["tools"]]
        assert "toolyard_status" in names
    finally:
        for client in clients:
            client.communicate("", timeout=60)
    assert [client.returncode for client in clients] == [0] * 4
    assert state() == running  # it stays for the next one


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"KUNOBI_SCAN_PORTS": "3400", "TOOLYARD_CALL_TIMEOUT": "7"}, "both"),
        ({"KUNOBI_SCAN_INTERVAL": "900", "TOOLYARD_CALL_TIMEOUT": "120"}, "none"),
    ],
)
def test_variables_of_a_client_that_the_running_hub_does_not_have_are_named(
    given: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUNOBI_SCAN_INTERVAL", "900")
    assert toolyard("up", "--detach").returncode == Exit.OK
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with spawn("mcp") as client:
        ask(client, HELLO)
        assert client.stderr
        if named == "both":
            assert select.select([client.stderr], [], [], 60)[0], "nothing is said"
            said = client.stderr.readline() + client.stderr.readline()
            assert "TOOLYARD_CALL_TIMEOUT, KUNOBI_SCAN_PORTS" in said
            assert "SCAN_INTERVAL" not in said
            assert "toolyard restart" in said
        _, rest = client.communicate("", timeout=60)
        assert rest == ""


def test_a_client_alone_needs_no_hub() -> None:
    with spawn("mcp", "--standalone") as client:
        assert ask(client, HELLO)["result"]["serverInfo"]["name"]
        client.communicate("", timeout=60)

    assert client.returncode == Exit.OK
    assert state() is None


def test_in_the_foreground_it_says_where_it_is_and_ends_when_interrupted() -> None:
    with spawn("up") as hub:
        assert hub.stdout
        said = ""
        while "Authorization" not in said:
            line = hub.stdout.readline()
            assert line, hub.stderr.read() if hub.stderr else ""
            said += line
        assert "toolyard is running at http://127.0.0.1:" in said
        assert "/open?code=" in said
        entry = json.loads(said[said.index("{") : said.rindex("}") + 1])
        assert entry["mcpServers"]["toolyard"]["args"][-1] == "mcp"

        second = toolyard("up")
        assert second.returncode == Exit.RUNNING
        assert "already running" in second.stderr

        hub.send_signal(signal.SIGINT)
        assert hub.wait(60) == Exit.OK
    assert state() is None


def test_a_restart_is_a_new_process_with_the_same_flags() -> None:
    assert toolyard("up", "--detach", "--separator", ".").returncode == Exit.OK
    before = state()

    assert toolyard("restart").returncode == Exit.OK

    after = state()
    assert before and after
    assert before.pid != after.pid
    found = toolyard("tools", "--json", "units")
    assert found.returncode == Exit.OK, found.stdout
    assert json.loads(found.stdout)["tools"][0]["name"] == "example.convert_units"


def take(port: int) -> socket.socket:
    """Listen on a port; if somebody else does for good, that serves as well."""
    busy, pause = socket.socket(), threading.Event()
    busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            busy.bind(("127.0.0.1", port))
            busy.listen()
        except OSError:
            busy.close()
            busy = socket.socket()
            busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            pause.wait(0.05)
        else:
            break
    return busy


def test_a_taken_port_is_passed_over_unless_it_was_told() -> None:
    with take(7420):
        started = toolyard("up", "--detach")

    assert started.returncode == Exit.OK
    assert "warning: port 7420 was in use, so the hub listens on" in started.stderr
    assert "warning" not in started.stdout and "send their token" in toolyard("status").stdout
    running = state()
    assert running is not None
    assert running.port != 7420


def test_an_added_server_is_there_without_a_restart() -> None:
    assert toolyard("up", "--detach").returncode == Exit.OK
    words = [sys.executable, "-m", "toolyard.example"]
    added = toolyard("add", "mine", "-e", f"PYTHONPATH={SOURCE}", "--", *words)
    assert added.returncode == Exit.OK
    assert re.search(r"'mine' is ready, [1-9]\d* tools", added.stdout)

    listed = json.loads(toolyard("list", "--json").stdout)
    names = [each["alias"] for each in listed["servers"] if each["source"] == "configured"]
    assert names == ["mine"]


def test_a_server_whose_name_is_taken_is_added_by_another_which_is_told() -> None:
    assert toolyard("up", "--detach").returncode == Exit.OK
    runtime = {"command": "nothing-like-it"}
    custom = read_settings({}, os.environ).data_dir / "catalog" / "custom" / "mine.json"
    custom.parent.mkdir(parents=True, exist_ok=True)
    custom.write_text(json.dumps({"name": "mine", "title": "Mine", "runtime": runtime}))
    assert toolyard("catalog", "add", "mine", "--no-wait").returncode == Exit.OK

    added = toolyard("add", "mine", "--no-wait", "--", "true")

    assert "it is called 'mine-configured' in the yard, where 'mine' is not free" in added.stderr
    listed = json.loads(toolyard("list", "--json").stdout)["servers"]
    assert {server["source"]: server["alias"] for server in listed} == {
        "catalog": "mine",
        "configured": "mine-configured",
    }


@pytest.mark.parametrize("host", ["127.0.0.2", "0.0.0.0"])
def test_a_hub_is_reached_at_the_address_it_was_told_to_listen_on(host: str) -> None:
    started = toolyard("up", "--detach", "--host", host, "--port", str(free_port()))
    assert started.returncode == Exit.OK, started.stderr
    status, doctor = toolyard("status"), toolyard("doctor")

    assert status.returncode == Exit.OK, status.stderr
    is_open = host == "0.0.0.0"
    assert ("unencrypted" in started.stderr) == is_open
    assert ("unencrypted" in doctor.stdout) == is_open
    assert doctor.returncode == (Exit.FAILED if is_open else Exit.OK)
    with urllib.request.urlopen(link_in(status.stdout), timeout=60) as page:
        assert page.status == 200
    assert toolyard("down").returncode == Exit.OK


def link_in(said: str) -> str:
    """The link that was printed for people."""
    return next(word for word in said.split() if "/open?code=" in word)


def test_the_doctor_says_at_once_what_is_wrong_with_a_new_server() -> None:
    assert toolyard("up", "--detach").returncode == Exit.OK
    added = toolyard("add", "broken", "--", "no-such-program")
    assert added.returncode == Exit.FAILED
    assert '"no-such-program" was not found on the PATH' in added.stdout

    examined = toolyard("doctor")

    assert examined.returncode == Exit.FAILED, examined.stdout
    assert "no-such-program" in examined.stdout


def test_the_first_answer_comes_within_eight_times_an_empty_python() -> None:
    with spawn("mcp") as first:
        ask(first, HELLO)
        base = attached = 1e9
        for _ in range(20):  # on a busy machine, one quiet moment has to come by
            base = min(base, _run_nothing())
            attached = min(attached, _run_attached())
            if attached < 8 * base:
                break
        first.communicate("", timeout=60)

    print(f"first answer {attached * 1000:.0f} ms, an empty Python {base * 1000:.0f} ms")
    assert attached < 8 * base


def _run_attached() -> float:
    """How long it takes from the start of a client's process to its first answer."""
    began = time.perf_counter()
    with spawn("mcp") as client:
        ask(client, HELLO)
        taken = time.perf_counter() - began
        client.communicate("", timeout=60)
    return taken


def _run_nothing() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=env(), check=True)
    return time.perf_counter() - began
