"""Servers on a host behind a real sshd: started, heard, stopped; nothing is left there."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.executors.children import (
    ECHO,
    ESCAPING,
    STUBBORN,
    Ear,
    eventually,
    leaves,
    marked,
    python,
)
from tests.executors.replicas import alone
from tests.executors.ssh.site import (
    HUB,
    Sshd,
    need_sshd,
    pipes_of,
    running,
    ssh,
    sshd,
)
from tests.fixtures.ports import free_port
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.ports import Address
from toolyard.core.replicas import Replica
from toolyard.core.sites import Placement, Site
from toolyard.executors.ssh import Ssh
from toolyard.executors.ssh.shell import LOADER, launch
from toolyard.executors.ssh.shell import reaper as program

# Short commands, and the loop may stand still meanwhile.
# ruff: noqa: ASYNC220, ASYNC221

__all__ = ["ssh", "sshd"]
pytestmark = pytest.mark.executors

MIB = 1024 * 1024
SLEEPER = "import os, time; print(os.getpid(), flush=True)\nwhile True: time.sleep(60)"

# A hub that opens servers and then does nothing, so that it can be killed.
HUB_PROGRAM = """
import asyncio, sys
from contextlib import AsyncExitStack
from tests.executors.children import ESCAPING, STUBBORN, Ear, python
from tests.executors.replicas import alone
from toolyard.core.placement import Run
from toolyard.core.sites import Site
from toolyard.executors.ssh import Ssh
from toolyard.executors.ssh.shell import LOADER, launch
from toolyard.executors.ssh.shell import reaper as program

async def main(hub, host, identity, known_hosts):
    options = (("identity", identity), ("known_hosts", known_hosts))
    ssh = Ssh(Site("box", "ssh", host, options), alone(hub))
    async with AsyncExitStack() as stack:
        for code in (STUBBORN, STUBBORN, ESCAPING + STUBBORN):
            pipes = await stack.enter_async_context(ssh.open(Run("x", python(code))))
            await Ear(pipes).line()
        print(ssh.owner, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def readers(ssh: Ssh, count: int) -> AsyncIterator[list[tuple[int, Ear]]]:
    """So many servers, opened at once; their pids and ears."""
    async with AsyncExitStack() as stack:

        async def start() -> tuple[int, Ear]:
            code = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
            run = Run("reader", python(code))
            ear = Ear(pipes_of(await stack.enter_async_context(ssh.open(run))))
            return int(await ear.line()), ear

        yield await asyncio.gather(*(start() for _ in range(count)))


async def test_arguments_pass_as_they_are(ssh: Ssh) -> None:
    odd = ("a b", "$HOME", "`id`", "it's", "two\nlines", "", "-x", "*", "!", "\\", "ümlaut")
    code = "import json, sys; print(json.dumps(sys.argv[1:]), flush=True)"
    async with ssh.open(Run("odd", python(code, *odd))) as running:
        line = await Ear(pipes_of(running)).line()

    assert json.loads(line) == list(odd)


async def test_the_environment_is_on_no_command_line(ssh: Ssh) -> None:
    code = "import os; print(os.environ['SECRET'], flush=True); input()"
    async with ssh.open(Run("nosy", python(code, SECRET="hush 'hush'\nhush"))) as running:
        ear = Ear(pipes_of(running))

        assert await ear.line() == b"hush 'hush'"
        listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, check=True)
        assert b"hush" not in listed.stdout


async def test_a_server_runs_in_its_working_folder(ssh: Ssh, tmp_path: Path) -> None:
    command = python("import os; print(os.getcwd(), flush=True)")
    run = Run("here", Command(command.argv, cwd=str(tmp_path)))
    async with ssh.open(run) as running:
        assert await Ear(pipes_of(running)).line() == str(tmp_path).encode()


@pytest.mark.parametrize(
    ("command", "why", "hint"),
    [
        (Command(("no-such-program",), (("PATH", "/here:/bin"),)), "not found", "/here, /bin"),
        (Command(("/no/such/program",)), "is no program on", "correct the path"),
        (Command(("ls",), cwd="/no/such/folder"), '"/no/such/folder" does not exist', "cwd"),
    ],
)
async def test_what_cannot_be_started_there_is_a_clear_error(
    ssh: Ssh, command: Command, why: str, hint: str
) -> None:
    with pytest.raises(StartError, match=why) as caught:
        async with ssh.open(Run("lost", command)):
            pass

    assert hint in caught.value.hint
    assert "127.0.0.1" in str(caught.value)


async def test_a_script_without_its_interpreter_is_a_clear_error(ssh: Ssh, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter -x\n")
    script.chmod(0o755)

    with pytest.raises(StartError, match='asks for "/no/such/interpreter"'):
        async with ssh.open(Run("script", Command((str(script),)))):
            pass


async def test_a_line_of_eight_mebibytes_passes_both_ways(ssh: Ssh) -> None:
    line = b"0123456789abcdef" * (8 * MIB // 16)
    async with ssh.open(Run("echo", python(ECHO))) as running:
        pipes = pipes_of(running)
        ear = Ear(pipes)
        pipes.write(line + b"\n")

        assert await ear.line(30) == line
        assert pipes.unsent == 0


async def test_unsent_counts_what_a_server_does_not_take(ssh: Ssh) -> None:
    async with ssh.open(Run("deaf", python(SLEEPER))) as running:
        pipes = pipes_of(running)
        pipes.write(b"x" * 8 * MIB)

        assert pipes.unsent > 4 * MIB


async def test_a_server_that_talks_before_connect_is_held_back_not_lost(ssh: Ssh) -> None:
    code = f"""
import os, sys, threading
done = threading.Event()
def talk():
    for _ in range(64):
        os.write(1, b"x" * {MIB})
    done.set()
threading.Thread(target=talk).start()
held = not done.wait(1)
sys.stderr.write("held" if held else "ran ahead")
sys.stderr.close()
done.wait()
"""
    async with ssh.open(Run("eager", python(code))) as running:
        pipes = pipes_of(running)
        await asyncio.sleep(1.2)  # its own measure of whether it is held
        ear = Ear(pipes)

        assert await ear.end(30) == "exited with code 0"
        assert len(ear.heard) == 64 * MIB
        assert pipes.stderr == ("held",)


async def test_a_flood_of_stderr_does_not_block_the_answer(ssh: Ssh) -> None:
    code = f"""
import os
for number in range(50):
    os.write(2, b"noise %d\\n" % number + b"x" * {MIB})
os.write(2, b"\\nthe last line\\n")
os.write(1, b"answer\\n")
input()
"""
    async with ssh.open(Run("loud", python(code))) as running:
        pipes = pipes_of(running)
        assert await Ear(pipes).line(within=30) == b"answer"
        await eventually(lambda: pipes.stderr[-1:] == ("the last line",))


async def test_stderr_is_kept_in_a_file_too(sshd: Sshd, tmp_path: Path) -> None:
    ssh = Ssh(sshd.site(), alone(HUB), logs=tmp_path)
    code = "import sys; print('why', file=sys.stderr)"
    async with ssh.open(Run("brief", python(code))) as running:
        assert await Ear(pipes_of(running)).end() == "exited with code 0"
    await ssh.close()

    assert (tmp_path / "brief.log").read_text() == "why\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(3)", "exited with code 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by signal SIGKILL"),
    ],
)
async def test_the_end_is_told_once_and_says_how(ssh: Ssh, code: str, why: str) -> None:
    async with ssh.open(Run("brief", python(code))) as running:
        ear = Ear(pipes_of(running))
        assert await ear.end() == why

    assert ear.ends == [why]


async def test_many_servers_share_one_connection(ssh: Ssh, sshd: Sshd) -> None:
    before = len(sshd.sessions())
    async with asyncio.timeout(30), readers(ssh, 5) as ears:
        assert len(sshd.sessions()) == before + 1
        assert len({pid for pid, _ in ears}) == 5
    assert marked(ssh.owner) == []


async def test_where_a_connection_is_full_another_is_opened(sshd: Sshd) -> None:
    with running(MaxSessions="4") as small:
        ssh = Ssh(small.site(), alone(HUB), eof=0.3, term=0.5)
        async with asyncio.timeout(30), readers(ssh, 7) as ears:
            assert len({pid for pid, _ in ears}) == 7
            assert len(small.sessions()) == 3  # three servers and a reaper each
            assert all(not ear.ends for _, ear in ears)
        assert marked(ssh.owner) == []
        await ssh.close()


async def test_a_host_with_one_session_only_is_a_clear_error() -> None:
    need_sshd()
    with running(MaxSessions="1") as tiny:
        ssh = Ssh(tiny.site(), alone(HUB))
        with pytest.raises(StartError, match="opens no session") as caught:
            async with ssh.open(Run("echo", python(ECHO))):
                pass
        await ssh.close()

    assert "MaxSessions" in caught.value.hint


async def test_grandchildren_that_left_their_session_are_gone_after_leaving(ssh: Ssh) -> None:
    async with ssh.open(Run("escaping", python(ESCAPING))) as running:
        escaped = int(await Ear(pipes_of(running)).line())
        assert marked(ssh.owner)

    assert await leaves(escaped, within=0)
    assert marked(ssh.owner) == []


async def test_a_grandchild_that_dropped_the_mark_is_gone_with_its_session(ssh: Ssh) -> None:
    code = """
import os, sys
if os.fork() == 0:
    sleeper = "import os, time; os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(60)"
    os.execve(sys.executable, [sys.executable, "-I", "-c", sleeper], {})
input()
"""
    async with ssh.open(Run("nameless", python(code))) as running:
        nameless = int(await Ear(pipes_of(running)).line())

    assert await leaves(nameless, within=0)


async def test_a_hub_that_is_killed_leaves_nothing_there(sshd: Sshd) -> None:
    host = f"root@127.0.0.1:{sshd.port}"
    hub = subprocess.Popen(
        [sys.executable, "-c", HUB_PROGRAM, HUB, host, str(sshd.identity), str(sshd.known_hosts)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{Path.cwd()}:{Path.cwd() / 'src'}"},
    )
    assert hub.stdout is not None
    with hub, hub.stdout:
        owner = (await asyncio.to_thread(hub.stdout.readline)).decode().strip()
        assert len(marked(owner)) == 4
        hub.kill()

    await eventually(lambda: not marked(owner), within=30)
    await eventually(lambda: not sshd.sessions(), within=30)


async def test_a_hub_of_the_same_name_that_lives_keeps_its_servers(sshd: Sshd) -> None:
    async def without_us() -> frozenset[str]:
        return frozenset()

    first = Ssh(sshd.site(), alone(HUB), eof=0.3)
    second = Ssh(sshd.site(), Replica(HUB, HUB, without_us))
    async with first.open(Run("first", python(SLEEPER))) as running:
        ear = Ear(pipes_of(running))
        await ear.line()

        assert await second.sweep() == ()
        assert ear.ends == []
    await first.close()
    await second.close()


async def test_what_an_earlier_start_left_is_swept_at_the_next(ssh: Ssh, sshd: Sshd) -> None:
    earlier = Ssh(sshd.site(), alone(HUB))
    other = Ssh(sshd.site("other"), alone(HUB), eof=0.3)
    async with (
        earlier.open(Run("left", python(SLEEPER))) as left,
        other.open(Run("other", python(SLEEPER))) as kept,
    ):
        pid = int(await Ear(pipes_of(left)).line())
        ear = Ear(pipes_of(kept))
        await ear.line()

        swept = await ssh.sweep()

        assert [word for word in swept if word.startswith(f"pid {pid}(python")]
        assert await leaves(pid, within=0)
        assert ear.ends == []
        assert await ssh.sweep() == ()
    await earlier.close()
    await other.close()


async def test_a_reaper_that_is_killed_ends_what_it_watched(ssh: Ssh, sshd: Sshd) -> None:
    async with ssh.open(Run("deaf", python(STUBBORN))) as running:
        ear = Ear(pipes_of(running))
        await ear.line()
        (session,) = sshd.sessions()
        (reaper,) = set(_below(session)) - set(marked(ssh.owner))
        os.kill(reaper, signal.SIGKILL)
        assert "reaper" in await ear.end()
    async with ssh.open(Run("sleeper", python(SLEEPER))) as running:
        pid = int(await Ear(pipes_of(running)).line())
        assert marked(ssh.owner) == [pid]  # the one before was ended with the new connection


async def test_a_port_of_a_server_there_is_forwarded(ssh: Ssh) -> None:
    from tests.executors.contract import SERVES, get

    port = free_port()
    run = Run("web", python(SERVES, str(port)), Placement(port=port, path="/x"))
    async with ssh.open(run) as running:
        assert isinstance(running, Address)
        assert await get(running.url.url) == "you asked for /x"

        with pytest.raises(StartError, match=f"port {port} is in use"):
            async with ssh.open(Run("twin", run.command, run.placement)):
                pass
        assert running.ended() == ""
    assert marked(ssh.owner) == []


async def test_a_server_that_ends_before_it_listens_is_a_clear_error(ssh: Ssh) -> None:
    run = Run("web", python("import sys; sys.exit('no licence')"), Placement(port=free_port()))
    with pytest.raises(StartError, match="exited with code 1: no licence"):
        async with ssh.open(run):
            pass


async def test_a_host_that_forwards_nothing_is_a_clear_error() -> None:
    need_sshd()
    with running(AllowTcpForwarding="no") as closed:
        ssh = Ssh(closed.site(), alone(HUB))
        with pytest.raises(StartError, match="forwards no port") as caught:
            async with ssh.reach(80):
                pass
        await ssh.close()

    assert "AllowTcpForwarding" in caught.value.hint


async def test_a_changed_host_key_is_refused_with_its_fingerprint(tmp_path: Path) -> None:
    need_sshd()
    with running() as box:
        shown = subprocess.run(
            ["ssh-keygen", "-lf", str(box.folder / "hostkey.pub")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[1]
        box.trust(box.identity.with_suffix(".pub").read_text())

        error = await _refusal(Ssh(box.site(), alone(HUB)))

    assert f"{shown} is not the one known" in str(error)
    assert str(box.known_hosts) in str(error)
    assert "ssh-keyscan" in error.hint


async def test_an_unknown_host_key_is_refused_whatever_the_configuration_says(
    sshd: Sshd, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile none\n"
        f"  IdentityFile {sshd.identity}\n"
    )
    site = Site("box", "ssh", f"root@127.0.0.1:{sshd.port}", (("config", str(config)),))

    assert "is not known" in str(await _refusal(Ssh(site, alone(HUB))))


async def test_a_key_that_is_not_accepted_is_a_clear_error(sshd: Sshd, tmp_path: Path) -> None:
    key = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)

    error = await _refusal(Ssh(sshd.site(identity=str(key)), alone(HUB)))

    assert "accepts none of your keys" in str(error)
    assert "ssh-copy-id" in error.hint


async def test_a_name_of_the_ssh_configuration_is_enough(sshd: Sshd, home: Path) -> None:
    folder = home / ".ssh"
    folder.mkdir()
    (folder / "config").write_text(
        f"Host near\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User root\n"
        f"  IdentityFile {sshd.identity}\n  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    ssh = Ssh(Site("box", "ssh", "near"), alone(HUB))
    async with ssh.open(Run("echo", python(ECHO))) as running:
        pipes = pipes_of(running)
        ear = Ear(pipes)
        pipes.write(b"hello\n")
        assert await ear.line() == b"hello"
        assert pipes.where.endswith(" on near")
        assert pipes.pid == 0
    await ssh.close()


async def test_keys_of_the_agent_are_used(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sock = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    try:
        await eventually(sock.exists)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
        subprocess.run(["ssh-add", "-q", str(sshd.identity)], check=True)
        ssh = Ssh(sshd.site(identity=""), alone(HUB))
        async with ssh.open(Run("echo", python(ECHO))):
            pass
        await ssh.close()
    finally:
        agent.kill()
        agent.wait()


async def test_a_server_has_its_time_to_clean_up(sshd: Sshd, tmp_path: Path) -> None:
    code = """
import pathlib, signal, sys, time
def leave(*_):
    time.sleep(1.5)
    pathlib.Path(sys.argv[1]).touch()
    sys.exit(5)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
while True: time.sleep(60)
"""
    ssh = Ssh(sshd.site(), alone(HUB), eof=0.1, term=5)
    async with ssh.open(Run("tidy", python(code, str(tmp_path / "cleaned")))) as running:
        ear = Ear(pipes_of(running))
        await ear.line()
    await ssh.close()

    assert ear.ends == ["exited with code 5"]
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh"])
def test_every_shell_ends_what_its_connection_left(shell: str) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell.split()[0]} here")
    owner = f"dialect-{os.getpid()}"
    command = LOADER.replace("exec sh", f"exec {shell}")
    marks = (("TOOLYARD_OWNER", owner), ("TOOLYARD_INSTANCE", f"{owner}.1"))
    with _shell(command) as (server, pid), _shell(command) as (reaper, _):
        server.stdin.write(launch(Run("x", python(ESCAPING + STUBBORN, A="two\nlines")), marks))
        assert server.stdout.readline() == b"toolyard-shell ok\n"
        assert int(server.stdout.readline()) in marked(owner)
        reaper.stdin.write(program("HUB=h", "OWNER=o", f"TOOLYARD_INSTANCE={owner}."))
        reaper.stdin.write(f"add 1\nadd {pid}\ndel 1\n".encode())
        assert reaper.stdout.readline() == b"0\n"
        reaper.stdin.close()
        server.wait(20)
        reaper.wait(20)

    assert marked(owner) == []


async def test_a_failed_stop_takes_no_longer_than_its_patience(ssh: Ssh) -> None:
    async with ssh.open(Run("stubborn", python(STUBBORN))) as running:
        await Ear(pipes_of(running)).line()
        before = time.monotonic()

    assert time.monotonic() - before < 5
    assert marked(ssh.owner) == []


@contextmanager
def _shell(command: str) -> Iterator[tuple[Any, int]]:
    """The command as sshd would run it; the process, and the pid it says it has."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, shell=True, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline().split()[1])
        finally:
            process.kill()


async def _refusal(ssh: Ssh) -> StartError:
    with pytest.raises(StartError) as caught:
        async with asyncio.timeout(20), ssh.open(Run("echo", python(ECHO))):
            pass
    await ssh.close()
    return caught.value


def _below(pid: int) -> list[int]:
    """The processes that an sshd of one connection started."""
    out = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in out.stdout.split()]
