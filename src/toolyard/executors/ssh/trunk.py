"""One ssh connection that many servers share, with a warden at its far end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from contextlib import suppress

import asyncssh

from toolyard.core.errors import StartError
from toolyard.executors.ssh.channel import Channel, Remote, Session
from toolyard.executors.ssh.shell import LOADER, SIGN, warden
from toolyard.executors.ssh_login import Login, connect

_log = logging.getLogger(__name__)
# It tells of every channel; what matters of that is on the picture.
logging.getLogger("asyncssh").setLevel(logging.WARNING)

_SHELL_SECONDS = 20.0  # a profile there may take its time
_CLOSE_SECONDS = 3.0
_MEMORY_SECONDS = 5.0

HUB, OWNER, INSTANCE = "TOOLYARD_HUB", "TOOLYARD_OWNER", "TOOLYARD_INSTANCE"


class FullError(Exception):
    """The host allows no further session on this connection."""


class Trunk:
    """A connection that stands; `open` makes one."""

    def __init__(self, login: Login, connection: asyncssh.SSHClientConnection) -> None:
        self.login = login
        self.connection = connection
        self.id = uuid.uuid4().hex
        self.users = 0
        """How many hold it."""
        self.sessions = 0
        """How many servers run through it, or are about to."""
        self.running: dict[int, str] = {}
        """The servers that run through it: the process there, and where that is in words."""
        self.most = 1 << 30
        """How many sessions the host allows, once it has refused one more."""
        self.idle: asyncio.TimerHandle | None = None
        self._lost = ""
        self._warden: _Warden | None = None

    @classmethod
    async def open(cls, login: Login, hub: str, owner: str) -> Trunk:
        """Log in and start the warden there.

        Raises:
            StartError: There is no way in, or no shell there.
        """
        trunk = cls(login, await connect(login))
        try:
            await trunk._start_warden(hub, owner)
        except BaseException:
            trunk.connection.abort()
            raise
        return trunk

    @property
    def lost(self) -> str:
        """Why it is of no more use; empty while it stands."""
        return self._lost

    @property
    def mark(self) -> str:
        """What the environment of every process started through it holds."""
        return f"{INSTANCE}={self.id}."

    async def session(self, remote: Remote) -> Session:
        """Open a channel with a shell that waits to become the server.

        Raises:
            FullError: The host allows no more sessions on one connection.
            StartError: There is no shell to be had.
        """
        session = Session(remote, lambda: self._lost)
        self.sessions += 1
        try:
            await self.connection.create_session(lambda: session, LOADER, encoding=None)
            remote.there = await _shell_of(session, self.login)
        except BaseException as error:
            self.sessions -= 1
            if isinstance(error, asyncssh.Error | OSError):
                raise self._refused(error) from error
            raise
        self.tell(f"add {remote.there}")
        return session

    def _refused(self, error: Exception) -> Exception:
        """What a session that was not opened means: no more on this connection, or none at all."""
        if isinstance(error, asyncssh.ChannelOpenError) and self.sessions and not self._lost:
            self.most = self.sessions
            return FullError()
        return StartError(
            f'"{self.login.label}" opens no session: {self._lost or str(error).lower()}',
            "at least two are needed on a connection: see MaxSessions in its sshd_config",
        )

    def tell(self, line: str) -> None:
        """Say something to the warden."""
        if self._warden is not None and not self._lost:
            self._warden.write(line)

    async def ask(self, verb: str, *words: str, within: float) -> str:
        """Have the warden do something and wait for its answer; empty if there is none."""
        if self._warden is None or self._lost:
            return ""
        try:
            async with asyncio.timeout(within):
                return await self._warden.ask(verb, *words)
        except TimeoutError:
            _log.warning("no answer to %s from %s within %s s", verb, self.login.label, within)
            return ""

    async def memory(self) -> dict[str, int]:
        """Bytes in memory of what runs through it, by where that is; nothing if nobody says."""
        running = dict(self.running)
        if not running:
            return {}
        answer = await self.ask("taken", ",".join(map(str, running)), within=_MEMORY_SECONDS)
        pairs = (word.partition(":") for word in answer.split())
        found = {int(pid): int(kib) for pid, _, kib in pairs if pid.isdigit() and kib.isdigit()}
        return {running[pid]: kib << 10 for pid, kib in found.items() if pid in running}

    def drop(self, why: str) -> None:
        """Note that it is of no more use, and let go of it."""
        self._lost = self._lost or why
        self.connection.abort()

    async def close(self) -> None:
        """Let go of the connection; the warden ends whatever is left there."""
        if self.idle is not None:
            self.idle.cancel()
        self._lost = self._lost or "the connection was closed"
        self.connection.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.connection.wait_closed()
        self.connection.abort()

    async def _start_warden(self, hub: str, owner: str) -> None:
        self._warden = await _Warden.open(self)
        text = warden(f"{HUB}={hub}", f"{OWNER}={owner}", self.mark)
        self._warden.channel.write(text)
        if not await self._warden.first():
            raise StartError(
                f'the shell of "{self.login.label}" ended before it was of use: '
                f"{self._warden.noise or self._lost}",
                f"try `{self.login.typed} sh -c true` by hand",
            )


class _Warden(asyncssh.SSHClientSession[bytes]):
    """The channel to the warden, and with it the news that the connection is gone."""

    def __init__(self, trunk: Trunk) -> None:
        self._trunk = trunk
        self._keys = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[str]] = {"0": _future()}
        self._text = bytearray()
        self.noise = ""
        self.channel: Channel

    @classmethod
    async def open(cls, trunk: Trunk) -> _Warden:
        session = cls(trunk)
        try:
            await trunk.connection.create_session(lambda: session, LOADER, encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise StartError(
                f'"{trunk.login.label}" runs no commands: {error}',
                f"try `{trunk.login.typed} true` by hand",
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
        # Without a warden nobody would end what we start there, so the rest goes too.
        self._trunk.drop(_told(self._trunk.login, exc))
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result("")

    async def first(self) -> str:
        """Wait until it listens; empty if it never will."""
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


def _told(login: Login, error: Exception | None) -> str:
    if error is None:
        return f"the warden on {login.label} ended"
    return f"the connection to {login.label} was lost: {str(error).lower()}"


async def _shell_of(session: Session, login: Login) -> int:
    """The process of the shell that waits at the other end."""
    said = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(_SHELL_SECONDS):
            said = await session.says()
    if said.isdigit():
        return int(said)
    raise StartError(
        f'the shell of "{login.label}" does not start: {session.noise or "it says nothing"}',
        f"try `{login.typed} sh -c true` by hand",
    )
