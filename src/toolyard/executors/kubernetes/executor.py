"""Runs servers as pods of a cluster, reached through its API, and leaves none behind."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.core.sites import Site
from toolyard.executors.kubernetes import manifests
from toolyard.executors.kubernetes.api import Api, ApiError
from toolyard.executors.kubernetes.context import connect
from toolyard.executors.kubernetes.life import Life
from toolyard.executors.kubernetes.manifests import GRACE, HUB, RUN, START, Manifest, Mark, label
from toolyard.executors.kubernetes.options import Options, read
from toolyard.executors.kubernetes.pod_watch import Roll
from toolyard.executors.kubernetes.reach import way_back
from toolyard.executors.kubernetes.state import is_stale
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through

_log = logging.getLogger(__name__)

_SWEPT: Final = ("Deployment", "Pod")
_SWEEP_WAIT = 30  # seconds; what is not gone then has been told to go


class Kubernetes:
    """Runs servers in a cluster; with a folder, their stderr is kept there, one file per server.

    Raises:
        ConfigError: An option of the site is unknown, or its value cannot be used.
    """

    def __init__(self, site: Site, hub: str, *, logs: Path | None = None) -> None:
        self._site = site
        self._options: Options = read(site)
        self._hub = hub
        self._start = secrets.token_hex(8)
        self._logs = logs
        self._api: Api | None = None
        self._rolls: dict[str, Roll] = {}
        self._gate = asyncio.Lock()
        self._owed: set[tuple[str, str]] = set()

    @property
    def start(self) -> str:
        """The value of the label that tells the objects of this start from those of others."""
        return self._start

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        name = f"toolyard-{manifests.slug(run.name)}-{secrets.token_hex(5)}"
        # What cannot be said in a cluster is refused before anything is asked of one.
        manifests.pod(run, self._options, Mark(self._hub, self._start, "default"), name)
        api = await self._connected()
        log = LogFile(self._logs, run.name) if self._logs else None
        life = Life(api, self._options, self._rolls, run, name, log)
        try:
            mark = await through(self._anchored(api))
            yield await life.begin(mark)
        finally:
            self._owed |= await through(life.stop())

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which pods reach a loopback port of this machine.

        Raises:
            StartError: There is no way, unless the option `reach` names one.
        """
        async with way_back(self._site.name, self._options, port) as address:
            yield address

    async def sweep(self) -> tuple[str, ...]:
        """Delete what other starts of this hub left there; give what it was.

        Raises:
            StartError: The cluster cannot be reached, or does not allow it.
        """
        api = await self._connected()
        await self._pay(api)
        others = f"{HUB}={label(self._hub)},{START}!={self._start}"
        found = []
        for kind in _SWEPT:
            for each in await _names(api, kind, others):
                await api.delete(kind, each, grace=GRACE if kind == "Pod" else None)
                found.append(f"{kind.lower()} {api.namespace}/{each}")
        # Last: what they own that cannot be listed, the secrets, goes with them.
        for each in await _names(api, "ConfigMap", others):
            await api.delete("ConfigMap", each)
        if found:
            await _until_gone(api, others)
        return tuple(found)

    async def close(self) -> None:
        """Remove what owns all else of this start, and let go of the cluster."""
        async with self._gate:
            api, self._api = self._api, None
            if api is None:
                return
            try:
                await self._pay(api)
                await api.delete("ConfigMap", self._mark(api).anchor)
            except ApiError as error:
                _log.warning("something may be left for the next start to sweep: %s", error)
            finally:
                for roll in self._rolls.values():
                    await roll.close()
                self._rolls = {}
                await api.close()

    async def _connected(self) -> Api:
        async with self._gate:
            if self._api is None:
                site = self._site
                api = await connect(site.name, site.host, self._options)
                mine = f"{START}={self._start}"
                self._rolls = {kind: Roll(api, kind, mine, RUN) for kind in ("Pod", "Deployment")}
                self._api = api
            return self._api

    def _mark(self, api: Api, uid: str = "") -> Mark:
        return Mark(self._hub, self._start, api.namespace, uid)

    async def _anchored(self, api: Api) -> Mark:
        """Make sure that the owner of all we make is there."""
        await self._pay(api)
        async with self._gate:
            mark = self._mark(api)
            found = await api.get("ConfigMap", mark.anchor)
            if found is None:
                found = await api.create(manifests.anchor(mark))
            return self._mark(api, found["metadata"]["uid"])

    async def _pay(self, api: Api) -> None:
        """Delete what could not be deleted while the cluster was away."""
        while self._owed:
            kind, name = self._owed.pop()
            try:
                await api.delete(kind, name)
            except ApiError as error:
                if error.is_passing:
                    self._owed.add((kind, name))
                raise


async def _names(api: Api, kind: str, selector: str) -> list[str]:
    return [each["metadata"]["name"] for each in (await api.list(kind, selector))["items"]]


async def _until_gone(api: Api, selector: str) -> None:
    """Wait until no pod has these labels, as the cluster tells of them."""
    found = await api.list("Pod", selector)
    left = {each["metadata"]["name"] for each in found["items"]}
    version = found["metadata"]["resourceVersion"]
    for pod in found["items"]:
        await _take_off(api, pod)
    async with api.watch("Pod", selector, version, _SWEEP_WAIT) as events:
        while left:
            event = await anext(events, None)
            if event is None:
                return
            if event["type"] == "DELETED":
                left.discard(event["object"]["metadata"]["name"])
            elif event["type"] != "BOOKMARK":
                await _take_off(api, event["object"])


async def _take_off(api: Api, pod: Manifest) -> None:
    """Do not wait for a node to clear away a pod of which nothing runs any more."""
    if is_stale(pod):
        await api.delete("Pod", pod["metadata"]["name"], grace=0)
