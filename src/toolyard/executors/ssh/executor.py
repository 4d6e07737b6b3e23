"""Runs servers on a remote host over ssh, and leaves none behind."""

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
from toolyard.core.replicas import Replica
from toolyard.core.sites import Site
from toolyard.executors.ssh.shell import launch, refusal
from toolyard.executors.ssh_login import read_login
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through
from toolyard.installation import how_to_add

if TYPE_CHECKING:
    from toolyard.executors.ssh.channel import RemoteChild, ShellSession
    from toolyard.executors.ssh.connection import SshConnection

_LINGER = 30.0  # a connection nobody uses is kept for the next start
_LAUNCH_SECONDS = 20.0
_ACCEPT_SECONDS = 60.0  # a server may fetch itself first, as `npx` does
_ACCEPT_PAUSE = 0.1
_ROUND = 0.5  # the reaper counts time in rounds
_REAPER_SECONDS = 10.0  # its killing rounds
_SWEEP_SECONDS = 20.0
_DRAIN_SECONDS = 0.5


class Ssh:
    """Runs servers on one host; connections are opened when needed and shared.

    `replica` is the hub across its restarts; `eof` and `term` are the seconds a server gets to
    leave before the next, ruder step.
    """

    def __init__(
        self,
        site: Site,
        replica: Replica,
        *,
        logs: Path | None = None,
        eof: float = 2.0,
        term: float = 3.0,
    ) -> None:
        self._login = read_login(site)
        self._replica = replica
        self._logs = logs
        self._eof = eof
        self._rounds = max(1, round(term / _ROUND))
        # A digest, because the reaper searches for it in a text without knowing its end.
        self._hub = hashlib.sha256(f"{replica.id}\0{site.name}".encode()).hexdigest()[:32]
        self._owner = uuid.uuid4().hex
        self._connections: list[SshConnection] = []
        self._leftovers: list[str] = []
        self._swept: list[str] = []
        self._connecting = asyncio.Lock()
        self._attempts = 0
        self._failure: StartError | None = None

    @property
    def owner(self) -> str:
        """The value of TOOLYARD_OWNER in every process started on the host."""
        return self._owner

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        instance = uuid.uuid4().hex
        launch(run, ())  # a bad command is refused before a connection is opened
        async with self._session(run) as (connection, session, remote):
            try:
                await self._launch(run, connection, session, instance)
                connection.running[remote.remote_pid] = remote.where
                if run.placement.port:
                    async with _forwarded(run, connection, remote) as address:
                        yield address
                else:
                    yield remote
            finally:
                await through(self._stop(connection, remote, f"{connection.mark}{instance}"))

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which remote processes reach a loopback port of this machine.

        Raises:
            StartError: The host forwards no ports, or cannot be reached.
        """
        _require(self._login.label)
        import asyncssh

        async with self._hold() as connection:
            try:
                listener = await connection.client.forward_remote_port(
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
        """End the processes that earlier starts of this hub left; give their pids.

        Raises:
            StartError: The host cannot be reached.
        """
        before = self._attempts
        async with self._hold() as connection:
            if self._attempts == before:
                await self._delete_leftovers(connection)
            swept, self._swept = self._swept, []
        return tuple(swept)

    async def memory(self) -> dict[str, int]:
        """Return the bytes in memory per running server, by its `where`."""
        async with asyncio.TaskGroup() as tasks:
            answers = [tasks.create_task(connection.memory()) for connection in self._connections]
        return {where: size for answer in answers for where, size in answer.result().items()}

    async def close(self) -> None:
        """Close the connections; call it when no server runs any more."""
        connections, self._connections = self._connections, []
        for connection in connections:
            await connection.close()

    @asynccontextmanager
    async def _session(
        self, run: Run
    ) -> AsyncIterator[tuple[SshConnection, ShellSession, RemoteChild]]:
        """A remote shell, on a connection that allows one more."""
        _require(self._login.label)
        from toolyard.executors.ssh.channel import RemoteChild as Child
        from toolyard.executors.ssh.connection import FullError

        log = LogFile(self._logs, run.name) if self._logs else None
        while True:
            async with self._hold() as connection:
                remote = Child(self._login.label, log, mute=bool(run.placement.port))
                try:
                    session = await connection.session(remote)
                except FullError:
                    continue
                except BaseException:
                    remote.close()
                    raise
                try:
                    yield connection, session, remote
                finally:
                    connection.sessions -= 1
                return

    @asynccontextmanager
    async def _hold(self) -> AsyncIterator[SshConnection]:
        """A connection that is up; it stays open a while after its last user."""
        connection = await self._usable_connection()
        connection.users += 1
        if connection.idle is not None:
            connection.idle.cancel()
        try:
            yield connection
        finally:
            connection.users -= 1
            if not connection.users:
                later = asyncio.get_running_loop().call_later
                connection.idle = later(_LINGER, connection.drop, "nobody used the connection")

    async def _usable_connection(self) -> SshConnection:
        """One that allows a session; of several who need a new one, the first opens it for all."""
        before = self._attempts
        async with self._connecting:
            self._forget_lost()
            for connection in self._connections:
                if connection.sessions < connection.most:
                    return connection
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

    async def _connect(self) -> SshConnection:
        _require(self._login.label)
        from toolyard.executors.ssh.connection import SshConnection

        connection = await SshConnection.open(self._login, self._hub, self._owner)
        try:
            await self._delete_leftovers(connection)
        except BaseException:
            connection.drop("nobody waited for the connection")
            raise
        self._connections.append(connection)
        return connection

    async def _delete_leftovers(self, connection: SshConnection) -> None:
        """End what earlier starts and lost connections left on the host.

        Processes of another hub of the same name that lives are not an earlier start's.
        """
        if self._replica.id in await self._replica.find_gone(()):
            answer = await connection.ask("sweep", self._hub, within=_SWEEP_SECONDS)
            self._swept += [f"pid {word}" for word in answer.split() if word != "done"]
        while self._leftovers and not connection.lost:
            await connection.ask("stop", self._leftovers[-1], "-", "2", within=_SWEEP_SECONDS)
            self._leftovers.pop()

    def _forget_lost(self) -> None:
        self._leftovers += [connection.mark for connection in self._connections if connection.lost]
        self._connections = [connection for connection in self._connections if not connection.lost]

    async def _launch(
        self, run: Run, connection: SshConnection, session: ShellSession, instance: str
    ) -> None:
        from toolyard.executors.ssh.connection import HUB, INSTANCE, OWNER

        if run.placement.port and await _accepts(connection, run.placement.port):
            raise StartError(
                f'cannot start "{run.name}": port {run.placement.port} is in use '
                f"on {self._login.label}",
                "end what listens there, or give the server another port",
            )
        marks = ((HUB, self._hub), (OWNER, self._owner), (INSTANCE, f"{connection.id}.{instance}"))
        session.write(launch(run, marks))
        reply = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAUNCH_SECONDS):
                reply = await session.reply()
        if reply != "ok":
            raise refusal(run, self._login.label, reply, connection.lost or session.noise)

    async def _stop(self, connection: SshConnection, remote: RemoteChild, mark: str) -> None:
        """Close its stdin, then TERM, then KILL; the reaper also ends what escaped the session."""
        try:
            remote.close_input()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._eof):
                    await remote.gone.wait()
            within = self._rounds * _ROUND + _REAPER_SECONDS
            await connection.ask(
                "stop", mark, str(remote.remote_pid), str(self._rounds), within=within
            )
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await asyncio.gather(remote.gone.wait(), remote.drained.wait())
        finally:
            connection.running.pop(remote.remote_pid, None)
            connection.tell(f"del {remote.remote_pid}")
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
async def _forwarded(
    run: Run, connection: SshConnection, remote: RemoteChild
) -> AsyncIterator[Address]:
    """Its address on this machine, once it accepts connections."""
    port = run.placement.port
    remote.connect(_ignore, _ignore)
    try:
        async with asyncio.timeout(_ACCEPT_SECONDS):
            while not remote.status and not await _accepts(connection, port):  # noqa: ASYNC110 - no event says so
                await asyncio.sleep(_ACCEPT_PAUSE)
    except TimeoutError:
        raise _not_listening(run, remote, f"nothing listens on port {port} there") from None
    if remote.status:
        raise _not_listening(run, remote, f"it {remote.status}")
    listener = await connection.client.forward_local_port("127.0.0.1", 0, "127.0.0.1", port)
    try:
        url = Url(f"http://127.0.0.1:{listener.get_port()}{run.placement.path}")
        yield Address(url, remote.where, lambda: remote.status)
    finally:
        listener.close()


async def _accepts(connection: SshConnection, port: int) -> bool:
    import asyncssh

    try:
        _, writer = await connection.client.open_connection("127.0.0.1", port)
    except (asyncssh.Error, OSError):
        return False
    writer.close()
    return True


def _not_listening(run: Run, remote: RemoteChild, why: str) -> StartError:
    last = "; ".join(remote.stderr[-3:])
    return StartError(
        f'cannot start "{run.name}": {why}{last and f": {last}"}',
        "does it serve HTTP on the loopback there, on that port?",
    )


def _ignore(_: object) -> None:
    """Drop the stdout of a server that speaks HTTP."""
