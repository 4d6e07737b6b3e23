"""Ports of containers on this machine, and ports of this machine in containers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import ip_address

from toolyard.core.errors import StartError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Url
from toolyard.executors.docker.container import ContainerRun
from toolyard.executors.docker.daemon import Daemon, translated
from toolyard.executors.docker.host import Defaults
from toolyard.executors.docker.spec import network_of

LOOPBACK = "127.0.0.1"
_READY_SECONDS = 60.0
_RETRY_SECONDS = 0.1
# Docker accepts a connection before the server does, and drops it if the server does not. So the
# server gets a request that costs it nothing; one that is slow to answer counts as listening.
_REQUEST = b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_HOLD_SECONDS = 1.0
_CONNECT_SECONDS = 5.0
_CHUNK = 64 * 1024


@asynccontextmanager
async def serve(running: ContainerRun, defaults: Defaults) -> AsyncIterator[Url]:
    """Give the address of a server that speaks HTTP, once it answers.

    Raises:
        StartError: It does not answer in time, or ended.
    """
    daemon, port = running.daemon, running.run.placement.port
    host = defaults.address or daemon.address
    if network_of(running.run, defaults) != "host":
        port = await _published(running, port)
    async with AsyncExitStack() as stack:
        if daemon.tunnel is not None:
            listener = await daemon.tunnel.connection.forward_local_port(LOOPBACK, 0, host, port)
            stack.callback(listener.close)
            host, port = LOOPBACK, listener.get_port()
        await _ready(running, host, port)
        name = f"[{host}]" if ":" in host else host
        yield Url(f"http://{name}:{port}/{running.run.placement.path.lstrip('/')}")


async def _published(running: ContainerRun, port: int) -> int:
    """Return the port of the daemon's host that leads to this port of the server."""
    with translated(running.daemon.host):
        ports = (await running.container.show())["NetworkSettings"]["Ports"]
    bound = ports.get(f"{port}/tcp")
    if not bound:
        if running.child.status:
            raise _ended(running)
        raise StartError(
            f'"{running.run.name}" cannot be reached: its network publishes no ports',
            "choose the network bridge, or host",
        )
    return int(bound[0]["HostPort"])


async def _ready(running: ContainerRun, host: str, port: int) -> None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not await _accepts(host, port):
                if running.child.status:
                    raise _ended(running)
                await asyncio.sleep(_RETRY_SECONDS)
    except TimeoutError as error:
        raise StartError(
            f'"{running.run.name}" did not listen on port {running.run.placement.port} '
            f"within {_READY_SECONDS:.0f} s",
            "it must listen on 0.0.0.0, because the loopback of a container is its own",
        ) from error


async def _accepts(host: str, port: int) -> bool:
    """Return True if a server accepts a connection and answers, or at least keeps it open."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    try:
        writer.write(_REQUEST)
        async with asyncio.timeout(_HOLD_SECONDS):
            return bool(await reader.read(1))
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        writer.close()


def _ended(running: ContainerRun) -> StartError:
    lines = running.child.stderr
    last = f": {lines[-1]}" if lines else ""
    return StartError(
        f'"{running.run.name}" {running.child.status} before it listened{last}',
        "look at its log; run its image by hand",
    )


@asynccontextmanager
async def reach_back(daemon: Daemon, defaults: Defaults, port: int) -> AsyncIterator[str]:
    """Give the host and port by which containers there reach a loopback port of this machine.

    Raises:
        StartError: There is no way.
    """
    network = defaults.network
    if network == "none":
        raise StartError(
            "containers without a network reach nothing", "choose the network bridge, or host"
        )
    if network == "host" and daemon.host.is_loopback:
        yield f"{LOOPBACK}:{port}"
    elif daemon.tunnel is not None:
        async with _through_tunnel(daemon, network, port) as address:
            yield address
    elif "Docker Desktop" in str(daemon.facts.get("OperatingSystem")):
        yield f"host.docker.internal:{port}"  # Docker Desktop leads it to our loopback
    else:
        bind = defaults.reach or await _gateway(daemon, network, local=True)
        async with _forwarded(daemon, bind, port) as address:
            yield address


async def _gateway(daemon: Daemon, network: str, *, local: bool) -> str:
    """Return the address of the host as the containers of a network see it."""
    if local and not daemon.host.is_loopback:
        raise StartError(
            f"there is no way back from docker at {daemon.host.label} over tcp",
            "use ssh:// instead, or give the executor the option reach: "
            "an address of this machine that its containers reach",
        )
    with translated(daemon.host, f"network {network}"):
        details: JsonObject = await (await daemon.api.networks.get(network)).show()
    blocks = (details.get("IPAM") or {}).get("Config") or []
    for block in blocks:
        if gateway := block.get("Gateway"):
            return str(ip_address(str(gateway).partition("/")[0]))
    raise StartError(
        f'the network "{network}" of docker at {daemon.host.label} has no gateway',
        "choose the network bridge, or host",
    )


@asynccontextmanager
async def _forwarded(daemon: Daemon, bind: str, port: int) -> AsyncIterator[str]:
    """Listen on an address that containers reach, and forward it to the loopback port."""
    forwarder = _PortForwarder(port)
    try:
        server = await asyncio.start_server(forwarder.forward, bind, 0)
    except OSError as error:
        raise StartError(
            f"there is no way back from docker at {daemon.host.label}: "
            f"its gateway {bind} is no address of this machine",
            "give the executor the option reach: an address of this machine that its containers "
            "reach; or the option network=host",
        ) from error
    async with server:
        try:
            yield f"{bind}:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            forwarder.close()


class _PortForwarder:
    """Forwards connections to one loopback port."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: set[asyncio.StreamWriter] = set()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry bytes both ways until either side ends."""
        self._writers.add(writer)
        try:
            inner, out = await asyncio.open_connection(LOOPBACK, self._port)
            self._writers.add(out)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(_carry(reader, out))
                    tasks.create_task(_carry(inner, writer))
            finally:
                self._writers.discard(out)
                out.close()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def close(self) -> None:
        """Drop all open connections."""
        for writer in self._writers:
            writer.transport.abort()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


@asynccontextmanager
async def _through_tunnel(daemon: Daemon, network: str, port: int) -> AsyncIterator[str]:
    """Listen on the remote host, and forward it back through the ssh connection."""
    import asyncssh

    assert daemon.tunnel is not None
    connection = daemon.tunnel.connection
    bind = LOOPBACK if network == "host" else await _gateway(daemon, network, local=False)
    try:
        listener = await connection.forward_remote_port(bind, 0, LOOPBACK, port)
    except (asyncssh.Error, OSError) as error:
        raise _no_tunnel(daemon, bind) from error
    try:
        remote_port = listener.get_port()
        try:
            # By default sshd binds it to its loopback instead, without an error.
            _, writer = await connection.open_connection(bind, remote_port)
            writer.close()
        except (asyncssh.Error, OSError) as error:
            raise _no_tunnel(daemon, bind) from error
        yield f"{bind}:{remote_port}"
    finally:
        listener.close()
        await listener.wait_closed()


def _no_tunnel(daemon: Daemon, bind: str) -> StartError:
    return StartError(
        f"there is no way back from {daemon.host.label}: sshd there does not listen on {bind} "
        "for us",
        "set `GatewayPorts clientspecified` in its sshd_config, "
        "or give the executor the option network=host",
    )
