from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import time
from pathlib import Path

import pytest

from tests.executors.children import ECHO, Ear, eventually, marked, python
from tests.fixtures.ports import free_port
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.sites import Placement
from toolyard.executors.local import Limits, Local

MIB = 1024 * 1024


async def test_what_is_written_comes_back_through_the_pipes(local: Local) -> None:
    async with local.start(Run("echo", python(ECHO))) as pipes:
        ear = Ear(pipes)
        pipes.write(b"one\n")
        pipes.write(b"two\n")

        assert [await ear.line(), await ear.line()] == [b"one", b"two"]


async def test_lines_of_a_mebibyte_arrive_whole(local: Local) -> None:
    lines = [bytes([65 + number]) * MIB for number in range(4)]
    async with local.start(Run("echo", python(ECHO))) as pipes:
        ear = Ear(pipes)
        for line in lines:
            pipes.write(line + b"\n")

        assert [await ear.line() for _ in lines] == lines


async def test_what_was_said_before_connect_is_delivered_by_it(local: Local) -> None:
    code = "import sys; print('early', flush=True); print('said', file=sys.stderr); input()"
    async with local.start(Run("early", python(code))) as pipes:
        await eventually(lambda: pipes.stderr)

        assert await Ear(pipes).line() == b"early"


async def test_a_server_that_talks_before_connect_is_held_back_not_lost(local: Local) -> None:
    code = f"""
import os, sys, threading
done = threading.Event()
def talk():
    for _ in range(64):
        os.write(1, b"x" * {MIB})
    done.set()
threading.Thread(target=talk).start()
held = not done.wait(0.5)
sys.stderr.write("held" if held else "ran ahead")
sys.stderr.close()
done.wait()
"""
    async with local.start(Run("eager", python(code))) as pipes:
        await eventually(lambda: pipes.stderr)
        ear = Ear(pipes)
        why = await ear.end()

        assert pipes.stderr == ("held",)
        assert len(ear.heard) == 64 * MIB
        assert why == "exited with code 0"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(0)", "exited with code 0"),
        ("raise SystemExit(3)", "exited with code 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by signal SIGKILL"),
        ("import os; os.abort()", "was killed by signal SIGABRT"),
        ("import os, time; os.close(1); time.sleep(60)", "closed its output"),
    ],
)
async def test_the_end_is_told_once_and_says_how(local: Local, code: str, why: str) -> None:
    async with local.start(Run("brief", python(code))) as pipes:
        ear = Ear(pipes)

        assert await ear.end() == why
        pipes.write(b"to nobody\n")

    assert ear.ends == [why]


async def test_the_last_words_come_before_the_end(local: Local) -> None:
    code = f"import os; os.write(2, b'why'); os.write(1, b'x' * {MIB} + b'\\n'); os._exit(1)"
    async with local.start(Run("wordy", python(code))) as pipes:
        ear = Ear(pipes)
        await ear.end()

        assert len(ear.heard) == MIB + 1
        assert pipes.stderr == ("why",)


async def test_a_server_is_gone_when_only_its_helper_still_holds_stdout(local: Local) -> None:
    code = "import os, time\nif os.fork() == 0: time.sleep(60)\nos._exit(4)"
    async with local.start(Run("father", python(code))) as pipes:
        assert await Ear(pipes).end() == "exited with code 4"


async def test_unsent_counts_what_a_server_does_not_take(local: Local) -> None:
    async with local.start(Run("deaf", python("import time; time.sleep(60)"))) as pipes:
        assert pipes.unsent == 0
        pipes.write(b"x" * 4 * MIB)
        assert pipes.unsent > 3 * MIB


async def test_a_flood_of_stderr_does_not_block_the_answer(local: Local) -> None:
    code = f"""
import os
for number in range(50):
    os.write(2, b"noise %d\\n" % number + b"x" * {MIB})
os.write(2, b"\\nthe last line\\n")
os.write(1, b"answer\\n")
input()
"""
    async with local.start(Run("loud", python(code))) as pipes:
        assert await Ear(pipes).line(within=60) == b"answer"
        # A flood is read little by little, so it may arrive after the answer.
        await eventually(lambda: pipes.stderr[-1] == "the last line", within=60)
        assert sum(map(len, pipes.stderr)) <= 256 * 1024


async def test_a_server_sees_only_its_three_descriptors(local: Local) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], flush=True)"
    try:
        async with (
            local.start(Run("first", python(ECHO))),
            local.start(Run("nosy", python(code))) as pipes,
        ):
            # The listing itself has one descriptor more, which is the last.
            assert await Ear(pipes).line() == b"[0, 1, 2]"
    finally:
        os.close(reader)
        os.close(writer)


async def test_no_secret_of_ours_reaches_a_server(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        monkeypatch.setenv(f"FAKE_SECRET_{number}", f"hush-{number}")
    monkeypatch.setenv("TOOLYARD_TOKEN", "hush-token")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-aws")
    code = "import os; print(dict(os.environ), flush=True)"
    async with local.start(Run("nosy", python(code, OWN="mine"))) as pipes:
        seen = (await Ear(pipes).line()).decode()

    assert "hush" not in seen
    assert "'OWN': 'mine'" in seen
    assert f"'TOOLYARD_OWNER': '{local.owner}'" in seen


async def test_a_missing_program_is_a_clear_error(local: Local) -> None:
    with pytest.raises(StartError, match='"no-such-program" was not found') as caught:
        async with local.start(
            Run("lost", Command(("no-such-program",), (("PATH", "/here:/there"),)))
        ):
            pass

    assert "/here, /there" in caught.value.hint


async def test_a_script_without_its_interpreter_is_a_clear_error(
    local: Local, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)

    with pytest.raises(StartError, match='cannot start "script"') as caught:
        async with local.start(Run("script", Command((str(script),)))):
            pass

    assert "/no/such/interpreter" in caught.value.hint


async def test_a_failed_fork_is_a_clear_error(local: Local) -> None:
    async with local.start(Run("first", python(ECHO))):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), hard))
        try:
            with pytest.raises(StartError, match="too many open files") as caught:
                async with local.start(Run("second", python(ECHO))):
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert "ulimit" in caught.value.hint


async def test_a_server_runs_in_its_working_folder(local: Local, tmp_path: Path) -> None:
    command = python("import os; print(os.getcwd(), flush=True)")
    async with local.start(Run("here", Command(command.argv, cwd=str(tmp_path)))) as pipes:
        assert await Ear(pipes).line() == str(tmp_path).encode()


async def test_a_server_leads_a_session_of_its_own(local: Local) -> None:
    code = "import os; print(os.getpid() == os.getsid(0) == os.getpgrp(), flush=True)"
    async with local.start(Run("leader", python(code))) as pipes:
        assert await Ear(pipes).line() == b"True"


async def test_descriptors_are_limited(local: Local) -> None:
    strict = Local(limits=Limits(descriptors=77))
    code = "import resource; input(); print(resource.getrlimit(resource.RLIMIT_NOFILE), flush=True)"
    async with strict.start(Run("limited", python(code))) as pipes:
        ear = Ear(pipes)
        pipes.write(b"\n")
        assert await ear.line() == b"(77, 77)"
    await strict.close()


async def test_stderr_is_kept_in_a_file_of_the_owner_alone(tmp_path: Path) -> None:
    local = Local(tmp_path / "logs")
    code = "import sys; sys.stderr.write('\\x1b[31mred\\x1b[0m\\a'); sys.stdin.read()"
    async with local.start(Run("../odd name@configured", python(code))):
        pass
    await local.close()

    (log,) = (tmp_path / "logs").iterdir()
    assert log.read_text() == "red?"
    assert log.stat().st_mode & 0o777 == 0o600


async def test_twenty_servers_start_at_once_and_cheaply(local: Local) -> None:
    async with local.start(Run("warm", Command(("cat",)))):
        pass
    async with contextlib.AsyncExitStack() as stack:
        before = time.process_time()
        opened = [
            stack.enter_async_context(local.start(Run(str(n), Command(("cat",)))))
            for n in range(20)
        ]
        everyone = await asyncio.gather(*opened)
        spent = time.process_time() - before
        for pipes in everyone:
            pipes.write(b"here\n")

        assert [await Ear(pipes).line() for pipes in everyone] == [b"here"] * 20
        assert spent < 1.0  # about 0.03 s of our own; a start must not cost a call its time

    assert marked(local.owner) == []


async def test_other_children_of_the_hub_are_left_alone(local: Local) -> None:
    stranger = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        async with local.start(Run("echo", python(ECHO))):
            pass
        assert stranger.returncode is None
    finally:
        stranger.kill()
        await stranger.wait()


async def test_the_last_words_of_a_server_that_dies_before_its_port_opens_are_kept(
    local: Local,
) -> None:
    command = Command(("sh", "-c", "echo no such database >&2; exit 3"))
    with pytest.raises(StartError, match="no such database") as caught:
        async with local.open(Run("web", command, Placement(port=free_port()))):
            pass

    assert caught.value.trace == ("no such database",)
