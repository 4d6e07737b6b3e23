"""Runs servers on a remote host over ssh, and leaves none behind there."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolyard.core.errors import StartError
from toolyard.core.model import Url
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.core.sites import Site
from toolyard.executors.ssh.shell import launch, refusal
from toolyard.executors.ssh_login import read_login
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through
from toolyard.stores.extras import how_to_add

if TYPE_CHECKING:
    from toolyard.executors.ssh.channel import Remote, Session
    from toolyard.executors.ssh.trunk import Trunk

_LINGER = 30.0  # a connection nobody uses is kept for the next start
_LAUNCH_SECONDS = 20.0
_ACCEPT_SECONDS = 60.0  # a server may fetch itself first, as `npx` does
_ACCEPT_PAUSE = 0.1
_ROUND = 0.5  # the warden's measure of time
_WARDEN_SECONDS = 10.0  # its killing rounds
_SWEEP_SECONDS = 20.0
_DRAIN_SECONDS = 0.5


class Ssh:
    """Runs servers on one host; connections are opened when needed and shared.

    `hub` names the hub across its restarts; `eof` and `term` are the seconds a server gets to
    leave before the next, ruder step.
    """

    def __init__(
        self,
        site: Site,
        hub: str,
        *,
        logs: Path | None = None,
        eof: float = 2.0,
        term: float = 3.0,
    ) -> None:
        self._login = read_login(site)
        self._logs = logs
        self._eof = eof
        self._rounds = max(1, round(term / _ROUND))
        # A digest, because the warden there looks for it in a text without knowing its end.
        self._hub = hashlib.sha256(f"{hub}\0{site.name}".encode()).hexdigest()[:32]
        self._owner = uuid.uuid4().hex
        self._trunks: list[Trunk] = []
        self._orphaned: list[str] = []
        self._swept: list[str] = []
        self._connecting = asyncio.Lock()
        self._attempts = 0
        self._failure: StartError | None = None

    @property
    def owner(self) -> str:
        """The value of TOOLYARD_OWNER in every process started there."""
        return self._owner

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server there; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        instance = uuid.uuid4().hex
        launch(run, ())  # what can be no command is said before a connection is opened
        async with self._session(run) as (trunk, session, remote):
            try:
                await self._launch(run, trunk, session, instance)
                trunk.running[remote.there] = remote.where
                if run.placement.port:
                    async with _forwarded(run, trunk, remote) as address:
                        yield address
                else:
                    yield remote
            finally:
                await through(self._stop(trunk, remote, f"{trunk.mark}{instance}"))

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which processes there reach a loopback port of this machine.

        Raises:
            StartError: The host forwards no ports, or cannot be reached.
        """
        _require(self._login.label)
        import asyncssh

        async with self._hold() as trunk:
            try:
                listener = await trunk.connection.forward_remote_port(
                    "127.0.0.1", 0, "127.0.0.1", port
                )
            except (asyncssh.Error, asyncssh.ChannelListenError, OSError) as error:
                raise StartError(
                    f'"{self._login.label}" forwards no port to this machine: {error}',
                    "see AllowTcpForwarding and PermitListen in its sshd_config",
                ) from error
            try:
                yield f"127.0.0.1:{listener.get_port()}"
            finally:
                listener.close()

    async def sweep(self) -> tuple[str, ...]:
        """End what earlier starts of this hub left there; give what it was.

        Raises:
            StartError: The host cannot be reached.
        """
        before = self._attempts
        async with self._hold() as trunk:
            if self._attempts == before:
                await self._clean(trunk)
            swept, self._swept = self._swept, []
        return tuple(swept)

    async def memory(self) -> dict[str, int]:
        """Bytes in memory per running server, by its `where`; one question per connection."""
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(trunk.memory()) for trunk in self._trunks]
        return {where: used for each in asked for where, used in each.result().items()}

    async def close(self) -> None:
        """Let go of the connections; call it when no server runs there any more."""
        trunks, self._trunks = self._trunks, []
        for trunk in trunks:
            await trunk.close()

    @asynccontextmanager
    async def _session(self, run: Run) -> AsyncIterator[tuple[Trunk, Session, Remote]]:
        """A shell there, on a connection that has room for one."""
        _require(self._login.label)
        from toolyard.executors.ssh.channel import Remote as Pipe
        from toolyard.executors.ssh.trunk import FullError

        log = LogFile(self._logs, run.name) if self._logs else None
        while True:
            async with self._hold() as trunk:
                remote = Pipe(self._login.label, log, mute=bool(run.placement.port))
                try:
                    session = await trunk.session(remote)
                except FullError:
                    continue
                except BaseException:
                    remote.close()
                    raise
                try:
                    yield trunk, session, remote
                finally:
                    trunk.sessions -= 1
                return

    @asynccontextmanager
    async def _hold(self) -> AsyncIterator[Trunk]:
        """A connection that stands, kept while it is held and a while longer."""
        trunk = await self._trunk()
        trunk.users += 1
        if trunk.idle is not None:
            trunk.idle.cancel()
        try:
            yield trunk
        finally:
            trunk.users -= 1
            if not trunk.users:
                later = asyncio.get_running_loop().call_later
                trunk.idle = later(_LINGER, trunk.drop, "nobody used the connection")

    async def _trunk(self) -> Trunk:
        """One that has room; of several that need a new one the first opens it for all."""
        before = self._attempts
        async with self._connecting:
            self._forget_lost()
            for trunk in self._trunks:
                if trunk.sessions < trunk.most:
                    return trunk
            if self._attempts > before and self._failure is not None:
                raise StartError(str(self._failure), self._failure.hint) from self._failure
            self._failure = None
            try:
                return await self._connect()
            except StartError as error:
                self._failure = error
                raise
            finally:
                self._attempts += 1

    async def _connect(self) -> Trunk:
        _require(self._login.label)
        from toolyard.executors.ssh.trunk import Trunk

        trunk = await Trunk.open(self._login, self._hub, self._owner)
        try:
            await self._clean(trunk)
        except BaseException:
            trunk.drop("nobody waited for the connection")
            raise
        self._trunks.append(trunk)
        return trunk

    async def _clean(self, trunk: Trunk) -> None:
        """End what is there of earlier starts, and of connections that were lost."""
        answer = await trunk.ask("sweep", self._hub, within=_SWEEP_SECONDS)
        self._swept += [f"pid {word}" for word in answer.split() if word != "done"]
        while self._orphaned and not trunk.lost:
            await trunk.ask("stop", self._orphaned[-1], "-", "2", within=_SWEEP_SECONDS)
            self._orphaned.pop()

    def _forget_lost(self) -> None:
        self._orphaned += [trunk.mark for trunk in self._trunks if trunk.lost]
        self._trunks = [trunk for trunk in self._trunks if not trunk.lost]

    async def _launch(self, run: Run, trunk: Trunk, session: Session, instance: str) -> None:
        from toolyard.executors.ssh.trunk import HUB, INSTANCE, OWNER

        if run.placement.port and await _accepts(trunk, run.placement.port):
            raise StartError(
                f'cannot start "{run.name}": port {run.placement.port} is in use '
                f"on {self._login.label}",
                "end what listens there, or give the server another port",
            )
        marks = ((HUB, self._hub), (OWNER, self._owner), (INSTANCE, f"{trunk.id}.{instance}"))
        session.write(launch(run, marks))
        said = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAUNCH_SECONDS):
                said = await session.says()
        if said != "ok":
            raise refusal(run, self._login.label, said, trunk.lost or session.noise)

    async def _stop(self, trunk: Trunk, remote: Remote, mark: str) -> None:
        """Ask, insist, force, all through the warden; then it looks for what escaped."""
        try:
            remote.close_input()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._eof):
                    await remote.gone.wait()
            within = self._rounds * _ROUND + _WARDEN_SECONDS
            await trunk.ask("stop", mark, str(remote.there), str(self._rounds), within=within)
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await asyncio.gather(remote.gone.wait(), remote.drained.wait())
        finally:
            trunk.running.pop(remote.there, None)
            trunk.tell(f"del {remote.there}")
            remote.close()


def _require(host: str) -> None:
    """Load the library, which happens with the first connection."""
    try:
        importlib.import_module("asyncssh")
    except ImportError as error:
        raise StartError(
            f'cannot log in to "{host}": the library asyncssh is not installed',
            how_to_add("ssh"),
        ) from error


@asynccontextmanager
async def _forwarded(run: Run, trunk: Trunk, remote: Remote) -> AsyncIterator[Address]:
    """Its address here, once it takes connections there."""
    port = run.placement.port
    remote.connect(_ignore, _ignore)
    try:
        async with asyncio.timeout(_ACCEPT_SECONDS):
            while not remote.end and not await _accepts(trunk, port):  # noqa: ASYNC110
                await asyncio.sleep(_ACCEPT_PAUSE)  # nothing there tells when it listens
    except TimeoutError:
        raise _silent(run, remote, f"nothing listens on port {port} there") from None
    if remote.end:
        raise _silent(run, remote, f"it {remote.end}")
    listener = await trunk.connection.forward_local_port("127.0.0.1", 0, "127.0.0.1", port)
    try:
        url = Url(f"http://127.0.0.1:{listener.get_port()}{run.placement.path}")
        yield Address(url, remote.where, lambda: remote.end)
    finally:
        listener.close()


async def _accepts(trunk: Trunk, port: int) -> bool:
    import asyncssh

    try:
        _, writer = await trunk.connection.open_connection("127.0.0.1", port)
    except (asyncssh.Error, OSError):
        return False
    writer.close()
    return True


def _silent(run: Run, remote: Remote, why: str) -> StartError:
    said = "; ".join(remote.stderr[-3:])
    return StartError(
        f'cannot start "{run.name}": {why}{said and f": {said}"}',
        "does it serve HTTP on the loopback there, on that port?",
    )


def _ignore(_: object) -> None:
    """Nobody listens to the stdout of a server that speaks HTTP."""
