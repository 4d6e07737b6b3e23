"""Every room, built and wired."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from toolyard.board import Board
from toolyard.core.errors import SecretError, StoreError, ToolyardError
from toolyard.core.model import (
    Endpoint,
    Event,
    Problem,
    Report,
    Server,
    SourceFailed,
    Status,
    Url,
)
from toolyard.core.ports import Source
from toolyard.executors.local import Local
from toolyard.executors.usage import memory_of
from toolyard.hub import Hub
from toolyard.hub.agents import Agents
from toolyard.hub.checks import Checks
from toolyard.hub.executors import Executors
from toolyard.hub.logins import Logins
from toolyard.hub.orders import Orders
from toolyard.hub.packages import Packages
from toolyard.hub.pins import Pins, Rules
from toolyard.hub.shareable import Shareable
from toolyard.links.credentials import Credentials
from toolyard.links.instances import Instances
from toolyard.links.link import Link
from toolyard.links.opening import Patience, open_link
from toolyard.links.owner import EVERYBODY, Owner
from toolyard.links.pool import Pool
from toolyard.links.probe import probe
from toolyard.links.room import Budget
from toolyard.links.sites import Sites
from toolyard.links.sweep import find_again
from toolyard.links.weights import Weights
from toolyard.relay.exposure import Exposure
from toolyard.relay.relay import Relay
from toolyard.settings import Settings
from toolyard.sources.agents import Agents as AgentsSource
from toolyard.sources.announced import Announced
from toolyard.sources.apps import Apps
from toolyard.sources.bundled import Bundled
from toolyard.sources.catalog import Added
from toolyard.sources.configured import Configured
from toolyard.sources.passports import Passports
from toolyard.sources.profiles import Profiles
from toolyard.stores.agents import AgentStore
from toolyard.stores.apps import AppsFolder
from toolyard.stores.catalog import Catalog
from toolyard.stores.database import Database
from toolyard.stores.expand import Lookup, expand, find_secrets
from toolyard.stores.grants import Grants
from toolyard.stores.history import Bounds, History
from toolyard.stores.identity import hub_identity
from toolyard.stores.inputs import InputsFile
from toolyard.stores.inventory import with_link
from toolyard.stores.locks import read_lock
from toolyard.stores.packages import PackagesFolder
from toolyard.stores.passports import FILE, PassportsFile
from toolyard.stores.pins import PinStore
from toolyard.stores.profiles import ProfilesFolder
from toolyard.stores.recall import Recall
from toolyard.stores.schema import MIGRATIONS
from toolyard.stores.secrets import Secrets
from toolyard.stores.servers import ServersFile
from toolyard.stores.sharing import SharingStore
from toolyard.stores.tokens import TokensFile
from toolyard.wire.era import Era

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0


class House:
    """Every room, built and wired, not yet running."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.board = Board()
        self.local = Local(settings.state_dir / "log")
        self.sites = Sites(
            self.local,
            hub_identity(settings.state_dir),
            settings.state_dir / "log",
            lambda: self.board.snapshot.roster,
        )
        self.recall = Recall(settings.cache_dir / "known")
        self.database = self._open_database()
        self.packages = Packages(
            self.board,
            PackagesFolder(settings.cache_dir / "packages"),
            self.local,
            lambda server: expand(server.endpoint, Lookup(os.environ, server.folder)),
            settings.start_timeout,
            on=settings.pin_launchers == "on",
        )
        self.pins = Pins(
            self.board, PinStore(self.database) if self.database else None, _rules(settings)
        )
        self.pool = Pool(
            self.board,
            self._open,
            self._patience(),
            post=self.pins.post,
            budget=_budget(settings),
            memory=self._memory,
        )
        self.weights = Weights(self.sites)
        self.pool.room.weight = self.weights.of
        self.pool.room.site = lambda name: self.board.snapshot.roster.sites.get(name)
        self.secrets, self.grants = Secrets(settings.state_dir), Grants(settings.state_dir)
        self.credentials = Credentials(
            self.grants, self.secrets, self.pool, lambda: self.board.snapshot
        )
        folder = AppsFolder(settings.apps_dir)
        self.apps = Apps(folder, os.environ, probe, self.pool.replaced)
        self.instances = Instances(
            self.board, self.pool, self._open, self._patience(), settings.session_idle
        )
        self.hub = Hub(self.board, self.pool, self.instances, self.apps)
        self.hub.installed = self.packages.installed
        self.logins = Logins(self.hub, self.grants)
        self.relay = Relay(self.hub, _exposure(settings))
        self.history = History(
            self.database if settings.history == "on" else None, _bounds(settings)
        )
        self.relay.calls.record = self.history.record
        self.catalog = Catalog(settings.data_dir / "catalog")
        self.catalog.approve = self.pins.approve_definition
        self.checks = Checks(self.hub, self.pins, self.catalog, self.local.last_words)
        profiles = ProfilesFolder(settings.config_file.parent / "profiles")
        passports = PassportsFile(settings.config_file.parent / FILE)
        servers = ServersFile(settings.config_file)
        self.orders = Orders(self.hub, servers, profiles, passports)
        self.inputs = InputsFile(settings.state_dir / "inputs.json")
        self.profiles = Profiles(profiles)
        self.passports = Passports(passports)
        self.board.post(self.profiles.report)
        self.board.post(self.passports.report)
        records = AgentStore(self.database)
        self.executors = Executors(self.hub, records, self.sites)
        self.agents = Agents(self.hub, records, self.executors)
        self.shareable = Shareable(self.hub, self._open, SharingStore(self.database))
        self.roster = AgentsSource(records, os.environ)
        self._post(self.roster.report)
        self.tokens = TokensFile(settings.state_dir / "tokens.json")
        self.sources: list[Source] = [
            Configured(settings.config_file, os.environ),
            Added(self.catalog, os.environ),
            Announced(self.hub.project_folders),
            self.apps,
            self.profiles,
            self.passports,
            self.roster,
            Bundled(_others(self.board, self.hub)),
        ]
        self.hub.expected = frozenset({"configured", "catalog", *self.apps.scans})
        self.stopping = asyncio.Event()

    def _open_database(self) -> Database | None:
        """Open what we keep; without it the hub serves all the same."""
        path = self.settings.state_dir / "toolyard.db"
        try:
            return Database(path, MIGRATIONS)
        except StoreError as error:
            text = f"{error}; tools of your servers wait, for nothing tells what was approved"
            problem = Problem("database-failed", text, error.hint, str(path))
            self.board.post(Report("database", problems=(problem,)))
            return None

    def _patience(self) -> Patience:
        return Patience(
            open=self.settings.start_timeout,
            call=self.settings.call_timeout,
            idle=self.settings.idle_timeout,
        )

    @staticmethod
    def _memory(pids: list[int]) -> int:
        return sum(memory_of(pids).values())

    def _post(self, event: Event) -> None:
        """Post what a source says, with what its servers offered when last seen."""
        self.pins.post(self.recall.fill(event) if isinstance(event, Report) else event)

    async def _remember(self) -> None:
        """Keep what servers offer, until cancelled."""
        revision = -1
        while True:
            snapshot = await self.board.wait_after(revision)
            revision = snapshot.revision
            for entry in snapshot.entries.values():
                if entry.status is Status.READY and self.recall.is_news(entry):
                    await asyncio.to_thread(self.recall.keep, entry)

    @asynccontextmanager
    async def _open(
        self, server: Server, hint: Era | None, owner: Owner = EVERYBODY
    ) -> AsyncIterator[Link]:
        """Open a link: references become values here, and nowhere else."""
        lookup = Lookup(os.environ, server.folder)
        if find_secrets(server.endpoint):
            # A keyring may ask the user to unlock it; the house goes on meanwhile.
            try:
                endpoint = await asyncio.to_thread(expand, server.endpoint, lookup)
            except SecretError as error:
                raise await asyncio.to_thread(with_link, self.catalog, server, error) from error
        else:
            endpoint = expand(server.endpoint, lookup)
        patience = self._patience()
        limit = self.settings.server_message_limit
        if server.identity is not None and isinstance(endpoint, Url):
            endpoint = await find_again(endpoint, server.identity)
        scan = self.apps.scans.get(server.id.source)
        if scan is not None:
            scan.admit(server)

        def opened(place: Endpoint) -> AbstractAsyncContextManager[Link]:
            executor = self.sites.get(server.placement.executor)
            return open_link(
                server.id.name,
                place,
                executor,
                patience,
                limit,
                hint,
                owner,
                server.placement,
            )

        def installed(place: Endpoint) -> AbstractAsyncContextManager[Link]:
            return self.packages.open(server, place, opened)

        async with self.credentials.open(server, endpoint, installed) as link:
            if scan is not None:
                scan.recognise(server, link.peer)
            if server.timeout is not None:
                link.patience = server.timeout
            yield link

    async def live(self, doors: Callable[[], Awaitable[None]]) -> None:
        """Run every room around the doors; leave when they do."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(tend(source, self._post)) for source in self.sources]
                rooms = (
                    self.pool.run(),
                    self.instances.run(),
                    self.relay.run(),
                    self._remember(),
                    self.credentials.run(),
                    self.packages.run(),
                    self.sites.sweep(self.board.post),
                    self.weights.run(self.pool.room.running),
                )
                tasks += [group.create_task(room) for room in rooms]
                await doors()
                for task in tasks:
                    task.cancel()
        finally:
            await self.logins.close()
            await self.sites.close()
            await self.local.close()
            self.history.flush()
            if self.database is not None:
                await asyncio.to_thread(self.database.close)


async def tend(source: Source, post: Callable[[Event], None]) -> None:
    """Run a source for ever: trouble becomes a problem on the picture, and a pause."""
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            await source.run(post)
            return
        except ToolyardError as error:
            problem = Problem("source-failed", str(error), error.hint, source.name)
        except Exception as error:
            log.exception("a source failed", extra={"source": source.name})
            text = f"source {source.name!r} failed: {error!r}"
            problem = Problem(
                "source-failed", text, "it is started again; please report this", source.name
            )
        post(SourceFailed(source.name, problem))
        pause = (
            FIRST_PAUSE
            if time.monotonic() - began > LONGEST_PAUSE
            else min(pause * 2, LONGEST_PAUSE)
        )
        await asyncio.sleep(pause)


def _others(board: Board, hub: Hub) -> Callable[[], Awaitable[bool]]:
    """Tells the bundled source whether others have servers, once all of them have reported."""
    seen = -1

    async def wait() -> bool:
        nonlocal seen
        while True:
            snapshot = await board.wait_after(seen)
            seen = snapshot.revision
            if hub.expected <= snapshot.sources.keys():
                own = ("bundled", "agents")  # what agents list themselves is no reason to go
                return any(id_.source not in own for id_ in snapshot.entries)

    return wait


def _bounds(settings: Settings) -> Bounds:
    bodies = settings.history_bodies == "on"
    return Bounds(settings.history_rows, settings.history_days, bodies)


def _rules(settings: Settings) -> Rules:
    return Rules(
        new=settings.pins_new,
        found=settings.pins_found == "on",
        launches=settings.pins_launch,
        lock=read_lock(settings.lock_file) if settings.frozen == "on" else None,
    )


def _budget(settings: Settings) -> Budget:
    evict = settings.budget == "evict"
    return Budget(settings.running_limit, settings.memory_limit << 20, evict)


def _exposure(settings: Settings) -> Exposure:
    return Exposure(
        separator=settings.separator,
        expose=settings.expose,
        pinned=frozenset(settings.pinned),
        page=settings.page_size,
    )
