"""One container, from its creation to its removal."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolyard.core.errors import StartError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.placement import Run
from toolyard.executors.docker.attach import AttachError, AttachProtocol, ContainerChild
from toolyard.executors.docker.daemon import Daemon, translated
from toolyard.executors.waits import within

if TYPE_CHECKING:
    from aiodocker.containers import DockerContainer

_EOF_SECONDS = 2.0
_TERM_SECONDS = 3
_STOP_SECONDS = 20.0  # the daemon's own waits are over by then
_DRAIN_SECONDS = 0.5
_MISSING = 404
_BUSY = 409
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(eq=False, slots=True)
class ContainerRun:
    """A container that was created; `stop` removes it in every case."""

    daemon: Daemon
    run: Run
    id: str
    child: ContainerChild
    _attach: AttachProtocol | None = None
    _started: bool = False
    _detached: bool = False
    _over: bool = False
    _watcher: asyncio.Task[None] | None = None

    @property
    def container(self) -> DockerContainer:
        """The container as the library has it."""
        return self.daemon.api.containers.container(self.id)

    async def begin(self, env: tuple[str, ...]) -> None:
        """Attach, then start, so that its first output is not lost.

        Raises:
            StartError: It cannot be started.
        """
        await self._look_for_program(env)
        stdin = not self.run.placement.port
        try:
            self._attach = await self.daemon.connect(
                lambda: AttachProtocol(self.child, self.id, self._on_detached, stdin=stdin)
            )
            with translated(self.daemon.host, "to attach"):
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._attach.opened
        except (OSError, TimeoutError, AttachError) as error:
            raise StartError(
                f'"{self.run.name}" cannot be attached to at {self.daemon.host.label}: {error}',
                "a proxy in between must let connections be upgraded",
            ) from error
        with translated(self.daemon.host, f'to start "{self.run.name}"'):
            await self.container.start()
        self._started = True
        self.daemon.watch(self.child.exited)
        self._look_after()

    async def stop(self) -> bool:
        """Close stdin, then TERM, then KILL, then remove; return True if it is certainly gone."""
        gone = False
        try:
            if not self.daemon.lost:
                with suppress(StartError), translated(self.daemon.host):
                    async with asyncio.timeout(_STOP_SECONDS):
                        await self._ask()
                        gone = await self.remove()
        finally:
            self.daemon.unwatch(self.child.exited)
            await self._end_watcher()
            await within(_DRAIN_SECONDS if self.child.status else 0, self.child.drained)
            self.child.close()
            if self._attach is not None:
                self._attach.close()
        return gone

    async def remove(self) -> bool:
        """Remove the container; return True if it is gone."""
        return await remove(self.daemon, self.id)

    async def memory(self) -> int:
        """Return its bytes in memory; 0 if the daemon does not know.

        Raises:
            StartError: The daemon does not answer.
        """
        api = self.daemon.api
        url = f"{api.docker_host}/containers/{self.id}/stats"
        with translated(self.daemon.host):
            async with api.session.get(url, params={"stream": "0", "one-shot": "1"}) as answer:
                return usage(await answer.json())

    async def _ask(self) -> None:
        if not self._started:
            return
        self.child.close_input()
        if self.run.placement.port or not await within(_EOF_SECONDS, self.child.gone):
            await self.container.stop(t=_TERM_SECONDS)  # TERM, and KILL after that time
            await within(_TERM_SECONDS, self.child.gone)

    def _on_detached(self) -> None:
        self._detached = True
        self._look_after()

    def _look_after(self) -> None:
        """Wait for its exit code once its pipes are closed; they are open as long as it runs.

        So a running container holds one connection, and not a second one to wait with.
        """
        if self._started and self._detached and not self._over and self._watcher is None:
            self._watcher = asyncio.ensure_future(self._watch())  # noqa: TID251 - ended by `stop`

    async def _watch(self) -> None:
        """Wait for its end, and report it."""
        from aiodocker import DockerError
        from aiohttp import ClientError

        try:
            code = (await self.container.wait())["StatusCode"]
            self.child.exited(f"exited with code {code}" + await self._reason())
        except (DockerError, ClientError, OSError, TimeoutError) as error:
            if getattr(error, "status", 0) == _MISSING:
                self.child.exited("was removed")
            else:
                lost = f"the connection to docker at {self.daemon.host.label} was lost"
                self.child.exited(self.daemon.lost or lost)

    async def _reason(self) -> str:
        from aiodocker import DockerError

        with suppress(DockerError):  # removed by somebody else meanwhile
            state = (await self.container.show())["State"]
            return " (out of memory)" if state.get("OOMKilled") else ""
        return ""

    async def _end_watcher(self) -> None:
        self._over = True
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])

    async def _look_for_program(self, env: tuple[str, ...]) -> None:
        """Check that its executable exists, because the init process always starts."""
        argv = self.run.command.argv
        if not argv or not argv[0]:
            return  # the image's own
        search = next((e[5:] for e in reversed(env) if e.startswith("PATH=")), _DEFAULT_PATH)
        folders = search.split(":")
        if "/" in argv[0]:
            base = (self.run.command.cwd or "").rstrip("/")
            paths = [argv[0] if argv[0].startswith("/") else f"{base}/{argv[0]}"]
        else:
            paths = [f"{folder}/{argv[0]}" for folder in folders]
        for path in paths:
            if await self._has(path):
                return
        raise StartError(
            f'"{self.run.name}" cannot be started: there is no "{argv[0]}" in its image',
            "it must be in the image, at a full path or in one of " + ", ".join(folders),
        )

    async def _has(self, path: str) -> bool:
        api = self.daemon.api
        url = f"{api.docker_host}/containers/{self.id}/archive"
        with translated(self.daemon.host):
            async with api.session.head(url, params={"path": path}) as answer:
                # Any other answer leaves the decision to the start.
                return answer.status != _MISSING


async def remove(daemon: Daemon, identity: str) -> bool:
    """Remove a container by its id; return True if it is gone."""
    from aiodocker import DockerError

    container = daemon.api.containers.container(identity)
    async with asyncio.timeout(_STOP_SECONDS):
        try:
            await container.delete(force=True, v=True)
        except DockerError as error:
            if error.status != _BUSY:  # somebody else is removing it
                return error.status == _MISSING
            with suppress(DockerError):
                await container.wait(condition="removed")
        try:
            await container.show()
        except DockerError as error:
            return error.status == _MISSING
    return False


def usage(stats: JsonObject) -> int:
    """Return the bytes a container uses, without the page cache that the kernel may drop."""
    memory = stats.get("memory_stats") or {}
    details = memory.get("stats") or {}
    cached = details.get("total_inactive_file", details.get("inactive_file", 0))
    return max(0, int(memory.get("usage", 0)) - int(cached))
