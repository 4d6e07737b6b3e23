"""`executor packages`: installed so that servers start without `npx`, `uvx` and `pipx`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.features.packages.installed import PackageRow
    from toolyard.features.packages.operations import PackageList

TITLES = ("package", "version", "servers", "since", "size", "name")
INSTALL_SECONDS = 620.0
"""Longer than the hub waits for an installer."""


@click.group("packages", invoke_without_command=True)
@json_option
@click.pass_context
def packages_command(ctx: click.Context) -> None:
    """Show what is installed so that servers start without npx, uvx and pipx.

    After the first start of a server by `npx`, `uvx` or `pipx run`, its package is installed in the
    background at the version of that day; from then on it is started without its launcher. It
    stays at that version until you update it. TOOLYARD_CACHE_PACKAGES=off switches this off.
    """
    if ctx.invoked_subcommand is None:
        context: CliContext = ctx.obj
        installed = _list(context)
        context.terminal.answer(installed, lambda: _show(context, installed))


@packages_command.command("update")
@click.argument("name", required=False)
@json_option
@click.pass_obj
def update_command(context: CliContext, name: str | None) -> None:
    """Install the newest version that a command allows, of one package or of all.

    NAME is that of a server, a package or an installation. Running servers are not restarted.
    """
    from toolyard.features.packages.operations import PackageName, update_package

    rows = _list(context).packages
    before = {row.name: row.version for row in rows}
    updated = []
    for chosen in [_choose(rows, name)] if name else list(before):
        context.terminal.note(f"installing {chosen}; this may take a while")
        order = PackageName(chosen)
        updated.append(context.need_hub().run(update_package, order, INSTALL_SECONDS))
    answer = {"updated": updated}
    context.terminal.answer(answer, lambda: _show_updated(context, updated, before))


@packages_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove a package; the next start uses the launcher and installs it again."""
    from toolyard.features.packages.operations import PackageName, remove_package

    chosen = _choose(_list(context).packages, name)
    context.run(remove_package, PackageName(chosen))
    answer = {"done": "removed", "package": chosen}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed '{chosen}'"))


def _list(context: CliContext) -> PackageList:
    from toolyard.features.packages.operations import list_packages
    from toolyard.operation import NoInput

    return context.run(list_packages, NoInput())


def _choose(rows: list[PackageRow], name: str) -> str:
    """The name of an installation, where that of its package says which; else the given one."""
    names = [row.name for row in rows if name == row.package]
    return names[0] if len(names) == 1 else name


def _show(context: CliContext, installed: PackageList) -> None:
    if not installed.on:
        context.terminal.note("this is switched off: every start is by the launcher")
    if not installed.packages:
        context.terminal.say(
            "nothing is installed; servers of npx, uvx and pipx are after their start"
        )
        return
    context.terminal.table(TITLES, [_cells(row) for row in installed.packages])
    for row in installed.packages:
        if row.fault:
            context.terminal.note(f"note: {row.name} is not used: {clean(row.fault)}")
    context.terminal.note("where each is: toolyard executor packages --json")


def _cells(row: PackageRow) -> list[str]:
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.since))
    size = f"{row.size / (1 << 20):.0f} MB"
    servers = ", ".join(row.servers) or "none"
    return [row.package, row.version, servers, since, size, row.name]


def _show_updated(context: CliContext, updated: list[PackageRow], before: dict[str, str]) -> None:
    if not updated:
        context.terminal.say("nothing is installed yet")
    for row in updated:
        old, new = before.get(row.name, ""), row.version
        change = f"{old} -> {new}" if old and old != new else new
        context.terminal.say(f"{row.package} {change}")
        if row.running:
            context.terminal.note("what runs goes on as it is; the next start takes this one")
