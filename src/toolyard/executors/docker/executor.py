"""Runs servers in containers of a docker daemon, on this machine or another."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolyard.core.errors import StartError
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.core.sites import Site
from toolyard.executors.docker import spec
from toolyard.executors.docker.attach import Contained
from toolyard.executors.docker.daemon import Daemon, open_daemon, told
from toolyard.executors.docker.host import Defaults, find_host, read_defaults, read_host
from toolyard.executors.docker.life import Life, remove
from toolyard.executors.docker.ports import reach_back, serve
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through

_log = logging.getLogger(__name__)

_MISSING = 404
_LOOKS_AT_ONCE = 4  # the daemon is asked for each container, and has other work
_CPUS = 2.0  # a server in trouble leaves the rest of a machine usable


class Docker:
    """Runs servers in containers; `hub` names the hub whose containers these are, for good."""

    def __init__(
        self,
        site: Site,
        hub: str,
        *,
        logs: Path | None = None,
        progress: Callable[[str], None] = _log.info,
    ) -> None:
        """Read what the site says; nothing is reached yet.

        Raises:
            ConfigError: The site's host or one of its options cannot be used.
        """
        self._site = site
        self._host = read_host(site)
        self._defaults = read_defaults(site)
        self._labels = {spec.HUB: hub, spec.START: uuid.uuid4().hex}
        self._logs = logs
        self._progress = progress
        self._daemon: Daemon | None = None
        self._connecting = asyncio.Lock()
        self._pulling = asyncio.Lock()
        self._living: dict[str, Life] = {}
        self._orphans: set[str] = set()

    @property
    def start(self) -> str:
        """What the containers of this start carry, and those of no other."""
        return self._labels[spec.START]

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server in a container; leaving the context removes it.

        Raises:
            StartError: It could not be started.
        """
        daemon = await self._reached()
        image = run.placement.image or self._defaults.image
        about = await self._image(daemon, run, image)
        made: list[Life] = []
        try:
            # To its end, for a container whose id was never read could not be removed.
            life = await through(self._create(daemon, run, image, made))
            env = (*(about.get("Config") or {}).get("Env", ()), *_pairs(run))
            await life.begin(env)
            if run.placement.port:
                async with serve(life, self._defaults) as url:
                    yield Address(url, life.child.where, lambda: life.child.status)
            else:
                yield life.child
        finally:
            for life in made:
                await through(self._stop(life))

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which containers there reach a loopback port of this machine.

        Raises:
            StartError: There is no way.
        """
        daemon = await self._reached()
        async with reach_back(daemon, self._defaults, port) as address:
            yield address

    async def sweep(self) -> tuple[str, ...]:
        """Remove the containers that earlier starts of this hub left there; give which.

        Raises:
            StartError: The daemon cannot be reached.
        """
        daemon = await self._reached()
        label = f"{spec.HUB}={self._labels[spec.HUB]}"
        with told(daemon.host):
            found = await daemon.api.containers.list(all=True, filters={"label": [label]})
            left = [each for each in found if self._is_left(each["Labels"])]
            for each in left:
                await remove(daemon, each.id)
        return tuple(
            f'container {each.id[:12]} of "{each["Labels"][spec.SERVER]}"' for each in left
        )

    async def memory(self) -> dict[str, int]:
        """Bytes in memory per running server, by its `where`; one that is not known is left out."""
        used: dict[str, int] = {}
        turns = asyncio.Semaphore(_LOOKS_AT_ONCE)

        async def look(life: Life) -> None:
            async with turns:
                with suppress(StartError):
                    if held := await life.memory():
                        used[life.child.where] = held

        async with asyncio.TaskGroup() as tasks:
            for life in self._living.values():
                tasks.create_task(look(life))
        return used

    async def close(self) -> None:
        """Let go of the connection; call it when no server runs there any more."""
        daemon, self._daemon = self._daemon, None
        if daemon is not None:
            await daemon.close()

    def _is_left(self, labels: dict[str, str]) -> bool:
        return labels.get(spec.START) != self.start

    async def _reached(self) -> Daemon:
        """A daemon that answers; one that was lost is reached anew."""
        async with self._connecting:
            if self._daemon is not None and self._daemon.lost:
                await self.close()
            if self._daemon is None:
                host = self._host or find_host(self._site)
                self._daemon = await open_daemon(self._site, host)
            daemon = self._daemon
        await self._bury(daemon)
        return daemon

    async def _bury(self, daemon: Daemon) -> None:
        """Remove what could not be removed while the connection was lost."""
        while self._orphans:
            orphan = self._orphans.pop()
            try:
                with told(daemon.host):
                    await remove(daemon, orphan)
            except BaseException:
                self._orphans.add(orphan)
                raise

    async def _image(self, daemon: Daemon, run: Run, image: str) -> dict[str, Any]:
        """What is known of an image; pulled if it is missing and may be."""
        from aiodocker import DockerError

        if not image:
            raise StartError(
                f'"{run.name}" cannot be started: it names no image',
                f'give it one, or give the executor "{self._site.name}" the option image',
            )
        with told(daemon.host, f"image {image}"):
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

    async def _create(self, daemon: Daemon, run: Run, image: str, made: list[Life]) -> Life:
        """Make a container; it is put into `made` as soon as there is one."""
        body = spec.container(run, image, self._bounds(daemon), self._labels)
        if run.placement.port and spec.network_of(run, self._defaults) != "host":
            spec.publish(body, run.placement.port, self._defaults.address or daemon.address)
        name = spec.container_name(run, uuid.uuid4().hex[:8])
        with told(daemon.host, f'to make a container for "{run.name}"'):
            container = await daemon.api.containers.create(body, name=name)
        log = LogFile(self._logs, run.name) if self._logs else None
        life = Life(daemon, run, container.id, Contained(container.id, log))
        self._living[life.id] = life
        made.append(life)
        return life

    def _bounds(self, daemon: Daemon) -> Defaults:
        """The defaults, with as many processors as are usual and that machine has."""
        if self._defaults.cpus:
            return self._defaults
        return replace(self._defaults, cpus=min(_CPUS, daemon.facts.get("NCPU") or _CPUS))

    async def _stop(self, life: Life) -> None:
        gone = False
        try:
            gone = await life.stop()
        finally:
            del self._living[life.id]
            if not gone:
                self._orphans.add(life.id)


def _pairs(run: Run) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in run.command.env)


def _step(image: str, step: dict[str, Any]) -> str:
    parts = (image, step.get("id", ""), step.get("status", ""), step.get("progress", ""))
    return " ".join(str(part) for part in parts if part)
