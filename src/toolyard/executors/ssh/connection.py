"""One ssh connection that many servers share, with a reaper at its far end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from contextlib import suppress

import asyncssh

from toolyard.core.errors import StartError
from toolyard.executors.ssh.channel import Channel, RemoteChild, ShellSession
from toolyard.executors.ssh.shell import LOADER, SIGN, reaper
from toolyard.executors.ssh_login import Login, connect

_log = logging.getLogger(__name__)
# It logs every channel; what matters of that is on the picture.
logging.getLogger("asyncssh").setLevel(logging.WARNING)

_SHELL_SECONDS = 20.0  # a profile there may take its time
_CLOSE_SECONDS = 3.0
_MEMORY_SECONDS = 5.0

HUB, OWNER, INSTANCE = "TOOLYARD_HUB", "TOOLYARD_OWNER", "TOOLYARD_INSTANCE"


class FullError(Exception):
    """The host allows no further session on this connection."""


class SshConnection:
    """A connection that is up; `open` makes one."""

    def __init__(self, login: Login, client: asyncssh.SSHClientConnection) -> None:
        self.login = login
        self.client = client
        self.id = uuid.uuid4().hex
        self.users = 0
        """The number of users that hold it."""
        self.sessions = 0
        """The number of servers that run through it, or are about to."""
        self.running: dict[int, str] = {}
        """The servers that run through it: the remote pid, and the place for people."""
        self.most = 1 << 30
        """The number of sessions the host allows, known once it refused one."""
        self.idle: asyncio.TimerHandle | None = None
        self._lost = ""
        self._reaper: _ReaperChannel | None = None

    @classmethod
    async def open(cls, login: Login, hub: str, owner: str) -> SshConnection:
        """Log in and start the reaper on the host.

        Raises:
            StartError: The login failed, or the host has no shell.
        """
        connection = cls(login, await connect(login))
        try:
            await connection._start_reaper(hub, owner)
        except BaseException:
            connection.client.abort()
            raise
        return connection

    @property
    def lost(self) -> str:
        """The reason it cannot be used any more; empty while it is up."""
        return self._lost

    @property
    def mark(self) -> str:
        """The text in the environment of every process started through it."""
        return f"{INSTANCE}={self.id}."

    async def session(self, remote: RemoteChild) -> ShellSession:
        """Open a channel with a shell that waits to become the server.

        Raises:
            FullError: The host allows no more sessions on one connection.
            StartError: The host opens no shell.
        """
        session = ShellSession(remote, lambda: self._lost)
        self.sessions += 1
        try:
            await self.client.create_session(lambda: session, LOADER, encoding=None)
            remote.remote_pid = await _shell_pid(session, self.login)
        except BaseException as error:
            self.sessions -= 1
            if isinstance(error, asyncssh.Error | OSError):
                raise self._refused(error) from error
            raise
        self.tell(f"add {remote.remote_pid}")
        return session

    def _refused(self, error: Exception) -> Exception:
        """The error for a session that was not opened: the connection is full, or of no use."""
        if isinstance(error, asyncssh.ChannelOpenError) and self.sessions and not self._lost:
            self.most = self.sessions
            return FullError()
        return StartError(
            f'"{self.login.label}" opens no session: {self._lost or str(error).lower()}',
            "at least two are needed on a connection: see MaxSessions in its sshd_config",
        )

    def tell(self, line: str) -> None:
        """Send a line to the reaper."""
        if self._reaper is not None and not self._lost:
            self._reaper.write(line)

    async def ask(self, verb: str, *words: str, within: float) -> str:
        """Send an order to the reaper and return its answer; empty if there is none."""
        if self._reaper is None or self._lost:
            return ""
        try:
            async with asyncio.timeout(within):
                return await self._reaper.ask(verb, *words)
        except TimeoutError:
            _log.warning("no answer to %s from %s within %s s", verb, self.login.label, within)
            return ""

    async def memory(self) -> dict[str, int]:
        """Return the bytes in memory per running server, by its place; empty without an answer."""
        running = dict(self.running)
        if not running:
            return {}
        answer = await self.ask("memory", ",".join(map(str, running)), within=_MEMORY_SECONDS)
        pairs = (word.partition(":") for word in answer.split())
        sizes = {int(pid): int(kib) for pid, _, kib in pairs if pid.isdigit() and kib.isdigit()}
        return {running[pid]: kib << 10 for pid, kib in sizes.items() if pid in running}

    def drop(self, why: str) -> None:
        """Mark it as unusable and close it at once."""
        self._lost = self._lost or why
        self.client.abort()

    async def close(self) -> None:
        """Close the connection; the reaper ends whatever is left on the host."""
        if self.idle is not None:
            self.idle.cancel()
        self._lost = self._lost or "the connection was closed"
        self.client.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.client.wait_closed()
        self.client.abort()

    async def _start_reaper(self, hub: str, owner: str) -> None:
        self._reaper = await _ReaperChannel.open(self)
        text = reaper(f"{HUB}={hub}", f"{OWNER}={owner}", self.mark)
        self._reaper.channel.write(text)
        if not await self._reaper.first():
            raise StartError(
                f'the shell of "{self.login.label}" ended before it was of use: '
                f"{self._reaper.noise or self._lost}",
                f"try `{self.login.typed} sh -c true` by hand",
            )


class _ReaperChannel(asyncssh.SSHClientSession[bytes]):
    """The channel to the reaper; its loss is the loss of the connection."""

    def __init__(self, connection: SshConnection) -> None:
        self._connection = connection
        self._keys = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[str]] = {"0": _future()}
        self._text = bytearray()
        self.noise = ""
        self.channel: Channel

    @classmethod
    async def open(cls, connection: SshConnection) -> _ReaperChannel:
        session = cls(connection)
        try:
            await connection.client.create_session(lambda: session, LOADER, encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise StartError(
                f'"{connection.login.label}" runs no commands: {error}',
                f"try `{connection.login.typed} true` by hand",
            ) from error
        return session

    def connection_made(self, chan: Channel) -> None:
        self.channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self._text += data
        *lines, rest = bytes(self._text).split(b"\n")
        self._text[:] = rest[-_NOISE:]
        for line in lines:
            key, _, answer = line.decode(errors="replace").partition(" ")
            waiting = self._waiting.pop(key, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer or "done")
            elif not line.startswith(SIGN):
                self.noise = line.decode(errors="replace")[:200]

    def connection_lost(self, exc: Exception | None) -> None:
        # Without a reaper nothing would end what we start on the host, so the connection goes too.
        self._connection.drop(_describe_loss(self._connection.login, exc))
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result("")

    async def first(self) -> str:
        """Wait until it reads orders; empty if it never will."""
        try:
            async with asyncio.timeout(_SHELL_SECONDS):
                return await self._waiting["0"]
        except TimeoutError:
            return ""

    def write(self, line: str) -> None:
        with suppress(OSError):
            self.channel.write(f"{line}\n".encode())

    async def ask(self, verb: str, *words: str) -> str:
        key = str(next(self._keys))
        waiting = self._waiting[key] = _future()
        self.write(" ".join((verb, key, *words)))
        try:
            return await waiting
        finally:
            self._waiting.pop(key, None)


_NOISE = 64 * 1024  # of an answer, or of what a profile there prints


def _future() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


def _describe_loss(login: Login, error: Exception | None) -> str:
    if error is None:
        return f"the reaper on {login.label} ended"
    return f"the connection to {login.label} was lost: {str(error).lower()}"


async def _shell_pid(session: ShellSession, login: Login) -> int:
    """Return the pid of the shell that waits at the other end."""
    pid = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(_SHELL_SECONDS):
            pid = await session.reply()
    if pid.isdigit():
        return int(pid)
    raise StartError(
        f'the shell of "{login.label}" does not start: {session.noise or "no output"}',
        f"try `{login.typed} sh -c true` by hand",
    )
