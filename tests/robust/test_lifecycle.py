"""How hubs begin and end: one per user, its files private, and no process left behind."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from tests.doors.doors import Doors, call, mirrored, modern
from tests.e2e.hub import (
    TOKEN,
    RunningHub,
    environment,
    running_hub,
    stdio_stub,
    toolyard,
)
from tests.e2e.talk import talking
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import recorded, wait_recorded

FEW = ("--tools-only", "--only", "echo,sleep,cancellable,env,where")


def pids(home: Path, *names: str) -> set[int]:
    """Every process that these stubs were, and started."""
    events = [e for name in names for e in recorded(home / f"{name}.jsonl")]
    return {event["pid"] for event in events if event["event"] in ("start", "child")}


def until(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until it holds, so long at most."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not holds() and time.monotonic() < end:
        pause.wait(0.02)
    return holds()


def all_gone(home: Path, *names: str) -> bool:
    """Whether none of them lives."""
    return not any(psutil.pid_exists(pid) and _lives(pid) for pid in pids(home, *names))


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def doors_of(hub: RunningHub) -> Doors:
    """The HTTP door of a hub, for raw clients."""
    return Doors(int(hub.url.rsplit(":", 1)[1]), hub.home)


async def test_a_stop_lets_short_calls_finish_and_leaves_no_process(home: Path) -> None:
    servers = {
        "calm": stdio_stub("calm", home, *FEW, "--child", "--record-all"),
        "stubborn": stdio_stub("stubborn", home, *FEW, "--ignore-eof"),
    }
    with running_hub(servers) as hub:
        doors = doors_of(hub)
        async with asyncio.TaskGroup() as group:
            short = [group.create_task(doors.text("calm__sleep", ms=800)) for _ in range(20)]
            legacy = group.create_task(old_call(doors))
            async with talking(hub) as line:
                lost = line.group.create_task(line.fault("tools/call", ENDLESS))
                await asyncio.to_thread(until, lambda: calls_of(home, "calm") == 22, 60)
                hub.process.send_signal(signal.SIGTERM)
                said = await lost
        assert {task.result() for task in short} == {"slept"}
        assert legacy.result() == "slept"
        assert "the hub is stopping" in said["message"]
        assert await asyncio.to_thread(hub.process.wait, 60) == 0
        assert all_gone(home, *servers)


def calls_of(home: Path, name: str) -> int:
    """How many calls have reached a stub that records all messages."""
    messages = (line["message"] for line in recorded(home / f"{name}.jsonl", "message"))
    return sum(message.get("method") == "tools/call" for message in messages)


ENDLESS = {"name": "calm__cancellable", "arguments": {"ms": 60_000}}


async def old_call(doors: Doors) -> str:
    """A call of a legacy client."""
    session = await doors.initialize()
    message = call("tools/call", {"name": "calm__sleep", "arguments": {"ms": 800}})
    headers = {**session, "Accept": "application/json"}
    text: str = (await doors.post(message, headers)).json()["result"]["content"][0]["text"]
    return text


async def test_a_stop_waits_for_nobody_who_only_listens(home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home, *FEW)}) as hub:
        doors = doors_of(hub)
        session = await doors.initialize()
        message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        async with doors.connected() as old, doors.connected() as new, talking(hub):
            headers = {"Accept": "text/event-stream", **session}
            await old.send(doors.request("GET", "/mcp", headers=headers))
            body = json.dumps(message).encode()
            await new.send(doors.request("POST", "/mcp", body, mirrored(message)))
            assert (await old.head())[0] == (await new.head())[0] == 200
            hub.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(hub.process.wait, 60) == 0
        assert "did not end within" not in (hub.home / "hub.err").read_text()


async def refused(doors: Doors) -> None:
    """Wait until the hub takes no more connections."""
    async with asyncio.timeout(60):
        while True:
            try:
                await doors.ask()
            except asyncio.IncompleteReadError:
                continue  # it came in last, and was sent away before it could ask
            except OSError:
                return


async def test_a_stopping_hub_takes_no_one_in_and_a_second_signal_ends_it_at_once(
    home: Path,
) -> None:
    with running_hub({"calm": stdio_stub("calm", home, *FEW)}) as hub:
        doors = doors_of(hub)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(doors.run("calm__cancellable", ms=60_000))
            await wait_recorded(home / "calm.jsonl", "waiting")
            hub.process.send_signal(signal.SIGTERM)
            await refused(doors)
            hub.process.send_signal(signal.SIGTERM)  # a second one means: now
            waiting.cancel()
        await asyncio.to_thread(hub.process.wait, 60)
        assert until(lambda: all_gone(home, "calm"), 60)


def test_a_killed_hub_leaves_no_process(home: Path) -> None:
    servers: dict[str, Any] = {
        f"s{n}": stdio_stub(f"s{n}", home, *FEW, "--ignore-eof", "--ignore-term") for n in range(4)
    }
    servers["parent"] = stdio_stub("parent", home, *FEW, "--child", "--ignore-eof")
    with running_hub(servers) as hub:
        assert len(pids(home, *servers)) == 6
        assert not all_gone(home, *servers)
        hub.process.kill()
        assert until(lambda: all_gone(home, *servers), 60)


def test_a_new_hub_starts_after_a_killed_one(home: Path) -> None:
    command = toolyard("up", "--detach", "--port", str(free_port()))
    env = environment(home)
    try:
        assert subprocess.run(command, env=env, capture_output=True, timeout=60).returncode == 0
        state = json.loads((home / "run" / "hub.json").read_text())
        os.kill(state["pid"], signal.SIGKILL)
        again = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert again.returncode == 0, again.stderr
        assert json.loads((home / "run" / "hub.json").read_text())["pid"] != state["pid"]
    finally:
        subprocess.run(toolyard("down"), env=env, capture_output=True, timeout=60)


def test_hubs_started_at_once_end_in_one(
    home: Path, record_property: Callable[[str, object], None]
) -> None:
    env = environment(home)
    command = toolyard("up", "--detach", "--port", str(free_port()))
    starting = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(6)
    ]
    try:
        said = [process.communicate(timeout=60)[0].decode() for process in starting]
        state = json.loads((home / "run" / "hub.json").read_text())
        running = [p for p in psutil.process_iter() if _is_hub_of(p, home)]
        assert [p.pid for p in running] == [state["pid"]], said
        assert all("Traceback" not in text for text in said), said
        record_property("figure", f"{len(starting)} hubs started at once, {len(running)} left")
    finally:
        subprocess.run(toolyard("down"), env=env, capture_output=True, timeout=60)


def _is_hub_of(process: psutil.Process, home: Path) -> bool:
    try:
        mine = process.environ().get("TOOLYARD_HOME") == str(home)
        return mine and "up" in process.cmdline() and "--detach" not in process.cmdline()
    except psutil.Error:
        return False


def test_the_files_of_a_hub_are_for_its_owner_alone(home: Path) -> None:
    env = {name: value for name, value in environment(home).items() if name != "TOOLYARD_TOKEN"}
    try:
        up = toolyard("up", "--detach", "--port", str(free_port()))
        assert subprocess.run(up, env=env, capture_output=True, timeout=60).returncode == 0
        run = home / "run"
        assert stat.S_IMODE(run.stat().st_mode) == 0o700
        seen = {path.name: stat.S_IMODE(path.stat().st_mode) for path in run.iterdir()}
        assert seen["hub.sock"] == 0o600
        assert all(mode & 0o077 == 0 for mode in seen.values()), seen
        token = (run / "token").read_text().strip()
        assert len(token) >= 43
        url = json.loads((run / "hub.json").read_text())["url"]
        assert asked(url, token) == 200
        assert asked(url, "x" * 43) == 401
        listening = [
            c.laddr.ip
            for c in psutil.Process(
                json.loads((run / "hub.json").read_text())["pid"]
            ).net_connections()
            if c.status == psutil.CONN_LISTEN and hasattr(c.laddr, "ip")
        ]
        assert listening == ["127.0.0.1"]
    finally:
        subprocess.run(toolyard("down"), env=env, capture_output=True, timeout=60)
    # Read once it has stopped: a running hub has files that come and go.
    logs = [p for p in home.rglob("*") if p.is_file() and "token" not in p.name]
    assert all(token.encode() not in path.read_bytes() for path in logs)


def listening_at(pid: int) -> list[str]:
    """The addresses at which a process takes connections."""
    found = psutil.Process(pid).net_connections("inet")
    return [each.laddr.ip for each in found if each.status == psutil.CONN_LISTEN]


def asked(url: str, token: str) -> int:
    """The status of a question with this token."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    try:
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("GET", "/api/v1/status", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


async def test_a_server_sees_only_what_it_was_given(home: Path) -> None:
    secrets = {f"FAKE_SECRET_{n}": f"secret-{n}" for n in range(50)}
    secrets |= {"AWS_SECRET_ACCESS_KEY": "x", "GITHUB_TOKEN": "x", "PYTHONSTARTUP": "x"}
    own = {
        **stdio_stub("one", home, *FEW),
        "env": {"DECLARED": "mine", "GIVEN": "${FAKE_SECRET_7}"},
    }
    with running_hub({"one": own}, env=secrets) as hub:
        doors = doors_of(hub)
        names = set(json.loads(await doors.text("one__env")))
        assert {"DECLARED", "GIVEN", "PATH", "HOME"} <= names
        assert await doors.text("one__env", name="GIVEN") == "secret-7"
        ours = {n for n in names if n.startswith("TOOLYARD_")}
        assert ours <= {"TOOLYARD_OWNER", "TOOLYARD_INSTANCE"}
        assert not names & secrets.keys()
        for name in names:
            assert TOKEN not in await doors.text("one__env", name=name)
        pid = json.loads(await doors.text("one__where"))["pid"]
        assert {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")} <= {0, 1, 2, 3, 4}
        assert os.getpgid(pid) == pid
