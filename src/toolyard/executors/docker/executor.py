"""Runs servers in containers of a docker daemon, on this machine or another."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from toolyard.core.errors import StartError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.core.replicas import Replica
from toolyard.core.sites import Site
from toolyard.executors.docker import spec
from toolyard.executors.docker.attach import ContainerChild
from toolyard.executors.docker.container import ContainerRun, remove
from toolyard.executors.docker.daemon import Daemon, open_daemon, translated
from toolyard.executors.docker.host import Defaults, find_host, read_defaults, read_host
from toolyard.executors.docker.ports import reach_back, serve
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through

_log = logging.getLogger(__name__)

_MISSING = 404
_QUERIES_AT_ONCE = 4  # one query per container, and the daemon has other work
_CPUS = 2.0  # a server in trouble leaves the rest of a machine usable


class Docker:
    """Runs servers in containers, which carry the names of the replica that owns them."""

    def __init__(
        self,
        site: Site,
        replica: Replica,
        *,
        logs: Path | None = None,
        progress: Callable[[str], None] = _log.info,
    ) -> None:
        """Read the options of the executor; nothing is connected yet.

        Raises:
            ConfigError: The host or one of the options cannot be used.
        """
        self._site = site
        self._host = read_host(site)
        self._defaults = read_defaults(site)
        self._replica = replica
        self._labels = {
            spec.HUB: replica.hub,
            spec.REPLICA: replica.id,
            spec.START: uuid.uuid4().hex,
        }
        self._logs = logs
        self._progress = progress
        self._daemon: Daemon | None = None
        self._connecting = asyncio.Lock()
        self._pulling = asyncio.Lock()
        self._living: dict[str, ContainerRun] = {}
        self._leftovers: set[str] = set()

    @property
    def start(self) -> str:
        """The label of the containers of this start, and of no others."""
        return self._labels[spec.START]

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server in a container; leaving the context removes it.

        Raises:
            StartError: It could not be started.
        """
        daemon = await self._connected()
        image = run.placement.image or self._defaults.image
        details = await self._image(daemon, run, image)
        created: list[ContainerRun] = []
        try:
            # Uninterrupted: a container whose id was never read could not be removed.
            running = await through(self._create(daemon, run, image, created))
            env = (*(details.get("Config") or {}).get("Env", ()), *_pairs(run))
            await running.begin(env)
            if run.placement.port:
                async with serve(running, self._defaults) as url:
                    yield Address(url, running.child.where, lambda: running.child.status)
            else:
                yield running.child
        finally:
            for running in created:
                await through(self._stop(running))

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which containers reach a loopback port of this machine.

        Raises:
            StartError: There is no way.
        """
        daemon = await self._connected()
        async with reach_back(daemon, self._defaults, port) as address:
            yield address

    async def sweep(self) -> tuple[str, ...]:
        """Remove what earlier starts, and replicas that are gone, left; return the containers.

        Raises:
            StartError: The daemon cannot be reached.
        """
        daemon = await self._connected()
        label = f"{spec.HUB}={self._labels[spec.HUB]}"
        with translated(daemon.host):
            containers = await daemon.api.containers.list(all=True, filters={"label": [label]})
            gone = await self._replica.find_gone(_replica_of(one["Labels"]) for one in containers)
            left = [one for one in containers if self._is_left(one["Labels"], gone)]
            for container in left:
                await remove(daemon, container.id)
        return tuple(
            f'container {container.id[:12]} of "{container["Labels"][spec.SERVER]}"'
            for container in left
        )

    async def memory(self) -> dict[str, int]:
        """Return the bytes in memory per running server, by its `where`, where they are known."""
        used: dict[str, int] = {}
        turns = asyncio.Semaphore(_QUERIES_AT_ONCE)

        async def query(running: ContainerRun) -> None:
            async with turns:
                with suppress(StartError):
                    if size := await running.memory():
                        used[running.child.where] = size

        async with asyncio.TaskGroup() as tasks:
            for running in self._living.values():
                tasks.create_task(query(running))
        return used

    async def close(self) -> None:
        """Close the connection; call it when no server runs any more."""
        daemon, self._daemon = self._daemon, None
        if daemon is not None:
            await daemon.close()

    def _is_left(self, labels: dict[str, str], gone: frozenset[str]) -> bool:
        return labels.get(spec.START) != self.start and _replica_of(labels) in gone

    async def _connected(self) -> Daemon:
        """Return a daemon that answers; one that was lost is connected to anew."""
        async with self._connecting:
            if self._daemon is not None and self._daemon.lost:
                await self.close()
            if self._daemon is None:
                host = self._host or find_host(self._site)
                self._daemon = await open_daemon(self._site, host)
            daemon = self._daemon
        await self._delete_leftovers(daemon)
        return daemon

    async def _delete_leftovers(self, daemon: Daemon) -> None:
        """Remove containers that could not be removed while the connection was lost."""
        while self._leftovers:
            leftover = self._leftovers.pop()
            try:
                with translated(daemon.host):
                    await remove(daemon, leftover)
            except BaseException:
                self._leftovers.add(leftover)
                raise

    async def _image(self, daemon: Daemon, run: Run, image: str) -> JsonObject:
        """Return the details of an image; it is pulled if it is missing and may be pulled."""
        from aiodocker import DockerError

        if not image:
            raise StartError(
                f'"{run.name}" cannot be started: it names no image',
                f'give it one, or give the executor "{self._site.name}" the option image',
            )
        with translated(daemon.host, f"image {image}"):
            try:
                return await daemon.api.images.inspect(image)
            except DockerError as error:
                if error.status != _MISSING:
                    raise
            await self._pull(daemon, run, image)
            return await daemon.api.images.inspect(image)

    async def _pull(self, daemon: Daemon, run: Run, image: str) -> None:
        from aiodocker import DockerError

        if not self._defaults.pull:
            raise StartError(
                f'"{run.name}" cannot be started: docker at {daemon.host.label} '
                f'has no image "{image}"',
                f"`docker pull {image}` there, or give the executor the option pull=missing",
            )
        async with self._pulling:
            try:
                async for step in daemon.api.images.pull(image, stream=True):
                    self._progress(_step(image, step))
            except DockerError as error:
                raise StartError(
                    f'"{run.name}" cannot be started: the image "{image}" cannot be pulled: '
                    f"{error.message}",
                    "correct its name, log in to its registry there, or pull it by hand",
                ) from error

    async def _create(
        self, daemon: Daemon, run: Run, image: str, created: list[ContainerRun]
    ) -> ContainerRun:
        """Create a container; it is put into `created` as soon as it exists."""
        body = spec.container(run, image, self._bounds(daemon), self._labels)
        if run.placement.port and spec.network_of(run, self._defaults) != "host":
            spec.publish(body, run.placement.port, self._defaults.address or daemon.address)
        name = spec.container_name(run, uuid.uuid4().hex[:8])
        with translated(daemon.host, f'to make a container for "{run.name}"'):
            container = await daemon.api.containers.create(body, name=name)
        log = LogFile(self._logs, run.name) if self._logs else None
        running = ContainerRun(daemon, run, container.id, ContainerChild(container.id, log))
        self._living[running.id] = running
        created.append(running)
        return running

    def _bounds(self, daemon: Daemon) -> Defaults:
        """Return the defaults, with the usual number of processors if the machine has them."""
        if self._defaults.cpus:
            return self._defaults
        return replace(self._defaults, cpus=min(_CPUS, daemon.facts.get("NCPU") or _CPUS))

    async def _stop(self, running: ContainerRun) -> None:
        gone = False
        try:
            gone = await running.stop()
        finally:
            del self._living[running.id]
            if not gone:
                self._leftovers.add(running.id)


def _pairs(run: Run) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in run.command.env)


def _step(image: str, step: JsonObject) -> str:
    parts = (image, step.get("id", ""), step.get("status", ""), step.get("progress", ""))
    return " ".join(str(part) for part in parts if part)


def _replica_of(labels: dict[str, str]) -> str:
    return labels.get(spec.REPLICA, "")
