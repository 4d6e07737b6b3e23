"""The connection to one docker daemon: its API, raw connections to it, and a heartbeat."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from toolyard.core.errors import StartError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.sites import Site
from toolyard.executors.docker.host import Host
from toolyard.installation import how_to_add

if TYPE_CHECKING:
    import aiodocker
    import asyncssh

_CONNECT_SECONDS = 10.0
_REQUEST_SECONDS = 60.0
_HEARTBEAT_SECONDS = 5.0
_SILENCE_SECONDS = 5.0
_BUSY_SECONDS = 15.0  # a daemon on this machine is not behind a cable, but may be swamped
UNREACHABLE: Final = 900
"""The status of an error that came from no daemon."""

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.Protocol)


class Tunnel:
    """An ssh connection to the host of a daemon, and the local socket that leads through it."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self.connection = connection
        self._folder = tempfile.TemporaryDirectory(prefix="ty-")  # its mode is 0700
        self.path = str(Path(self._folder.name) / "docker.sock")

    def close(self) -> None:
        """Close the connection and remove the socket."""
        self.connection.abort()
        self._folder.cleanup()


@dataclass(eq=False, slots=True)
class Daemon:
    """A daemon that answered; it cannot be used any more once it is `lost`."""

    host: Host
    api: aiodocker.Docker
    facts: JsonObject
    """Its own description, as `docker info` prints it."""
    path: str
    """The socket on this machine that leads to it; empty over tcp."""
    peer: str = ""
    """Its IP address over tcp."""
    context: ssl.SSLContext | None = None
    """Made once, because it holds all certificates and every connection needs it."""
    tunnel: Tunnel | None = None
    lost: str = ""
    """The reason it cannot be used any more; empty while it can."""
    _on_lost: set[Callable[[str], None]] = field(default_factory=set)
    _heartbeat_task: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """The address at which its published ports are bound and reached."""
        return "127.0.0.1" if self.path else self.peer or "127.0.0.1"

    async def connect(self, factory: Callable[[], P]) -> P:
        """Open a raw connection to the daemon.

        Raises:
            OSError: The daemon does not accept it.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT_SECONDS):
            if self.path:
                _, protocol = await loop.create_unix_connection(factory, self.path)
            else:
                address = self.host.name, self.host.port
                _, protocol = await loop.create_connection(factory, *address, ssl=self.context)
        return protocol

    def watch(self, on_lost: Callable[[str], None]) -> None:
        """Call `on_lost` with the reason when the daemon stops answering."""
        self._on_lost.add(on_lost)
        if self._heartbeat_task is None and not self.lost:
            self._heartbeat_task = asyncio.ensure_future(self._heartbeat())  # noqa: TID251 - ended by `close`

    def unwatch(self, on_lost: Callable[[str], None]) -> None:
        """Call `on_lost` no more; without anybody to call, the heartbeat stops."""
        self._on_lost.discard(on_lost)
        if not self._on_lost and self._heartbeat_task is not None:
            self._heartbeat_task.cancel()
            self._heartbeat_task = None

    async def close(self) -> None:
        """Close all connections."""
        self.lost = self.lost or "was closed"
        task, self._heartbeat_task = self._heartbeat_task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        with suppress(Exception):
            await self.api.close()
            await self.api.connector.close()
        if self.tunnel is not None:
            self.tunnel.close()

    async def _heartbeat(self) -> None:
        patience = _BUSY_SECONDS if self.host.kind == "unix" else _SILENCE_SECONDS
        while not self.lost:
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            if not await self._answers(patience):
                self.lose()

    async def _answers(self, patience: float) -> bool:
        ping = asyncio.ensure_future(self.ping())  # noqa: TID251 - ended right here
        try:
            await asyncio.wait([ping], timeout=patience)
            if not ping.done():
                # Aborted: closing them over TLS would wait for an answer of the silent daemon.
                await self.api.connector.close()
        finally:
            ping.cancel()
            await asyncio.wait([ping])
        return not ping.cancelled() and ping.exception() is None

    async def ping(self) -> None:
        """Send a request that costs the daemon nothing.

        Raises:
            OSError, aiohttp.ClientError: It does not answer.
        """
        async with self.api.session.get(f"{self.api.docker_host}/_ping") as answer:
            await answer.read()

    def lose(self) -> None:
        """Mark it as lost, and notify its servers."""
        if self.lost:
            return
        self.lost = f"the connection to docker at {self.host.label} was lost"
        for notify in tuple(self._on_lost):
            notify(self.lost)


async def open_daemon(site: Site, host: Host) -> Daemon:
    """Connect to a daemon and check that it answers.

    Raises:
        StartError: It cannot be reached, or the library for it is missing.
    """
    _require(host)
    if host.kind != "ssh":
        return await _open(host, host.path)
    tunnel = Tunnel(await _log_in(site, host))
    try:
        await tunnel.connection.forward_local_path(tunnel.path, host.path)
        return await _open(host, tunnel.path, tunnel)
    except BaseException:
        tunnel.close()
        raise


async def _open(host: Host, path: str, tunnel: Tunnel | None = None) -> Daemon:
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
        with translated(host):
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
    return Daemon(host, api, dict(facts), path, peer, context, tunnel)


async def _peer(host: Host) -> str:
    addresses = await asyncio.get_running_loop().getaddrinfo(host.name, host.port)
    return str(addresses[0][4][0])


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
        import aiodocker  # noqa: F401 - only to see that it is there

        if host.kind == "ssh":
            extras, library = ["docker", "ssh"], "asyncssh"
            import asyncssh  # noqa: F401 - only to see that it is there
    except ImportError as error:
        raise StartError(
            f"docker at {host.label} needs the library {library}, which is not installed",
            how_to_add(*extras),
        ) from error


@contextmanager
def translated(host: Host, action: str = "") -> Iterator[None]:
    """Translate errors of the library; `action` is what the daemon was asked for.

    Raises:
        StartError: The library raised an error.
    """
    import aiohttp
    from aiodocker import DockerError

    try:
        yield
    except DockerError as error:
        if error.status == UNREACHABLE:
            raise _unreachable(host, error) from error
        raise StartError(
            f"docker at {host.label} refused{action and ' '}{action}: {error.message.strip()}",
            "fix what it reports, or choose another executor",
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
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _last(causes: list[BaseException]) -> str:
    errors = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return str(getattr(errors[-1], "strerror", "") if errors else causes[-1]).lower()


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
