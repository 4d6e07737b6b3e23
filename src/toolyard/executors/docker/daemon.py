"""A connection to one docker daemon: its API, raw connections to it, and its pulse."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolyard.core.errors import StartError
from toolyard.core.sites import Site
from toolyard.executors.docker.host import Host
from toolyard.stores.extras import how_to_add

if TYPE_CHECKING:
    import aiodocker
    import asyncssh

_CONNECT_SECONDS = 10.0
_REQUEST_SECONDS = 60.0
_PULSE_SECONDS = 5.0
_SILENCE_SECONDS = 5.0
_BUSY_SECONDS = 15.0  # a daemon on this machine is not behind a cable, but may be swamped
UNREACHABLE: Final = 900
"""The status of an error that came from no daemon."""

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.Protocol)


@dataclass(eq=False, slots=True)
class Daemon:
    """A daemon that answered; of no more use once it is `lost`."""

    host: Host
    api: aiodocker.Docker
    facts: dict[str, Any]
    """What it says of itself."""
    path: str
    """Of a socket of this machine that leads to it; empty over tcp."""
    peer: str = ""
    """The address it has over tcp."""
    context: ssl.SSLContext | None = None
    """Made once: it holds all certificates, and each connection needs it."""
    tunnel: asyncssh.SSHClientConnection | None = None
    lost: str = ""
    """Why it cannot be used any more."""
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _mourners: set[Callable[[str], None]] = field(default_factory=set)
    _pulse: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """By which address its published ports are bound and reached."""
        return "127.0.0.1" if self.path else self.peer or "127.0.0.1"

    async def connect(self, factory: Callable[[], P]) -> P:
        """Open a connection of its own to the daemon.

        Raises:
            OSError: It does not take it.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT_SECONDS):
            if self.path:
                _, protocol = await loop.create_unix_connection(factory, self.path)
            else:
                address = self.host.name, self.host.port
                _, protocol = await loop.create_connection(factory, *address, ssl=self.context)
        return protocol

    def join(self, mourner: Callable[[str], None]) -> None:
        """Feel the pulse while somebody is there to be told when it stops."""
        self._mourners.add(mourner)
        if self._pulse is None and not self.lost:
            self._pulse = asyncio.ensure_future(self._feel())  # noqa: TID251 - ended by `close`

    def leave(self, mourner: Callable[[str], None]) -> None:
        """Tell that one no more; with nobody left there is nothing to feel for."""
        self._mourners.discard(mourner)
        if not self._mourners and self._pulse is not None:
            self._pulse.cancel()
            self._pulse = None

    async def close(self) -> None:
        """Let go of all connections."""
        self.lost = self.lost or "was closed"
        pulse, self._pulse = self._pulse, None
        if pulse is not None:
            pulse.cancel()
            await asyncio.wait([pulse])
        with suppress(Exception):
            await self.api.close()
            await self.api.connector.close()
        if self.tunnel is not None:
            self.tunnel.abort()
        if self._folder is not None:
            self._folder.cleanup()

    async def _feel(self) -> None:
        patience = _BUSY_SECONDS if self.host.kind == "unix" else _SILENCE_SECONDS
        while not self.lost:
            await asyncio.sleep(_PULSE_SECONDS)
            if not await self._answers(patience):
                self.lose()

    async def _answers(self, patience: float) -> bool:
        ping = asyncio.ensure_future(self.ping())  # noqa: TID251 - ended right here
        try:
            await asyncio.wait([ping], timeout=patience)
            if not ping.done():
                # Dropped: closing them over TLS would wait for the word of one who is silent.
                await self.api.connector.close()
        finally:
            ping.cancel()
            await asyncio.wait([ping])
        return not ping.cancelled() and ping.exception() is None

    async def ping(self) -> None:
        """See whether it answers."""
        async with self.api.session.get(f"{self.api.docker_host}/_ping") as answer:
            await answer.read()

    def lose(self) -> None:
        """Give it up, and tell all that hang on it."""
        if self.lost:
            return
        self.lost = f"the connection to docker at {self.host.label} was lost"
        for mourner in tuple(self._mourners):
            mourner(self.lost)


async def open_daemon(site: Site, host: Host) -> Daemon:
    """Reach a daemon and see that it answers.

    Raises:
        StartError: It cannot be reached, or the library for it is missing.
    """
    _require(host)
    if host.kind != "ssh":
        return await _open(host, host.path)
    folder = tempfile.TemporaryDirectory(prefix="ty-")  # its mode is 0700
    tunnel: asyncssh.SSHClientConnection | None = None
    try:
        tunnel = await _log_in(site, host)
        path = str(Path(folder.name) / "docker.sock")
        await tunnel.forward_local_path(path, host.path)
        daemon = await _open(host, path)
    except BaseException:
        if tunnel is not None:
            tunnel.abort()
        folder.cleanup()
        raise
    daemon.tunnel, daemon._folder = tunnel, folder
    return daemon


async def _open(host: Host, path: str) -> Daemon:
    import aiodocker
    import aiohttp

    context = host.context()
    timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS, sock_connect=_CONNECT_SECONDS)
    # Each container whose end is awaited holds a connection, so their number has no limit.
    if path:
        connector: aiohttp.BaseConnector = aiohttp.UnixConnector(path, limit=0)
        url = "http://docker"
    else:
        connector = aiohttp.TCPConnector(limit=0, ssl=context or False)
        url = f"{'https' if host.tls else 'http'}://{_bracketed(host.name)}:{host.port}"
    api = aiodocker.Docker(url, connector=connector, timeout=timeout)
    try:
        with told(host):
            async with asyncio.timeout(_CONNECT_SECONDS):
                facts = await api.system.info()
                peer = "" if path else await _peer(host)
    except BaseException as error:
        await api.close()
        await connector.close()
        if isinstance(error, (KeyError, TypeError, ValueError)):  # it read no JSON
            why = f"what answers at {host.label} is no docker daemon"
            raise StartError(why, "correct the executor's host") from error
        raise
    return Daemon(host, api, dict(facts), path, peer, context)


async def _peer(host: Host) -> str:
    found = await asyncio.get_running_loop().getaddrinfo(host.name, host.port)
    return str(found[0][4][0])


async def _log_in(site: Site, host: Host) -> asyncssh.SSHClientConnection:
    from toolyard.executors.ssh_login import Login, connect

    login = Login(
        name=host.name,
        user=host.user,
        port=host.port,
        config=site.option("config"),
        identity=site.option("identity"),
        known_hosts=site.option("known_hosts"),
    )
    return await connect(login)


def _require(host: Host) -> None:
    extras, library = ["docker"], "aiodocker"
    try:
        import aiodocker  # noqa: F401

        if host.kind == "ssh":
            extras, library = ["docker", "ssh"], "asyncssh"
            import asyncssh  # noqa: F401
    except ImportError as error:
        raise StartError(
            f"docker at {host.label} needs the library {library}, which is not installed",
            how_to_add(*extras),
        ) from error


@contextmanager
def told(host: Host, what: str = "") -> Iterator[None]:
    """Say what the library says in words of ours.

    Raises:
        StartError: Whatever went wrong.
    """
    import aiohttp
    from aiodocker import DockerError

    try:
        yield
    except DockerError as error:
        if error.status == UNREACHABLE:
            raise _unreachable(host, error) from error
        raise StartError(
            f"docker at {host.label} refused{what and ' '}{what}: {error.message.strip()}",
            "mend what it says, or choose another executor",
        ) from error
    except (TimeoutError, OSError, aiohttp.ClientError) as error:
        raise _unreachable(host, error) from error


def _unreachable(host: Host, error: Exception) -> StartError:
    why, hint = _explain(host, error)
    return StartError(f"cannot reach docker at {host.label}: {why}", hint)


def _explain(host: Host, error: Exception) -> tuple[str, str]:
    causes = _causes(error)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return _last(causes), "correct the options ca, cert and key; all three are the daemon's"
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return "it does not answer", "is the machine up and in reach?"
    if any(isinstance(cause, PermissionError) for cause in causes):
        return "permission denied", "add yourself to the group docker, or use a rootless docker"
    if any(isinstance(cause, FileNotFoundError) for cause in causes):
        return f"there is no socket {host.path}", "start docker, or correct the executor's host"
    if host.kind == "ssh":
        hint = f"does docker run there, and may your user there use {host.path}?"
        return "its socket there does not answer", hint
    return _last(causes), "does docker run there, and listen at that address?"


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _last(causes: list[BaseException]) -> str:
    errors = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return str(getattr(errors[-1], "strerror", "") if errors else causes[-1]).lower()


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
