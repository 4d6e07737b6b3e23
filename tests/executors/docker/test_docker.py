"""What docker does beyond the contract, on a real daemon."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.executors.children import ECHO, Ear
from tests.executors.contract import ASKS, SERVES, get, greeter
from tests.executors.docker.site import (
    IMAGE,
    SHUT_SSH_PORT,
    SSH_PORT,
    TLS_PORT,
    Daemon,
    FarYard,
    Yard,
    load_image,
    ssh_options,
    tls_options,
)
from tests.fixtures.ports import free_port
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.core.sites import Placement
from toolyard.executors.docker import Docker

pytestmark = [pytest.mark.executors, pytest.mark.timeout(180)]


@pytest.fixture
async def yard(here: Daemon) -> AsyncIterator[Yard]:
    yard = Yard(here, f"unix://{here.socket}")
    yield yard
    await yard.executor.close()
    assert await yard.leftovers() == []


@contextlib.asynccontextmanager
async def running(yard: Yard, code: str, **placement: object) -> AsyncIterator[tuple[Pipes, Ear]]:
    run = Run("probe", yard.python(code), replace(Placement(), **placement))  # type: ignore[arg-type]
    async with yard.executor.open(run) as pipes:
        assert not isinstance(pipes, Address)
        yield pipes, Ear(pipes)


async def answer(yard: Yard, code: str, **placement: object) -> str:
    async with running(yard, code, **placement) as (_, ear):
        return (await ear.line(20)).decode()


async def refusal(yard: Yard, run: Run) -> StartError:
    with pytest.raises(StartError) as caught:
        async with asyncio.timeout(60), yard.executor.open(run):
            pass
    return caught.value


async def test_a_server_may_do_little(yard: Yard) -> None:
    code = """
import os, pathlib, resource
def may_write(path):
    try:
        pathlib.Path(path).write_text("x")
        return True
    except OSError:
        return False
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(may_write("/root-file"), may_write("/tmp/file"), int(status["CapEff"], 16),
      status["NoNewPrivs"].strip(), os.getpid() != 1, flush=True)
"""
    assert await answer(yard, code) == "False True 0 1 True"
    assert (await answer(yard, code, writable=True)).startswith("True True 0")


async def test_it_sees_no_variable_of_ours(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "secret")
    names = await answer(yard, "import os; print(*sorted(os.environ), flush=True)")

    assert names.split() == ["HOME", "HOSTNAME", "PATH", "PYTHONDONTWRITEBYTECODE"]


async def test_who_and_where_it_is_can_be_chosen(yard: Yard) -> None:
    command = Command(("python3", "-c", "import os; print(os.getuid(), os.getcwd())"), (), "/tmp")
    run = Run("who", command, Placement(user="1000:1000"))
    async with yard.executor.open(run) as pipes:
        assert not isinstance(pipes, Address)
        assert await Ear(pipes).line(20) == b"1000 /tmp"


async def test_one_that_takes_too_much_memory_is_said_to_have(yard: Yard) -> None:
    async with running(yard, "input(); x = bytearray(200 << 20); input()", memory=32) as (
        pipes,
        ear,
    ):
        pipes.write(b"go\n")

        assert await ear.end(20) == "exited with code 137 (out of memory)"


async def test_processes_are_limited(yard: Yard) -> None:
    code = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
print(made, flush=True)
"""
    assert int(await answer(yard, code, processes=20)) < 20


async def test_mounts_are_read_only_unless_said(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir(mode=0o777)
    (tmp_path / "in" / "note").write_text("hello")
    os.chmod(tmp_path / "out", 0o777)
    code = """
print(open("/in/note").read(), end=" ")
open("/out/note", "w").write("back")
try:
    open("/in/other", "w")
except OSError as error:
    print(error.strerror, flush=True)
"""
    mounts = (f"{tmp_path}/in:/in", f"{tmp_path}/out:/out:rw")

    assert await answer(yard, code, mounts=mounts) == "hello Read-only file system"
    assert (tmp_path / "out" / "note").read_text() == "back"


async def test_a_mount_that_is_not_there_is_not_made(yard: Yard, tmp_path: Path) -> None:
    run = Run("probe", yard.python(ECHO), Placement(mounts=(f"{tmp_path}/absent:/in",)))
    error = await refusal(yard, run)

    assert f"{tmp_path}/absent" in str(error)
    assert not (tmp_path / "absent").exists()


async def test_an_image_that_is_missing_is_not_pulled(yard: Yard) -> None:
    error = await refusal(yard, Run("git", Command(("git",)), Placement(image="no-such:1")))

    assert 'no image "no-such:1"' in str(error)
    assert "docker pull no-such:1" in error.hint
    assert "pull=missing" in error.hint


async def test_a_pull_that_fails_says_why(here: Daemon) -> None:
    yard = Yard(here, f"unix://{here.socket}", pull="missing")
    image = "127.0.0.1:1/no-such:1"
    error = await refusal(yard, Run("git", Command(("git",)), Placement(image=image)))
    await yard.executor.close()

    assert "cannot be pulled" in str(error)
    assert error.hint


async def test_a_run_without_an_image_says_where_to_name_one(here: Daemon) -> None:
    yard = Yard(here, f"unix://{here.socket}")
    yard.site = replace(yard.site, options=())
    error = await refusal(yard, Run("git", Command(("git",))))
    await yard.executor.close()

    assert "names no image" in str(error)
    assert 'executor "yard" the option image' in error.hint


async def test_without_a_command_the_image_s_own_is_run(yard: Yard) -> None:
    code = "import sys; print(sys.argv[1:], flush=True); input()"
    entry = json.dumps(["python3", "-c", code])
    image = "toolyard-own:test"
    load_image(yard.daemon, image, f"ENTRYPOINT {entry}", 'CMD ["usual"]')

    async def said(*argv: str) -> str:
        run = Run("own", Command(argv), Placement(image=image))
        async with yard.executor.open(run) as pipes:
            assert not isinstance(pipes, Address)
            return (await Ear(pipes).line(20)).decode()

    assert await said() == await said("") == "['usual']"
    assert await said("", "--fast") == "['--fast']"
    assert await said("python3", "-c", code) == "[]"


async def test_containers_name_hub_start_server_and_owner(yard: Yard) -> None:
    docker = yard.executor
    assert isinstance(docker, Docker)
    async with docker.open(Run("git hub/x", yard.python(ECHO), owner="session-7")):
        (found,) = yard.daemon.containers(yard.hub)

    assert found["Labels"] == {
        "toolyard.hub": yard.hub,
        "toolyard.replica": yard.hub,
        "toolyard.start": docker.start,
        "toolyard.server": "git hub/x",
        "toolyard.owner": "session-7",
    }
    assert found["Names"][0].startswith("/toolyard-git-hub-x-")


async def test_a_later_start_sweeps_what_an_earlier_one_left_and_nothing_else(
    yard: Yard,
) -> None:
    other = Yard(yard.daemon, yard.site.host)
    later = yard.make()
    async with contextlib.AsyncExitStack() as stack:
        stubborn = Run("old", yard.python("import time; time.sleep(600)"))
        await stack.enter_async_context(other.executor.open(stubborn))
        await stack.enter_async_context(yard.executor.open(stubborn))
        mine = await stack.enter_async_context(later.open(Run("new", yard.python(ECHO))))
        assert not isinstance(mine, Address)

        (swept,) = await later.sweep()

        assert swept.endswith('of "old"')
        assert len(await yard.leftovers()) == 1
        assert len(await other.leftovers()) == 1
        ear = Ear(mine)
        mine.write(b"untouched\n")
        assert await ear.line(20) == b"untouched"
        assert await later.sweep() == ()
    await later.close()
    await other.executor.close()


async def test_memory_is_told_per_server(yard: Yard) -> None:
    docker = yard.executor
    assert isinstance(docker, Docker)
    async with running(yard, f"x = b'x' * (30 << 20); print('big', flush=True)\n{ECHO}") as (
        pipes,
        ear,
    ):
        await ear.line(20)
        used = await docker.memory()

        assert list(used) == [pipes.where]
        assert 30 << 20 < used[pipes.where] < 200 << 20


async def test_a_web_server_that_ends_later_is_known_to_have(yard: Yard) -> None:
    run = Run("web", yard.python(SERVES, "8000"), Placement(port=8000))
    async with yard.executor.open(run) as web:
        assert isinstance(web, Address)
        assert web.ended() == ""
        await yard.kill(web.where)
        async with asyncio.timeout(20):
            while not web.ended():  # noqa: ASYNC110 - an address only answers when asked
                await asyncio.sleep(0.05)

        assert web.ended() == "exited with code 137"


async def test_a_web_server_that_ends_before_it_listens_says_so(yard: Yard) -> None:
    code = "import sys; print('no licence', file=sys.stderr); sys.exit(5)"
    error = await refusal(yard, Run("web", yard.python(code), Placement(port=8000)))

    assert "exited with code 5 before it listened: no licence" in str(error)


async def test_two_web_servers_on_one_port_do_not_meet(yard: Yard) -> None:
    run = Run("web", yard.python(SERVES, "8000"), Placement(port=8000, path="/a"))
    async with yard.executor.open(run) as one, yard.executor.open(run) as two:
        assert isinstance(one, Address) and isinstance(two, Address)
        assert one.url.url.startswith("http://127.0.0.1:")
        assert one.url != two.url
        assert await get(one.url.url) == await get(two.url.url) == "you asked for /a"


async def test_on_the_host_network_ports_are_its_own(yard: Yard) -> None:
    port = free_port()
    run = Run("web", yard.python(SERVES, str(port)), Placement(port=port, network="host"))
    async with yard.executor.open(run) as web:
        assert isinstance(web, Address)
        assert web.url.url == f"http://127.0.0.1:{port}/mcp"


async def test_without_a_network_nothing_is_reached(here: Daemon) -> None:
    yard = Yard(here, f"unix://{here.socket}", network="none")
    with pytest.raises(StartError, match="reach nothing"):
        async with yard.executor.reach(1):
            pass
    error = await refusal(yard, Run("web", yard.python(SERVES, "80"), Placement(port=80)))
    await yard.executor.close()

    assert "publishes no ports" in str(error)


async def test_the_way_back_closes_with_its_context(yard: Yard) -> None:
    async with running(yard, ASKS) as (pipes, ear), greeter() as port:
        async with yard.executor.reach(port) as address:
            assert not address.startswith("127.")
            pipes.write(address.encode() + b"\n")
            assert await ear.line(20) == b"heard hello from the hub"
        pipes.write(address.encode() + b"\n")
        assert (await ear.line(20)).startswith(b"failed")


async def test_over_tcp_there_is_no_way_back_unless_one_is_named(there: Daemon) -> None:
    yard = FarYard(there, f"tcp://{there.plot.there}:{TLS_PORT}", **tls_options(there))
    with pytest.raises(StartError) as caught:
        async with yard.executor.reach(1):
            pass
    await yard.executor.close()

    assert "no way back" in str(caught.value)
    assert "ssh://" in caught.value.hint


async def test_a_daemon_that_does_not_know_us_is_said_to(there: Daemon) -> None:
    yard = FarYard(there, f"tcp://{there.plot.there}:{TLS_PORT}", ca=tls_options(there)["ca"])
    error = await refusal(yard, Run("x", yard.python(ECHO)))
    await yard.executor.close()

    assert "cannot reach docker" in str(error)
    assert "ca, cert and key" in error.hint


async def test_where_sshd_does_not_listen_for_us_the_hint_says_what_to_set(there: Daemon) -> None:
    yard = FarYard(there, f"ssh://root@{there.plot.there}:{SHUT_SSH_PORT}", **ssh_options(there))
    with pytest.raises(StartError) as caught:
        async with yard.executor.reach(1):
            pass
    await yard.executor.close()

    assert "GatewayPorts clientspecified" in caught.value.hint


async def test_on_the_host_network_over_ssh_the_way_back_needs_no_setting(there: Daemon) -> None:
    host = f"ssh://root@{there.plot.there}:{SHUT_SSH_PORT}"
    yard = FarYard(there, host, **ssh_options(there), network="host")
    async with (
        running(yard, ASKS) as (pipes, ear),
        greeter() as port,
        yard.executor.reach(port) as address,
    ):
        pipes.write(address.encode() + b"\n")
        assert await ear.line(20) == b"heard hello from the hub"
    await yard.executor.close()


async def test_a_socket_that_is_not_there_over_ssh_is_named(there: Daemon) -> None:
    options = {**ssh_options(there), "socket": "/nowhere/docker.sock"}
    yard = FarYard(there, f"ssh://root@{there.plot.there}:{SSH_PORT}", **options)
    error = await refusal(yard, Run("x", yard.python(ECHO), Placement(image=IMAGE)))
    await yard.executor.close()

    assert "cannot reach docker" in str(error)
    assert "/nowhere/docker.sock" in error.hint
