"""Links that hold: restarts, lost sessions, and one bad server among twenty."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.doors.doors import Doors, Raw, open_doors
from tests.e2e.hub import stdio_stub
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import recorded, running_http_stub
from toolyard.links.patience import Patience

FEW = ("--tools-only", "--only", "echo,sleep,counter,where,cancellable,headers")


@asynccontextmanager
async def listening(doors: Doors) -> AsyncIterator[Raw]:
    """A legacy client's stream, on which it hears of changes."""
    session = await doors.initialize()
    async with doors.connected() as raw:
        headers = {"Accept": "text/event-stream", **session}
        await raw.send(doors.request("GET", "/mcp", headers=headers))
        assert (await raw.head())[0] == 200
        yield raw


async def pid_of(doors: Doors, name: str) -> int:
    """The process of a server."""
    pid: int = json.loads(await doors.text(f"{name}__where"))["pid"]
    return pid


# Restarts.


async def test_a_restart_within_the_grace_changes_no_list(home: Path) -> None:
    async with open_doors(home, {"one": stdio_stub("one", home, *FEW)}) as doors:
        await doors.settled()
        before = await doors.tools()
        async with listening(doors) as raw:
            pid = await pid_of(doors, "one")
            os.kill(pid, signal.SIGKILL)
            await doors.until(lambda: is_status(doors, "one", "failing"))
            assert await doors.tools() == before
            assert await doors.text("one__echo", text="back") == "back"
            assert await pid_of(doors, "one") != pid
            assert (await doors.server("one"))["restarts"] == 1
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.4):
                    await raw.event()


async def is_status(doors: Doors, name: str, status: str) -> bool:
    """Whether a server is in that state."""
    return bool((await doors.server(name))["status"] == status)


async def test_after_the_grace_tools_leave_with_one_notification_and_return_with_one(
    home: Path,
) -> None:
    # The grace is longer than a busy machine takes to kill, to notice and to list.
    patience = Patience(first_pause=600.0, grace=6.0)
    async with open_doors(home, {"one": stdio_stub("one", home, *FEW)}, patience) as doors:
        await doors.settled()
        async with listening(doors) as raw:
            os.kill(await pid_of(doors, "one"), signal.SIGKILL)
            await doors.until(lambda: is_status(doors, "one", "failing"))
            assert "one__echo" in await doors.tools()
            assert (await raw.event())["method"] == "notifications/tools/list_changed"
            assert await doors.tools() == set()
            said = await doors.run("toolyard_destroy", server="one", tool="echo", arguments={})
            assert "result" in said
            assert (await raw.event())["method"] == "notifications/tools/list_changed"
            assert "one__echo" in await doors.tools()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.4):
                    await raw.event()


async def test_a_call_to_a_server_that_just_died_starts_it_again(home: Path) -> None:
    patience = Patience(first_pause=600.0)
    async with open_doors(home, {"one": stdio_stub("one", home, *FEW)}, patience) as doors:
        await doors.settled()
        for _ in range(3):
            os.kill(await pid_of(doors, "one"), signal.SIGKILL)
            await doors.until(lambda: is_status(doors, "one", "failing"))
            async with asyncio.timeout(60):
                assert await doors.text("one__echo", text="up") == "up"


async def test_all_calls_under_way_fail_at_once_when_their_server_dies(home: Path) -> None:
    servers = {name: stdio_stub(name, home, *FEW) for name in ("one", "two")}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        pid = await pid_of(doors, "one")
        async with asyncio.TaskGroup() as group:
            dying = [group.create_task(doors.fault("one__cancellable")) for _ in range(30)]
            others = [group.create_task(doors.text("two__sleep", ms=300)) for _ in range(30)]
            await waiting(doors, home / "one.jsonl", 30)
            os.kill(pid, signal.SIGKILL)
            said = await asyncio.gather(*dying)
        assert all("'one' was killed by signal SIGKILL" in text for text in said)
        assert {task.result() for task in others} == {"slept"}
        # Nothing is tried again on its own: it may have happened already.
        assert len(recorded(home / "one.jsonl", "waiting")) == 30


async def waiting(doors: Doors, file: Path, count: int) -> None:
    """Wait until that many calls have reached their server."""

    async def have_arrived() -> bool:
        return len(recorded(file, "waiting")) >= count

    await doors.until(have_arrived)


# Sessions of servers over HTTP.


async def test_a_lost_session_is_opened_again_and_the_call_made_once(home: Path) -> None:
    flags = ("--era", "legacy", "--lose-session-after", "7", "--record", str(home / "web.jsonl"))
    with running_http_stub("--name", "web", *FEW, *flags) as url:
        async with open_doors(home, {"web": {"url": url}}) as doors:
            await doors.settled()
            counted = [await doors.text("web__counter") for _ in range(30)]
            assert counted == [str(n) for n in range(1, 31)]
        assert len(recorded(home / "web.jsonl", "initialize")) > 2


async def test_the_callers_authorization_never_reaches_a_server(home: Path) -> None:
    with running_http_stub("--name", "web", *FEW) as url:
        own = {"url": url, "headers": {"X-Own": "declared"}}
        async with open_doors(home, {"web": own}) as doors:
            await doors.settled()
            seen = json.loads(await doors.text("web__headers"))
            assert seen["x-own"] == "declared"
            assert not {"authorization", "cookie", "origin", "referer"} & seen.keys()
            assert seen["host"] == url.split("/")[2]


# One bad server among twenty.

GOOD = [f"s{number:02}" for number in range(6)]


@contextmanager
def silent() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


@contextmanager
def bad_server(kind: str, home: Path) -> Iterator[dict[str, Any]]:
    """The entry of a server that is absent, silent, or stalls later."""
    if kind == "absent":
        yield {"url": f"http://127.0.0.1:{free_port()}/mcp"}
    elif kind == "silent":
        with silent() as url:
            yield {"url": url}
    elif kind == "stalls over http":
        with running_http_stub("--name", "bad", *FEW, "--hang", "call") as url:
            yield {"url": url}
    else:
        yield stdio_stub("bad", home, *FEW, "--hang-after", "3")


@pytest.mark.parametrize("kind", ["absent", "silent", "stalls over http", "stalls over stdio"])
async def test_one_server_that_fails_changes_nothing_for_the_others(home: Path, kind: str) -> None:
    servers = {name: stdio_stub(name, home, *FEW) for name in GOOD}
    with bad_server(kind, home) as bad:
        async with open_doors(home, {"bad": bad, **servers}) as doors:
            loop = asyncio.get_running_loop()
            began = loop.time()
            await doors.until(lambda: are_listed(doors))
            started = loop.time() - began
            async with asyncio.TaskGroup() as group:
                stuck = [group.create_task(doors.run("bad__echo")) for _ in range(20)]
                lists, calls = [], []
                for number in range(30):
                    began = loop.time()
                    assert {f"{name}__echo" for name in GOOD} <= await doors.tools()
                    lists.append(loop.time() - began)
                    began = loop.time()
                    assert await doors.text(f"{GOOD[number % 6]}__echo", text="x") == "x"
                    calls.append(loop.time() - began)
                for task in stuck:
                    task.cancel()
            print(
                f"{kind}: start {started:.2f} s, list {max(lists):.3f} s, call {max(calls):.3f} s"
            )
            # Somebody else on the machine may cost some; a bad server would cost all.
            assert median(lists) < 2.0
            assert median(calls) < 2.0


async def are_listed(doors: Doors) -> bool:
    """Whether the tools of all good servers are there."""
    return {f"{name}__echo" for name in GOOD} <= await doors.tools()


async def test_more_silent_servers_than_may_start_at_once_do_not_keep_the_others_out(
    home: Path,
) -> None:
    servers: dict[str, Any] = {
        f"bad{n}": stdio_stub(f"bad{n}", home, "--hang", "all") for n in range(10)
    }
    servers |= {name: stdio_stub(name, home, *FEW) for name in GOOD}
    async with open_doors(home, servers, Patience(slot=0.3), start_timeout=300.0) as doors:
        await doors.until(lambda: are_listed(doors), 60)


async def test_lists_are_answered_before_any_server_is_ready(home: Path) -> None:
    slow = stdio_stub("slow", home, *FEW, "--delay-init", "600000")
    async with open_doors(home, {"slow": slow}) as doors:
        async with asyncio.timeout(60):
            assert await doors.tools() == set()
