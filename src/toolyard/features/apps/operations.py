"""Questions and orders about apps: defined, taken away, looked for, and their programs started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

from toolyard.board import NOTICE_SECONDS
from toolyard.core.apps import MISSES, App, read_app
from toolyard.core.appstatus import AppStatus
from toolyard.core.errors import ConfigError
from toolyard.executors.local.detached import InstalledApp, find_installed, launch
from toolyard.features.apps.source import Apps
from toolyard.features.apps.status import Keepers, describe_app, describe_apps
from toolyard.links.pool import LinkPool
from toolyard.operation import Needs, NoInput, Ordered, operation
from toolyard.yard import Yard

TOP = "/api/v1/apps"
ONE = "/api/v1/apps/{name}"


class AppName(Struct, frozen=True):
    """The app that is meant."""

    name: str


class AppList(Struct, frozen=True):
    """All that is known of every app."""

    apps: list[AppStatus]


class PutApp(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An app: its variants and their ports, and how its MCP server is told from others."""

    name: str
    variants: dict[str, int]
    title: str = ""
    match: str = ""
    """Part of what its MCP server calls itself; its name, if nothing is said."""
    path: str = "/mcp"
    misses: int = MISSES
    """Scans in a row that must miss a variant until it leaves."""
    enabled: bool = True
    """It is looked for."""

    def app(self) -> App:
        """Return the app it describes.

        Raises:
            ConfigError: It cannot be used.
        """
        return read_app(msgspec.to_builtins(self))


class InstalledRow(Struct, frozen=True):
    """A program of an app that is on this machine, and what would start it."""

    label: str
    variant: str
    place: str
    command: list[str]


class InstalledList(Struct, frozen=True):
    """The programs of an app that are on this machine."""

    installed: list[InstalledRow]


class LaunchApp(Struct, frozen=True, forbid_unknown_fields=True):
    """Which of its programs to start, by label."""

    name: str
    label: str


@operation("GET", TOP, needs=Needs.FILES)
async def list_apps(yard: Yard, order: NoInput) -> AppList:
    """All apps."""
    return AppList(describe_apps(yard.part(Apps), yard.snapshot, _keepers(yard)))


@operation("GET", ONE, needs=Needs.FILES)
async def get_app(yard: Yard, order: AppName) -> AppStatus:
    """One app."""
    return describe_app(yard.part(Apps), order.name, yard.snapshot, _keepers(yard))


@operation("POST", f"{ONE}/scan")
async def scan_app(yard: Yard, order: AppName) -> AppStatus:
    """Look for it now."""
    await yard.part(Apps).scan(order.name).refresh()
    return describe_app(yard.part(Apps), order.name, yard.snapshot, _keepers(yard))


@operation("PUT", ONE, needs=Needs.FILES, errors=(422,))
async def put_app(yard: Yard, order: PutApp) -> Ordered:
    """Define an app."""
    apps = yard.part(Apps)
    app = await asyncio.to_thread(apps.records.put, order.app(), by=yard.caller)
    return Ordered(app.name, await _followed(yard, lambda: _scanned(apps, app.name) == app))


@operation("DELETE", ONE, needs=Needs.FILES, errors=(404, 409))
async def remove_app(yard: Yard, order: AppName) -> Ordered:
    """Take it away."""
    apps, name = yard.part(Apps), order.name
    before = _scanned(apps, name)
    await asyncio.to_thread(apps.records.remove, name, by=yard.caller)
    return Ordered(name, await _followed(yard, lambda: _scanned(apps, name) != before))


@operation("GET", f"{ONE}/installed", errors=(404,))
async def list_installed(yard: Yard, order: AppName) -> InstalledList:
    """Which of its programs are here."""
    return InstalledList([_row(program) for program in await _find(yard, order.name)])


@operation("POST", f"{ONE}/launch", errors=(404, 422, 502))
async def launch_app(yard: Yard, order: LaunchApp) -> InstalledRow:
    """Start one."""
    programs = await _find(yard, order.name)
    for program in programs:
        if program.install.label == order.label:
            await asyncio.to_thread(launch, program, yard.part(Apps).env)
            return _row(program)
    labels = ", ".join(program.install.label for program in programs) or "none"
    text = f"{order.label[:80]!r} of {order.name!r} is not installed"
    raise ConfigError(text, f"there are: {labels}")


def _keepers(yard: Yard) -> Keepers:
    return yard.part(LinkPool).keepers if yard.is_live else {}


def _scanned(apps: Apps, name: str) -> App | None:
    """The app as it is scanned for."""
    scan = apps.scans.get(name)
    return scan.watch.app if scan is not None else None


async def _followed(yard: Yard, holds: Callable[[], bool]) -> bool:
    """Wait until the scans are as ordered; definitions of apps are not on the picture."""
    if not yard.is_live:
        return False
    try:
        async with asyncio.timeout(NOTICE_SECONDS):
            while not holds():
                await yard.part(Apps).wait_followed()
    except TimeoutError:
        return False
    return True


async def _find(yard: Yard, name: str) -> tuple[InstalledApp, ...]:
    apps = yard.part(Apps)
    return await asyncio.to_thread(find_installed, apps.scan(name).watch.app, apps.env)


def _row(program: InstalledApp) -> InstalledRow:
    install = program.install
    return InstalledRow(install.label, install.variant, program.place, list(program.argv))
