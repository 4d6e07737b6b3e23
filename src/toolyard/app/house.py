"""Every room, built and wired."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cache, partial

from toolyard.app.fleet import Fleet
from toolyard.app.keeping import (
    back_up,
    close_state,
    follow_addresses,
    keep_sealed,
    keep_seen,
)
from toolyard.app.measures import bounds, limits, rules, view_key
from toolyard.app.tending import tend
from toolyard.board import Board
from toolyard.core.model import Remembered, Report
from toolyard.core.ports import Source
from toolyard.doors.http.gate import LOGGED_IN, LOGIN_FOR
from toolyard.executors.local import Local, LocalPatience
from toolyard.executors.local.listeners import read_ports
from toolyard.executors.local.usage import memory_of
from toolyard.executors.making import make_executor
from toolyard.feature import Feature
from toolyard.features import FEATURES
from toolyard.features.agents.resolutions import Resolutions
from toolyard.features.agents.store import open_agents
from toolyard.features.approvals.judging import Approvals
from toolyard.features.approvals.store import open_approvals
from toolyard.features.apps.answers import ScannedAppHubs
from toolyard.features.apps.source import Apps
from toolyard.features.apps.store import open_apps
from toolyard.features.auth.callback import PublicCallbacks
from toolyard.features.auth.client_document import CLIENT_DOCUMENT
from toolyard.features.auth.logins import Logins
from toolyard.features.auth.member_links import MemberLinks
from toolyard.features.auth.store import open_grants
from toolyard.features.catalog.source import with_link
from toolyard.features.catalog.store import Catalog, catalog_root
from toolyard.features.executors.reach import ExecutorReach
from toolyard.features.history.call_log import CallLog, open_calls
from toolyard.features.history.call_starts import CallStarts
from toolyard.features.hub.status import describe_yard
from toolyard.features.interceptors.making import Interceptors
from toolyard.features.limits.source import instance_limit
from toolyard.features.members.source import find_label, instances_of
from toolyard.features.packages.installed import Packages
from toolyard.features.packages.store import PackagesFolder
from toolyard.features.scan.announced import Announced
from toolyard.features.scan.sweep import find_again
from toolyard.features.secrets.store import open_secrets
from toolyard.features.sharing.asking import AskingServers
from toolyard.features.sharing.store import open_sharing
from toolyard.features.telemetry.opening import Telemetry
from toolyard.links.budget import RunningBudget
from toolyard.links.credentials import Credentials
from toolyard.links.departures import Departures
from toolyard.links.installing import AllowInstalling
from toolyard.links.instances import Instances
from toolyard.links.keeper import Keeper
from toolyard.links.kept_links import KeptLinks
from toolyard.links.opening import (
    Connect,
    FillIn,
    FindAgain,
    HearQuestions,
    Opener,
    Recognise,
)
from toolyard.links.patience import Patience
from toolyard.links.pool import LinkPool
from toolyard.links.probe import probe
from toolyard.links.projects import ProjectFolders
from toolyard.links.readiness import Readiness
from toolyard.links.sites import Sites
from toolyard.links.weights import Weights
from toolyard.records.addresses import AddressStore, open_addresses
from toolyard.records.audit_trail import AuditTrail
from toolyard.records.backups import Backups
from toolyard.records.follow import ChangeSignal, Follower
from toolyard.records.offer_cache import open_offer_cache
from toolyard.records.places import SEALED_KINDS, open_places
from toolyard.records.seals.logs import SealedLogs
from toolyard.records.secrets.expand import expand_server
from toolyard.records.secrets.member_secrets import open_member_secrets
from toolyard.records.state import DATABASE, open_state
from toolyard.relay.dismissals import Dismissals
from toolyard.relay.guards import GuardMaker
from toolyard.relay.handles import Handles
from toolyard.relay.relay import Relay
from toolyard.relay.waiting_everywhere import WaitingEverywhere
from toolyard.settings import OWN, Settings
from toolyard.wire.seal import Seal
from toolyard.yard import HubLife, Parts, Stopping, Yard


class House:
    """Every room, built and wired, not yet running."""

    def __init__(
        self,
        settings: Settings,
        patience: Patience,
        features: Sequence[Feature] = FEATURES,
        url: str = "",
        public: str = "",
        *,
        is_sole: bool = False,
    ) -> None:
        """Build a house.

        Args:
            url: The address of its doors for programs on this machine, if it has any.
            public: The same for everybody else.
            is_sole: No other house keeps its state where this one does.
        """
        self.settings = settings
        self.url = url
        self.public = public
        self.features = features
        self._patience = replace(
            patience,
            open=settings.start_timeout,
            call=settings.call_timeout,
            line=settings.queue_timeout,
            idle=settings.idle_timeout,
        )
        self.stopping = Stopping()
        self.follower = Follower()
        self.record_places = open_places(
            self.follower, settings.database, settings.database_schema, follows=True
        )
        self.fleet = Fleet(settings, self.record_places.shared, self.stopping, is_sole=is_sole)
        self._build_board()
        self._build_places()
        self._build_steps()
        self._build_links()
        self._build_logins()
        self._build_call_log()
        self._build_relay()
        self.announced = Announced(self.projects, self.follower)
        self._build_features()
        self.sources: list[Source] = [
            *self._shared_sources(),
            self.announced,
            *self.feature_sources,
        ]

    def _build_board(self) -> None:
        """Build the board, and the records of this machine that its first picture needs."""
        settings = self.settings
        self.state = open_state(settings.state_dir)
        self.sealed_logs = SealedLogs(
            settings.state_dir,
            settings.key,
            settings.lock_file,
            self.fleet.replica.id,
            is_shared=self.record_places.shared is not None,
        )
        self.database = self.state.database
        self.backups = Backups(settings.state_dir)
        self.offer_cache = open_offer_cache(self.record_places, settings.cache_dir / "known")
        store = open_approvals(self.record_places, self.database)
        # A lost file says nothing about what hubs share.
        trusts_first = self.state.is_whole or self.record_places.shared is not None
        self.approvals = Approvals(store, rules(settings, trusts_first))
        self.board = Board(stages=[self.offer_cache.remember, self.approvals.judge])
        if self.state.problem is not None:
            self.board.post(Report("database", problems=(self.state.problem,)))
        self.addresses = self._recall_addresses()

    def _build_places(self) -> None:
        """Build the places that start servers, and the limits of what those may take."""
        settings = self.settings
        logs = settings.state_dir / "log"
        fetch = max(LocalPatience().fetch, settings.install_timeout)
        patience = LocalPatience(fetch=fetch, hold=fetch)
        self.local = Local(logs, fetches=settings.cache_dir / "fetching", patience=patience)
        self.sites = Sites(
            self.local,
            lambda site: make_executor(site, self.fleet.replica, logs),
            lambda: self.board.snapshot.roster,
        )
        self.secrets = open_secrets(settings, self.record_places)
        self.member_secrets = open_member_secrets(
            self.record_places, settings.state_dir, settings.key
        )
        theirs = partial(self.member_secrets.look_up, self.secrets.look_up)
        self.expand = partial(expand_server, os.environ, self.secrets.look_up, theirs)
        self.packages = Packages(
            self.board,
            PackagesFolder(settings.cache_dir / "packages"),
            self.local,
            self.expand,
            settings.start_timeout,
            on=settings.cache_packages == "on",
        )
        self.weights = Weights(self.sites)
        self.budget = RunningBudget(
            limits(settings),
            memory=lambda pids: sum(memory_of(pids).values()),
            site=lambda name: self.board.snapshot.roster.sites.get(name),
            weight=self.weights.of,
        )

    def _build_steps(self) -> None:
        """Build the steps to a link: secrets, logins, apps, the catalog, known questions."""
        settings = self.settings
        self.sharing = open_sharing(self.record_places, self.database)
        self.asking = AskingServers(self.board, self.sharing, lambda: self.relay.folders)
        self.grants = open_grants(settings, self.record_places)
        self.credentials = Credentials(
            self.grants,
            self.secrets,
            self.member_secrets,
            KeptLinks(lambda: self.pool, lambda: self.instances),
            lambda: self.board.snapshot,
            self._credential_changes(),
            self._issuer,
        )
        self.apps = Apps(
            open_apps(self.record_places, settings.apps_dir),
            os.environ,
            probe,
            lambda id_, why, since: self.pool.replaced(id_, why, since),
        )
        root, approve = catalog_root(settings), self.approvals.approve_launch
        self.catalog = Catalog(root, approve=approve, places=self.record_places)

    @property
    def _issuer(self) -> str:
        """The issuer that can vouch for members elsewhere; empty if there is none."""
        return "" if self.settings.issuer == OWN else self.settings.issuer or ""

    def _credential_changes(self) -> ChangeSignal:
        """The changes of grants and secrets, wherever they are kept."""
        changes = self.follower.follow(
            self.grants.index,
            self.grants.member_index,
            self.secrets.index,
            self.member_secrets.path,
        )
        if self.record_places.shared is not None:
            self.record_places.shared.follow(SEALED_KINDS, changes)
        return changes

    def _build_links(self) -> None:
        """Build what opens links and holds them."""
        self.departures = Departures(read_ports)
        self.open = self._make_opener()
        self.pool = LinkPool(
            self.board,
            self.open,
            self._patience,
            budget=self.budget,
        )
        self.instances = Instances(
            self.board,
            self.pool,
            self.open,
            self._patience,
            self.settings.session_idle,
            self._instances_of,
        )

    def _instances_of(self, account: str) -> int:
        """The servers that may run for the sessions of an account; 0 for no limit of its own."""
        limits = (instances_of(self.yard, account), instance_limit(self.yard, account))
        return min((limit for limit in limits if limit), default=0)

    def _make_opener(self) -> Opener:
        """The way to every link, step by step."""
        return Opener(
            [
                *self.fleet.make_steps(self._patience, self.settings.server_message_limit),
                HearQuestions(self.asking.asked, self.asking.prepare),
                FillIn(self.expand, partial(with_link, self.catalog), self.credentials.look_for),
                FindAgain(find_again),
                Recognise(self.apps.admit, self.apps.recognise),
                self.credentials.log_in,
                self.packages.prefer_installed,
                self.departures.watch_over,
                AllowInstalling(self.settings.install_timeout),
            ],
            Connect(self.sites.get, self._patience, self.settings.server_message_limit),
        )

    def _build_logins(self) -> None:
        """Build the logins at servers, and the links by which members begin theirs."""
        public = self.settings.public
        self.callbacks = (
            PublicCallbacks(public + LOGGED_IN, public + CLIENT_DOCUMENT) if public else None
        )
        # Members come back to the hub's own address always: their browsers are told apart by it.
        self.member_callbacks = self.callbacks or PublicCallbacks(self.public + LOGGED_IN)
        self.logins = Logins(
            self.board,
            self.grants,
            self.secrets.look_up,
            self.callbacks,
            self.member_secrets,
            self._issuer,
            f"{self.public}/ui",
            self.member_callbacks,
        )
        self.member_links = MemberLinks(
            self.board,
            self.logins,
            self.grants,
            self.member_secrets,
            self.credentials.applied,
            self.credentials.catch_up,
            self.public + LOGIN_FOR,
            self._link_seal,
            lambda member: find_label(self.yard, member),
        )

    def _build_call_log(self) -> None:
        """Build what takes calls down."""
        rows = None
        if self.settings.history == "on":
            rows = open_calls(
                self.record_places, self.database, self.fleet.replica.id, self.sealed_logs.calls
            )
        starts = CallStarts(self.board, self.pool)
        self.call_log = CallLog(rows, bounds(self.settings), starts.find)
        self.telemetry = Telemetry(os.environ, self.fleet.replica.id)

    def _build_relay(self) -> None:
        """Build the relay, and what it waits for, resolves and dismisses."""
        expected = frozenset({"configured", "catalog", *self.apps.scans})
        self.readiness = Readiness(self.board, expected)
        self.projects = ProjectFolders()
        self._build_agents()
        self.guard_makers: list[GuardMaker] = []
        self.relay = Relay(
            self.board,
            self.pool,
            self.instances,
            view_key(self.settings),
            self.resolutions.given,
            self.call_log.record,
            ScannedAppHubs(self.apps, self.board, self.pool),
            lambda: describe_yard(self.yard),
            [tool for feature in self.features for tool in feature.load_tools()],
            self.fleet.make_notes(
                lambda: self.relay.subscriptions.sessions,
                lambda session, note: self.relay.takeover.renew(session, note),
            ),
            Handles(self.fleet.seal, self.fleet.peers),
            self.member_links,
            self.guard_makers,
            trace=self.telemetry.trace,
        )
        self.dismissals = Dismissals()
        self.dismissals.listen_servers(self.instances.end_members)
        self.dismissals.listen_memories(self.credentials.forget)
        self.dismissals.listen_to_accounts(self.instances.end_accounts)

    @cache  # noqa: B019 - a house lives as long as its process
    def _link_seal(self) -> Seal:
        """The seal of links for members; without a key, one that no other hub has."""
        return self.fleet.seal or Seal((secrets.token_urlsafe(32),))

    def _build_agents(self) -> None:
        """Build the records of agents, the plans made of them, and the executors of those."""
        self.agent_store = open_agents(self.record_places, self.database, self.sharing)
        self.reach = ExecutorReach(self.board, self.sites, self.url)
        self.resolutions = Resolutions(self.board, self.reach)

    def _own_parts(self) -> list[object]:
        """What was built before any feature, for features to build on."""
        parts: list[object] = [
            self.settings,
            self.stopping,
            self.follower,
            self.record_places,
            self.state,
            self.sealed_logs,
            AuditTrail(
                self.settings.state_dir / DATABASE,
                self.record_places.shared,
                self.database,
                self.sealed_logs.orders,
                self.fleet.replica.id,
            ),
            self.relay,
            WaitingEverywhere(self.relay.waiting, self.fleet.peers),
            self.dismissals,
            HubLife(self.public),
            self.fleet.known,
            self.pool,
            self.instances,
            self.credentials,
            self.open,
            self.local,
            self.readiness,
            self.sites,
            self.apps,
            self.announced,
            self.approvals,
            self.catalog,
            self.secrets,
            self.member_secrets,
            self.grants,
            self.logins,
            self.member_links,
            self.agent_store,
            self.reach,
            self.resolutions,
            self.packages,
            self.sharing,
            self.call_log,
            self.telemetry,
        ]
        if self.fleet.heartbeat is not None:
            parts.append(self.fleet.heartbeat)
        return parts

    def _build_features(self) -> None:
        """Add the parts of features, and their sources, whose first report stands at once."""
        self.yard = Yard(self.board, Parts(self._own_parts()))
        self.telemetry.observe(self.yard)
        for feature in self.features:
            for part in feature.make_parts(self.yard):
                self.yard.parts.add(part)
        for feature in self.features:
            self.guard_makers.extend(feature.make_guards(self.yard))
        self.pages = [page for feature in self.features for page in feature.make_pages(self.yard)]
        self.feature_sources = [
            source for feature in self.features for source in feature.make_sources(self.yard)
        ]
        for source in self.feature_sources:
            self.board.post(source.report)

    def _shared_sources(self) -> list[Source]:
        """The sources that follow the database that hubs share, and the hubs, if they do."""
        if self.record_places.shared is None or self.fleet.heartbeat is None:
            return []
        from toolyard.records.postgres.listening import SharedListener

        return [SharedListener(self.record_places.shared), self.fleet.heartbeat]

    def _sealing(self) -> list[Coroutine[None, None, None]]:
        """The room that seals anew what an older key sealed, where hubs share secrets."""
        if self.record_places.shared is None or self.fleet.seal is None:
            return []
        return [keep_sealed(self.record_places.shared, self.fleet.seal)]

    def _recall_addresses(self) -> AddressStore | None:
        """Read which addresses are whose, before any server lists one."""
        store = open_addresses(self.record_places, self.database)
        if store is not None:
            self.board.post(Remembered(store.kept))
        return store

    def _keepers(self) -> list[Keeper]:
        """The keepers of all servers, and of those that run apart."""
        apart = (instance.keeper for instance in self.instances)
        return [*self.pool.keepers.values(), *apart]

    async def live(self, doors: Callable[[], Awaitable[None]]) -> None:
        """Run every room around the doors; leave when they do."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(tend(source, self.board.post)) for source in self.sources
                ]
                rooms = (
                    self.follower.run(),
                    self.pool.run(),
                    self.instances.run(),
                    self.relay.run(),
                    keep_seen(self.board, self.offer_cache, self.addresses),
                    follow_addresses(self.board, self.addresses),
                    back_up(self.state, self.backups),
                    self.approvals.follow(self.board),
                    self.approvals.read_on(self.board),
                    self.credentials.run(),
                    *self._sealing(),
                    self.packages.run(),
                    self.fleet.sweep(self.sites, self.board.post),
                    self.fleet.hand_over(self._keepers),
                    self.weights.run(self.budget.running),
                    self.departures.run(),
                    self.yard.part(Interceptors).run(self.board),
                )
                tasks += [group.create_task(room) for room in rooms]
                await doors()
                for task in tasks:
                    task.cancel()
        finally:
            await self.logins.close()
            await self.asking.close()
            await self.sites.close()
            await self.local.close()
            self.call_log.flush()
            await self.telemetry.close()
            await asyncio.to_thread(close_state, self.state, self.backups)
            await self.fleet.close()
            if self.record_places.shared is not None:
                await asyncio.to_thread(self.record_places.shared.close)
