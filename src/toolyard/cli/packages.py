"""`packages`: what was installed so that servers start without `npx` and `uvx`."""

from __future__ import annotations

import time
from typing import Any

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.terminal import clean

TITLES = ("package", "version", "servers", "since", "size", "name")
INSTALL_SECONDS = 620.0
"""Longer than the hub waits for an installer."""
Row = dict[str, Any]


@click.group("packages", invoke_without_command=True)
@json_option
@click.pass_context
def packages_command(ctx: click.Context) -> None:
    """Show what is installed so that servers start without npx and uvx.

    After the first start of a server by `npx` or `uvx`, its package is installed in the
    background at the version of that day; from then on it is started without its launcher. It
    stays at that version until you update it. TOOLYARD_CACHE_PACKAGES=off switches this off.
    """
    if ctx.invoked_subcommand is None:
        context: CliContext = ctx.obj
        found = context.need_hub().packages()
        context.terminal.answer(found, lambda: _show(context, found))


@packages_command.command("update")
@click.argument("name", required=False)
@json_option
@click.pass_obj
def update_command(context: CliContext, name: str | None) -> None:
    """Install the newest version that a command allows; all of them without a name.

    NAME is that of a server, a package or an installation. Running servers go on as they are.
    """
    hub = context.need_hub()
    rows = hub.packages()["packages"]
    before = {row["name"]: row["version"] for row in rows}
    wanted = [_chosen(rows, name)] if name else list(before)
    made = []
    for each in wanted:
        context.terminal.note(f"installing {each}; this may take a while")
        made.append(hub.update_package(each, INSTALL_SECONDS))
    context.terminal.answer({"updated": made}, lambda: _show_updated(context, made, before))


@packages_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove what is installed; the next start is by the launcher, and installs it again."""
    hub = context.need_hub()
    chosen = _chosen(hub.packages()["packages"], name)
    hub.remove_package(chosen)
    answer = {"done": "removed", "package": chosen}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed '{chosen}'"))


def _chosen(rows: list[Row], name: str) -> str:
    """The name of an installation, where that of its package says which; else what was said."""
    found = [str(row["name"]) for row in rows if name == row["package"]]
    return found[0] if len(found) == 1 else name


def _show(context: CliContext, found: Row) -> None:
    if not found["on"]:
        context.terminal.note("this is switched off: every start is by the launcher")
    if not found["packages"]:
        context.terminal.say("nothing is installed; servers of npx and uvx are after their start")
        return
    context.terminal.table(TITLES, [_cells(row) for row in found["packages"]])
    for row in found["packages"]:
        if row["fault"]:
            context.terminal.note(f"note: {row['name']} is not used: {clean(row['fault'])}")
    context.terminal.note("where each is: toolyard packages --json")


def _cells(row: Row) -> list[str]:
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["since"]))
    size = f"{row['size'] / (1 << 20):.0f} MB"
    servers = ", ".join(row["servers"]) or "none"
    return [row["package"], row["version"], servers, since, size, row["name"]]


def _show_updated(context: CliContext, made: list[Row], before: dict[str, str]) -> None:
    if not made:
        context.terminal.say("nothing is installed yet")
    for row in made:
        old, new = before.get(row["name"], ""), row["version"]
        way = f"{old} -> {new}" if old and old != new else new
        context.terminal.say(f"{row['package']} {way}")
        if row["running"]:
            context.terminal.note("what runs goes on as it is; the next start takes this one")
