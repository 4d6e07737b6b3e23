"""Runs servers as pods of a cluster, and leaves none behind."""

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
from toolyard.core.replicas import Replica
from toolyard.core.sites import Site
from toolyard.executors.kubernetes import manifests
from toolyard.executors.kubernetes.api import Api, ApiError
from toolyard.executors.kubernetes.cluster_run import ClusterRun
from toolyard.executors.kubernetes.container import Manifest
from toolyard.executors.kubernetes.context import connect
from toolyard.executors.kubernetes.manifests import (
    GRACE,
    HUB,
    REPLICA,
    RUN,
    START,
    Ownership,
    label,
)
from toolyard.executors.kubernetes.options import Options, read
from toolyard.executors.kubernetes.pod_watch import PodWatch
from toolyard.executors.kubernetes.reach import way_back
from toolyard.executors.kubernetes.state import is_stale
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through

_log = logging.getLogger(__name__)

_SWEPT: Final = ("Deployment", "Pod")
_SWEEP_WAIT = 30  # seconds; objects that are still there have been deleted all the same


class Kubernetes:
    """Runs servers in a cluster; `logs` is the folder for their stderr, one file per server.

    Raises:
        ConfigError: An option is unknown, or its value cannot be used.
    """

    def __init__(self, site: Site, replica: Replica, *, logs: Path | None = None) -> None:
        self._site = site
        self._options: Options = read(site)
        self._replica = replica
        self._start = secrets.token_hex(8)
        self._logs = logs
        self._api: Api | None = None
        self._watches: dict[str, PodWatch] = {}
        self._gate = asyncio.Lock()
        self._leftovers: set[tuple[str, str]] = set()

    @property
    def start(self) -> str:
        """The label of the objects of this start, and of no others."""
        return self._start

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        name = f"toolyard-{manifests.slug(run.name)}-{secrets.token_hex(5)}"
        # A run that a cluster cannot have is refused before anything is created.
        manifests.pod(run, self._options, self._ownership("default"), name)
        api = await self._connected()
        log = LogFile(self._logs, run.name) if self._logs else None
        running = ClusterRun(api, self._options, self._watches, run, name, log)
        try:
            ownership = await through(self._anchored(api))
            yield await running.begin(ownership)
        finally:
            self._leftovers |= await through(running.stop())

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which pods reach a loopback port of this machine.

        Raises:
            StartError: There is no way, unless the option `reach` names one.
        """
        async with way_back(self._site.name, self._options, port) as address:
            yield address

    async def sweep(self) -> tuple[str, ...]:
        """Delete the objects of earlier starts, and of replicas that are gone; return their names.

        Raises:
            StartError: The cluster cannot be reached, or does not allow it.
        """
        api = await self._connected()
        await self._delete_leftovers(api)
        others = f"{HUB}={label(self._replica.hub)},{START}!={self._start}"
        swept = []
        for kind in _SWEPT:
            for name in await self._left(api, kind, others):
                await api.delete(kind, name, grace=GRACE if kind == "Pod" else None)
                swept.append(f"{kind.lower()} {api.namespace}/{name}")
        # Last: the secrets that they own go with them, because these cannot be listed.
        for name in await self._left(api, "ConfigMap", others):
            await api.delete("ConfigMap", name)
        if swept:
            await self._until_gone(api, others)
        return tuple(swept)

    async def _left(self, api: Api, kind: str, selector: str) -> list[str]:
        """Name the objects with these labels whose replica is gone."""
        return _names(await self._of_gone((await api.list(kind, selector))["items"]))

    async def _of_gone(self, items: list[Manifest]) -> list[Manifest]:
        gone = await self._replica.find_gone(_replica_of(item) for item in items)
        return [item for item in items if _replica_of(item) in gone]

    async def _until_gone(self, api: Api, selector: str) -> None:
        """Wait until no pod with these labels is left of a replica that is gone."""
        pods = await api.list("Pod", selector)
        version = pods["metadata"]["resourceVersion"]
        stopping = await self._of_gone(pods["items"])
        left = set(_names(stopping))
        for pod in stopping:
            await _delete_stale(api, pod)
        async with api.watch("Pod", selector, version, _SWEEP_WAIT) as events:
            while left:
                event = await anext(events, None)
                if event is None:
                    return
                pod = event["object"]
                if event["type"] == "BOOKMARK" or pod["metadata"]["name"] not in left:
                    continue
                if event["type"] == "DELETED":
                    left.discard(pod["metadata"]["name"])
                else:
                    await _delete_stale(api, pod)

    async def close(self) -> None:
        """Delete the owner of all objects of this start, and close the connection."""
        async with self._gate:
            api, self._api = self._api, None
            if api is None:
                return
            try:
                await self._delete_leftovers(api)
                await api.delete("ConfigMap", self._ownership(api.namespace).anchor)
            except ApiError as error:
                _log.warning("something may be left for the next start to sweep: %s", error)
            finally:
                for watch in self._watches.values():
                    await watch.close()
                self._watches = {}
                await api.close()

    async def _connected(self) -> Api:
        async with self._gate:
            if self._api is None:
                site = self._site
                api = await connect(site.name, site.host, self._options)
                mine = f"{START}={self._start}"
                self._watches = {
                    kind: PodWatch(api, kind, mine, RUN) for kind in ("Pod", "Deployment")
                }
                self._api = api
            return self._api

    def _ownership(self, namespace: str, uid: str = "") -> Ownership:
        return Ownership(self._replica.hub, self._replica.id, self._start, namespace, uid)

    async def _anchored(self, api: Api) -> Ownership:
        """Make sure that the owner of all our objects exists."""
        await self._delete_leftovers(api)
        async with self._gate:
            ownership = self._ownership(api.namespace)
            anchor = await api.get("ConfigMap", ownership.anchor)
            if anchor is None:
                anchor = await api.create(manifests.anchor(ownership))
            return self._ownership(api.namespace, anchor["metadata"]["uid"])

    async def _delete_leftovers(self, api: Api) -> None:
        """Delete objects that could not be deleted while the cluster was unreachable."""
        while self._leftovers:
            kind, name = self._leftovers.pop()
            try:
                await api.delete(kind, name)
            except ApiError as error:
                if error.is_passing:
                    self._leftovers.add((kind, name))
                raise


def _names(items: list[Manifest]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def _replica_of(item: Manifest) -> str:
    return str(item["metadata"].get("labels", {}).get(REPLICA, ""))


async def _delete_stale(api: Api, pod: Manifest) -> None:
    """Delete a pod of which nothing runs any more, without waiting for its node."""
    if is_stale(pod):
        await api.delete("Pod", pod["metadata"]["name"], grace=0)
