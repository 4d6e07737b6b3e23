"""What servers on a host behind a real sshd may take, and what they do take."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.executors.children import Ear, marked, python
from tests.executors.replicas import alone
from tests.executors.ssh.site import HUB, Sshd, pipes_of, running, ssh, sshd
from toolyard.core.errors import StartError
from toolyard.core.placement import Run
from toolyard.core.sites import Placement
from toolyard.executors.ssh import Ssh
from toolyard.executors.ssh.shell import LOADER, launch
from toolyard.executors.ssh.shell import reaper as program

__all__ = ["ssh", "sshd"]
pytestmark = pytest.mark.executors

MIB = 1024 * 1024

# Says which limits it has, soft and hard: descriptors, processes, memory.
TELLS_LIMITS = """
import json, resource
kinds = (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_DATA)
print(json.dumps([resource.getrlimit(kind) for kind in kinds]), flush=True)
"""

GREEDY = f"""
try:
    taken = bytearray(256 * {MIB})
    print("had it", flush=True)
except MemoryError:
    print("was refused it", flush=True)
"""

OPENS = """
import os
count = 0
try:
    while count < 1000:
        os.dup(0)
        count += 1
except OSError as error:
    print(count, error.strerror, flush=True)
"""

# Holds some memory itself, and as much in a process it started.
HOLDS = f"""
import os, sys
size = int(sys.argv[1]) * {MIB}
held = b"x" * size
if os.fork() == 0:
    held += b"y"
    print("ready", flush=True)
sys.stdin.read()
"""

# A shell that knows no limits, as there may be on a small machine.
BARE_SHELL = '#!/bin/sh\nexec /bin/sh -c "ulimit() { return 2; }; $2" toolyard\n'

# A shell with a limit of its own, and without the right of root to raise it.
LOW_SHELL = (
    "#!/bin/sh\nulimit -n 60\n"
    'exec setpriv --bounding-set -all --inh-caps -all /bin/sh -c "$2" toolyard\n'
)


async def said(ssh: Ssh, code: str, placement: Placement) -> str:
    """The first line of a server that runs within these bounds."""
    async with ssh.open(Run("bound", python(code), placement)) as running:
        return (await Ear(pipes_of(running)).line()).decode()


async def test_a_server_there_gets_no_more_memory_than_it_may_have(ssh: Ssh) -> None:
    assert await said(ssh, GREEDY, Placement(memory=128)) == "was refused it"
    assert await said(ssh, GREEDY, Placement(memory=512)) == "had it"
    assert await said(ssh, GREEDY, Placement()) == "had it"


async def test_a_server_there_gets_no_more_descriptors_than_it_may_have(ssh: Ssh) -> None:
    count, _, why = (await said(ssh, OPENS, Placement(descriptors=50))).partition(" ")

    assert int(count) < 50
    assert why == "Too many open files"


async def test_the_limits_of_a_server_there_are_its_own(ssh: Ssh) -> None:
    # The kernel does not hold root to a number of processes: the limit itself is looked at.
    bounds = Placement(memory=300, processes=400, descriptors=50)
    limits = json.loads(await said(ssh, TELLS_LIMITS, bounds))
    others = json.loads(await said(ssh, TELLS_LIMITS, Placement()))

    assert limits == [[50, 50], [400, 400], [300 * MIB, 300 * MIB]]
    assert all(other != own for other, own in zip(others, limits, strict=True))


async def test_a_lower_limit_of_the_host_stays(sshd: Sshd, tmp_path: Path) -> None:
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv: apt-get install util-linux")
    with running(SetEnv=f"PATH={sh(tmp_path, LOW_SHELL)}:{os.defpath}") as low:
        ssh = Ssh(low.site(), alone(HUB), eof=0.3, term=0.5)
        limits = json.loads(await said(ssh, TELLS_LIMITS, Placement(descriptors=5000)))
        await ssh.close()

    assert limits[0] == [60, 60]


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("memory", Placement(memory=64)),
        ("processes", Placement(processes=64)),
        ("descriptors", Placement(descriptors=64)),
    ],
)
async def test_a_limit_that_cannot_be_set_there_is_a_clear_error(
    sshd: Sshd, tmp_path: Path, name: str, bound: Placement
) -> None:
    with running(SetEnv=f"PATH={sh(tmp_path, BARE_SHELL)}:{os.defpath}") as bare:
        ssh = Ssh(bare.site(), alone(HUB), eof=0.3, term=0.5)
        with pytest.raises(StartError, match=rf"127\.0\.0\.1.* cannot limit its {name}$") as caught:
            await said(ssh, TELLS_LIMITS, bound)
        assert await said(ssh, "print('runs', flush=True)", Placement()) == "runs"
        assert marked(ssh.owner) == []
        await ssh.close()

    assert f'remove "{name}"' in caught.value.hint


@pytest.mark.parametrize("shell", ["dash", "bash", "bash --posix", "busybox sh"])
def test_every_shell_sets_the_limits(shell: str) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell.split()[0]} here")
    bounds = Placement(memory=300, processes=400, descriptors=50)
    command = LOADER.replace("exec sh", f"exec {shell}")
    text = launch(Run("x", python(TELLS_LIMITS), bounds), ())
    out = subprocess.run(command, shell=True, input=text, capture_output=True, check=True).stdout

    _, said_ok, limits = out.splitlines()
    assert said_ok == b"toolyard-shell ok"
    assert json.loads(limits) == [[50, 50], [400, 400], [300 * MIB, 300 * MIB]]


async def test_the_memory_of_a_server_is_that_of_all_its_processes(ssh: Ssh) -> None:
    async with (
        ssh.open(Run("large", python(HOLDS, "40"))) as large,
        ssh.open(Run("small", python(HOLDS, "1"))) as small,
    ):
        for each in (large, small):
            await Ear(pipes_of(each)).line()
        used = await ssh.memory()

        assert set(used) == {pipes_of(each).where for each in (large, small)}
        assert 80 * MIB < used[pipes_of(large).where] < 200 * MIB
        assert 2 * MIB < used[pipes_of(small).where] < 80 * MIB
    assert await ssh.memory() == {}


async def test_memory_is_asked_of_every_connection_once(sshd: Sshd) -> None:
    with running(MaxSessions="3") as small:
        ssh = Ssh(small.site(), alone(HUB), eof=0.3, term=0.5)
        assert await ssh.memory() == {}
        assert small.sessions() == []  # nobody is called for that alone
        async with AsyncExitStack() as stack:
            for _ in range(3):
                opened = await stack.enter_async_context(ssh.open(Run("x", python(HOLDS, "1"))))
                await Ear(pipes_of(opened)).line()
            assert len(await ssh.memory()) == 3
        await ssh.close()


async def test_memory_of_what_ended_or_was_lost_is_not_told(sshd: Sshd) -> None:
    ssh = Ssh(sshd.site(), alone(HUB), eof=0.3, term=0.5)
    async with (
        ssh.open(Run("brief", python("input()"))) as brief,
        ssh.open(Run("kept", python(HOLDS, "1"))) as kept,
    ):
        ear, other = Ear(pipes_of(brief)), Ear(pipes_of(kept))
        await other.line()
        pipes_of(brief).write(b"\n")
        await ear.end()
        assert set(await ssh.memory()) == {pipes_of(kept).where}

        for pid in sshd.sessions():
            os.kill(pid, signal.SIGKILL)
        await other.end()
        assert await ssh.memory() == {}
    await ssh.close()


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh"])
@pytest.mark.parametrize("is_linux", [True, False], ids=["proc", "ps"])
def test_every_shell_tells_the_memory(shell: str, is_linux: bool) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell.split()[0]} here")
    text = program("HUB=h", "OWNER=o", "TOOLYARD_INSTANCE=none.")
    if not is_linux:
        text = text.replace(b"/proc/", b"/no-proc/")
    command = LOADER.replace("exec sh", f"exec {shell}")
    with subprocess.Popen(
        [sys.executable, "-I", "-c", HOLDS, "20"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as held:
        assert held.stdin and held.stdout
        held.stdout.readline()
        said = f"memory 7 {held.pid},1\nmemory 8 4194304\n".encode()
        out = subprocess.run(command, shell=True, input=text + said, capture_output=True).stdout
        held.stdin.close()

    answers = dict(line.split(" ", 1) for line in out.decode().splitlines()[2:])
    sizes = dict(word.split(":") for word in answers["7"].split())
    assert 40 * 1024 < int(sizes[str(held.pid)]) < 100 * 1024
    assert answers["8"] == ""


def sh(folder: Path, text: str) -> Path:
    """A folder in which this is `sh`."""
    folder.mkdir(exist_ok=True)
    (folder / "sh").write_text(text)
    (folder / "sh").chmod(0o755)
    return folder
