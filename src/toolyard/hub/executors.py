"""Executors that people name: what is known of them, and the orders about them."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from toolyard.core.agents import EXECUTORS, spelled
from toolyard.core.errors import ConfigError, StartError, TakenError, UnknownNameError
from toolyard.core.model import Command
from toolyard.core.names import closest
from toolyard.core.placement import Run
from toolyard.core.plans import Resolution
from toolyard.core.site_fields import read_site
from toolyard.core.sites import Placement, Site
from toolyard.hub import Hub
from toolyard.links.sites import LOCAL, Sites, SiteTrial

REACH_SECONDS: Final = 15.0


class SiteRecords(Protocol):
    """Keeps executors."""

    def put_site(self, site: Site) -> int:
        """Write an executor down; return the version of its record."""
        ...

    def remove_site(self, name: str) -> None:
        """Forget an executor."""
        ...


class Executors:
    """Everything there is to ask and to order about executors."""

    def __init__(self, hub: Hub, store: SiteRecords, sites: Sites) -> None:
        self._hub = hub
        self._store = store
        self._sites = sites
        self._reached: dict[str, str] = {}
        self.out_of_reach: dict[str, str] = {}
        """Why the hub cannot be reached from a place, by its name."""

    @property
    def sites(self) -> dict[str, Site]:
        """All that were named."""
        return dict(self._hub.snapshot.roster.sites)

    def site(self, name: str) -> Site:
        """The executor of that name.

        Raises:
            UnknownNameError: Nobody named it.
        """
        found = self.sites.get(spelled(name))
        if found is None:
            near = ", ".join(closest(name, self.sites) or sorted(self.sites)) or "none yet"
            raise UnknownNameError(f"unknown executor {name[:80]!r}", f"there are: {near}")
        return found

    async def put(self, name: str, said: Any) -> bool:
        """Name an executor, or change one; whether the picture shows it already.

        Raises:
            TakenError: The name means something else.
            ConfigError: It cannot be used.
            StoreError: It cannot be written down.
        """
        id_ = spelled(name)
        if id_ in EXECUTORS:
            hint = "choose another; this one stands for all places of its kind"
            raise TakenError(f"{id_!r} is the name of a kind of executor", hint)
        site = read_site(id_, said)
        if site.type == LOCAL:
            raise ConfigError("this machine is an executor already", "leave 'executor' out")
        try:
            self._sites.make(site)
        except StartError as error:
            raise ConfigError(str(error), error.hint) from error
        await asyncio.to_thread(self._store.put_site, site)
        self._reached.pop(id_, None)
        return await self._hub.board.wait_until(
            lambda picture: picture.roster.sites.get(id_) == site
        )

    async def remove(self, name: str) -> bool:
        """Forget an executor; what runs there ends with its servers.

        Raises:
            UnknownNameError: Nobody named it.
        """
        id_ = self.site(name).name
        await asyncio.to_thread(self._store.remove_site, id_)
        self._reached.pop(id_, None)
        return await self._hub.board.wait_until(lambda picture: id_ not in picture.roster.sites)

    async def try_out(self, name: str, placement: Placement) -> SiteTrial:
        """Start a tiny server there, call it, remove it, and say what failed.

        Raises:
            UnknownNameError: Nobody named it.
        """
        where = LOCAL if spelled(name) == LOCAL else self.site(name).name
        return await self._sites.try_out(where, placement, self._port())

    def render(self, made: Resolution, site: Site, *, native: bool) -> str:
        """Manifests of a run's servers for a cluster.

        Raises:
            ConfigError: The place is no cluster, or its options cannot be used.
            StartError: A server asks for what a cluster does not have.
        """
        if site.type != "kubernetes":
            raise ConfigError(f"{site.name!r} is no cluster", "name one of type kubernetes")
        from toolyard.executors.kubernetes.sidecars import render

        runs = []
        for plan in made.plans:
            entry = self._hub.snapshot.entries.get(plan.server) if plan.server else None
            if isinstance(plan.process, Command) and entry is not None:
                owner = "session" if plan.mode == "per_session" else ""
                runs.append(Run(plan.name, plan.process, entry.server.placement, owner))
        return render(made.agent, runs, site, native=native)

    async def prepare(self, name: str) -> None:
        """Open the way from a place back to the hub, so that plans for it are true."""
        if name not in self.sites or name in self._reached:
            return
        try:
            async with asyncio.timeout(REACH_SECONDS):
                self._reached[name] = await self._sites.reach(name, self._port())
            self.out_of_reach.pop(name, None)
        except TimeoutError:
            self.out_of_reach[name] = f"no way was found within {REACH_SECONDS:g} s"
        except StartError as error:
            self.out_of_reach[name] = f"{error}; {error.hint}"

    def reach_of(self, name: str) -> tuple[str, str]:
        """The hub's address as a place sees it, and the host that stands for our loopback there.

        Empty if it cannot be reached, or nobody looked yet.
        """
        if name in self.sites:
            place = self._reached.get(name, "")
            return (f"http://{place}" if place else ""), ""
        if name == "docker":
            # The name that container engines give the machine they run on.
            port = self._port()
            return f"http://host.docker.internal:{port}", "host.docker.internal"
        return self._hub.url, ""

    def _port(self) -> int:
        return urlsplit(self._hub.url).port or 0
