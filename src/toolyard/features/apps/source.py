"""The source that keeps one scan for every app that is defined, and follows the definitions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from toolyard.core.apps import App
from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Peer, Report, Server
from toolyard.core.names import quoted
from toolyard.core.watches import settle
from toolyard.features.apps.scanner import Probe, Replaced, Scan
from toolyard.features.apps.store import AppRecords, DefinedApps, defined_apps, open_apps
from toolyard.links.probe import probe
from toolyard.records.places import RecordPlaces
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "apps"

Post = Callable[[Report], None]


def parts(yard: Yard) -> Iterable[object]:
    """The apps of the user's folder and ours; a hub has them already, for its links."""
    if Apps not in yard.parts:
        records = open_apps(yard.part(RecordPlaces), yard.part(Settings).apps_dir)
        yield Apps(records, os.environ, probe, _ignore_replaced)


def sources(yard: Yard) -> Sequence[Apps]:
    """The source that runs the scan of every app."""
    return [yard.part(Apps)]


def _ignore_replaced(*_: object) -> None:
    """Nothing is linked where no hub runs."""


class Apps:
    """Starts a scan for each app and ends it when the app is taken away.

    Its own report has the problems of definitions; the servers are on the reports of the scans.
    Replicas share the definitions, and each scans: its ports are those of its own machine, and say
    nothing about those of another.
    """

    def __init__(
        self,
        records: AppRecords,
        env: Mapping[str, str],
        probe: Probe,
        replaced: Replaced,
    ) -> None:
        self.records = records
        """The user's definitions."""
        self.env = env
        self._probe = probe
        self._replaced = replaced
        self._defined = defined_apps(records)
        self._followed = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.scans = {name: self._scan(app) for name, app in self._defined.apps.items()}
        """The scan of every app, by its name."""

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    @property
    def report(self) -> Report:
        """The problems of definitions."""
        return Report(SOURCE, problems=self._defined.kept.problems)

    @property
    def own(self) -> frozenset[str]:
        """The names of those that the user defined."""
        return frozenset(self._defined.kept.versions)

    def scan(self, name: str) -> Scan:
        """The scan of an app.

        Raises:
            UnknownNameError: There is no such app.
        """
        if name not in self.scans:
            names = ", ".join(self.scans) or "none"
            raise UnknownNameError(f"unknown app {quoted(name)}", f"there are: {names}")
        return self.scans[name]

    async def run(self, post: Post) -> None:
        """Keep the scans running, and follow the definitions."""
        self._tasks = {}
        async with asyncio.TaskGroup() as group:
            post(self.report)
            for scan in self.scans.values():
                self._start(scan, group, post)
            while True:
                await self.records.changed(self._defined.kept.revision)
                self._defined = await asyncio.to_thread(defined_apps, self.records)
                self._follow(group, post)

    def _follow(self, group: asyncio.TaskGroup, post: Post) -> None:
        apps = self._with_last_good(self._defined)
        for name, scan in list(self.scans.items()):
            if apps.get(name) != scan.watch.app:
                self._stop(name, post)
        for name, app in apps.items():
            if name not in self.scans:
                self.scans[name] = scan = self._scan(app)
                self._start(scan, group, post)
        post(self.report)
        self._followed.set()
        self._followed = asyncio.Event()

    async def wait_followed(self) -> None:
        """Wait until the definitions have been read anew."""
        await self._followed.wait()

    def admit(self, server: Server) -> None:
        """See that a link to a variant may be opened; other servers are no matter of an app.

        Raises:
            StartError: The port is somebody else's by now.
        """
        scan = self.scans.get(server.id.source)
        if scan is not None:
            scan.admit(server)

    def recognise(self, server: Server, peer: Peer) -> None:
        """See that who answers for a variant is the app.

        Raises:
            StartError: It is not.
        """
        scan = self.scans.get(server.id.source)
        if scan is not None:
            scan.recognise(server, peer)

    def _with_last_good(self, defined: DefinedApps) -> dict[str, App]:
        """A definition that cannot be read just now stands as it was: a slip must end no link."""
        broken = defined.kept.troubles.keys() & self.scans.keys()
        return defined.apps | {name: self.scans[name].watch.app for name in broken}

    def _scan(self, app: App) -> Scan:
        watch, problems = settle(app, self.env)
        return Scan(watch, problems, self._probe, self._replaced)

    def _start(self, scan: Scan, group: asyncio.TaskGroup, post: Post) -> None:
        self._tasks[scan.name] = group.create_task(scan.run(post), name=f"scan {scan.name}")

    def _stop(self, name: str, post: Post) -> None:
        del self.scans[name]
        self._tasks.pop(name).cancel()
        post(Report(name))
