"""What every executor does, wherever its servers run: the checks that all of them pass.

To plug one in, describe the place it runs servers at as a `Ground`, and subclass `Contract`
in a test module of its own with a fixture called `ground`:

    class Yonder(Ground):
        cuttable = True
        serves = True

        def make(self) -> Executor: ...           # a new executor, as a hub that starts has one
        def python(self, code, *args, **env): ... # a command that runs Python code there
        async def leftovers(self): ...            # what still runs there of what was started
        async def kill(self, where): ...          # kill the server with this `where` from outside
        def cut(self): ...                        # lose the connection, and give it back at the end

    @pytest.mark.executors                        # where a real engine is needed
    class TestYonder(Contract):
        @pytest.fixture
        async def ground(self, engine) -> AsyncIterator[Ground]:
            ground = Yonder(engine)
            yield ground
            await ground.executor.close()

`ground.executor` is made by `make` when it is first asked for. A check of something the place does
not have (`cuttable`, `serves`) is skipped by name. All waits are bounded by `ground.patience`.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from urllib.parse import urlsplit

import pytest

from tests.executors.children import ECHO, Ear
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Executor, Pipes
from toolyard.core.sites import Placement

MIB = 1024 * 1024

BIG = 3 * MIB

CHATTY = f"""
import sys
print("first complaint", file=sys.stderr, flush=True)
print("second complaint", file=sys.stderr, flush=True)
{ECHO}
"""

LAST_WORDS = """
import sys
sys.stdin.readline()
print("it broke", file=sys.stderr, flush=True)
sys.exit(3)
"""

TELLS = "import os; print(os.environ.get('COLOUR'), os.environ.get('TOOLYARD_TOKEN'), flush=True)"

STUBBORN_ECHO = f"""
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{ECHO}
while True:
    time.sleep(60)
"""

SERVES = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("you asked for " + self.path).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("0.0.0.0", int(sys.argv[1])), Answer).serve_forever()
"""

ASKS = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for line in sys.stdin:
    try:
        with opener.open("http://" + line.strip() + "/", timeout=60) as answer:
            print("heard", answer.read().decode(), flush=True)
    except OSError as error:
        print("failed", error, flush=True)
"""


class Ground:
    """A place where an executor runs servers, and what a test may do there behind its back."""

    cuttable = False
    """Whether there is a connection to lose."""
    serves = True
    """Whether a server with a port is given as an address."""
    reaches = True
    """Whether servers there can reach a loopback port of this machine."""
    port = 8731
    """A port that is free there."""
    patience = 20.0
    """Seconds within which any single thing happens there."""

    @cached_property
    def executor(self) -> Executor:
        """The executor under test."""
        return self.make()

    def make(self) -> Executor:
        """Give a new executor, as a hub that starts has one."""
        raise NotImplementedError

    def python(self, code: str, *args: str, **env: str) -> Command:
        """Give a command that runs this code there."""
        raise NotImplementedError

    def place(self, port: int = 0) -> Placement:
        """Give the placement of a server there."""
        return Placement(port=port)

    def missing(self) -> Command:
        """Give a command whose executable is not there."""
        return Command(("no-such-program-anywhere", "--flag"))

    async def leftovers(self) -> list[str]:
        """What still runs there of all that was started."""
        raise NotImplementedError

    async def kill(self, where: str) -> None:
        """Kill the server that runs at `where`, without asking the executor."""
        raise NotImplementedError

    def cut(self) -> AbstractAsyncContextManager[None]:
        """Lose the connection, silently if that can be; leaving gives it back."""
        raise NotImplementedError

    @contextlib.asynccontextmanager
    async def pipes(self, name: str, code: str, *args: str, **env: str):  # type: ignore[no-untyped-def]
        """Open a server that speaks on its stdin and stdout."""
        run = Run(name, self.python(code, *args, **env), self.place())
        async with self.executor.open(run) as running:
            assert not isinstance(running, Address)
            yield running

    async def emptied(self) -> list[str]:
        """What is left, after it had time to go."""
        left = await self.leftovers()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                while left:
                    await asyncio.sleep(0.1)
                    left = await self.leftovers()
        return left


class Contract:
    """The checks. Subclass it with a fixture `ground`."""

    async def test_a_line_goes_there_and_comes_back(self, ground: Ground) -> None:
        async with ground.pipes("echo", ECHO) as pipes:
            ear = Ear(pipes)
            pipes.write(b"one\n")
            pipes.write(b"two\n")

            assert await ear.line(ground.patience) == b"one"
            assert await ear.line(ground.patience) == b"two"
            assert pipes.where
            assert await ground.leftovers()
        assert await ground.emptied() == []

    async def test_two_of_one_name_run_at_once_and_apart(self, ground: Ground) -> None:
        async with ground.pipes("echo", ECHO) as one, ground.pipes("echo", ECHO) as two:
            first, second = Ear(one), Ear(two)
            two.write(b"to the second\n")
            one.write(b"to the first\n")

            assert await first.line(ground.patience) == b"to the first"
            assert await second.line(ground.patience) == b"to the second"
            assert one.where != two.where
        assert await ground.emptied() == []

    async def test_a_line_of_three_mebibytes_passes_both_ways(self, ground: Ground) -> None:
        line = b"0123456789abcdef" * (BIG // 16)
        async with ground.pipes("echo", ECHO) as pipes:
            ear = Ear(pipes)
            pipes.write(line + b"\n")

            assert await ear.line(ground.patience) == line
            assert pipes.unsent == 0

    async def test_it_sees_the_environment_it_declares_and_none_of_ours(
        self, ground: Ground, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOOLYARD_TOKEN", "ours")
        async with ground.pipes("tells", TELLS, COLOUR="blue 'and' $HOME") as pipes:
            assert await Ear(pipes).line(ground.patience) == b"blue 'and' $HOME None"

    async def test_its_stderr_is_kept(self, ground: Ground) -> None:
        async with ground.pipes("chatty", CHATTY) as pipes:
            ear = Ear(pipes)
            pipes.write(b"well\n")
            await ear.line(ground.patience)
            await _until(lambda: len(pipes.stderr) == 2, ground.patience)

            assert pipes.stderr == ("first complaint", "second complaint")

    async def test_its_end_is_told_with_the_code_and_the_last_words(self, ground: Ground) -> None:
        async with ground.pipes("breaks", LAST_WORDS) as pipes:
            ear = Ear(pipes)
            pipes.write(b"go\n")

            assert await ear.end(ground.patience) == "exited with code 3"
            assert pipes.stderr == ("it broke",)
            pipes.write(b"to nobody\n")
        assert len(ear.ends) == 1
        assert await ground.emptied() == []

    async def test_a_server_that_is_killed_is_told_and_its_neighbour_is_not(
        self, ground: Ground
    ) -> None:
        async with ground.pipes("victim", ECHO) as victim, ground.pipes("other", ECHO) as other:
            first, second = Ear(victim), Ear(other)
            victim.write(b"alive\n")
            await first.line(ground.patience)

            await ground.kill(victim.where)

            assert await first.end(ground.patience)
            other.write(b"still here\n")
            assert await second.line(ground.patience) == b"still here"
            assert second.ends == []
        assert await ground.emptied() == []

    async def test_one_that_will_not_leave_is_made_to(self, ground: Ground) -> None:
        async with ground.pipes("stubborn", STUBBORN_ECHO) as pipes:
            ear = Ear(pipes)
            pipes.write(b"here\n")
            await ear.line(ground.patience)
        assert await ground.leftovers() == []

    async def test_a_missing_executable_is_a_start_error_with_a_hint(self, ground: Ground) -> None:
        run = Run("absent", ground.missing(), ground.place())
        with pytest.raises(StartError) as caught:
            async with asyncio.timeout(ground.patience), ground.executor.open(run):
                pass

        assert "no-such-program-anywhere" in str(caught.value)
        assert caught.value.hint
        assert await ground.emptied() == []

    @pytest.mark.parametrize("wait", [0.0, 0.05, 0.3])
    async def test_cancelled_while_it_starts_it_leaves_nothing(
        self, ground: Ground, wait: float
    ) -> None:
        async def keep() -> None:
            async with ground.pipes("slow", ECHO):
                await asyncio.Event().wait()

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(keep())
            await asyncio.sleep(wait)
            task.cancel()

        assert await ground.emptied() == []

    async def test_a_server_with_a_port_is_reached_at_its_address(self, ground: Ground) -> None:
        if not ground.serves:
            pytest.skip("no address at this executor")
        command = ground.python(SERVES, str(ground.port))
        run = Run("web", command, ground.place(ground.port))
        async with asyncio.timeout(60), ground.executor.open(run) as running:
            assert isinstance(running, Address)
            assert running.ended() == ""
            assert await get(running.url.url) == "you asked for /mcp"

            await ground.kill(running.where)
            await _until(running.ended, ground.patience)
        assert await ground.emptied() == []

    async def test_a_server_there_reaches_a_loopback_port_here(self, ground: Ground) -> None:
        if not ground.reaches:
            pytest.skip("no way back from this executor")
        async with (
            greeter() as port,
            ground.executor.reach(port) as address,
            ground.pipes("asks", ASKS) as pipes,
        ):
            ear = Ear(pipes)
            pipes.write(address.encode() + b"\n")

            assert await ear.line(ground.patience) == b"heard hello from the hub"
        assert await ground.emptied() == []

    async def test_a_lost_connection_is_noticed_and_nothing_is_left_once_it_is_back(
        self, ground: Ground
    ) -> None:
        if not ground.cuttable:
            pytest.skip("no connection that could be lost")
        async with contextlib.AsyncExitStack() as stack:
            pipes: Pipes = await stack.enter_async_context(ground.pipes("echo", ECHO))
            ear = Ear(pipes)
            pipes.write(b"before\n")
            await ear.line(ground.patience)
            async with ground.cut():
                assert "connection" in await ear.end(ground.patience)
                async with asyncio.timeout(ground.patience):
                    await stack.aclose()
        async with ground.pipes("again", ECHO) as pipes:
            ear = Ear(pipes)
            pipes.write(b"after\n")
            assert await ear.line(ground.patience) == b"after"
        fresh = ground.make()
        try:
            await fresh.sweep()
            assert await ground.emptied() == []
        finally:
            await fresh.close()


@contextlib.asynccontextmanager
async def greeter():  # type: ignore[no-untyped-def]
    """A web server on a loopback port of this machine; gives the port."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"hello from the hub"
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def get(url: str) -> str:
    """The body at a plain HTTP address."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        head = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = await asyncio.wait_for(reader.read(), 60)
    finally:
        writer.close()
    return answer.partition(b"\r\n\r\n")[2].decode()


async def _until(condition, within: float) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
