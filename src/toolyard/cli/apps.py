"""`app`: programs that run in several variants on known ports, and are found by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.core.apps import App
    from toolyard.records.folder import FolderRecords

TITLES = ("app", "variant", "port", "status", "tools", "misses", "port taken by")


@click.group("app")
@json_option
def app_command() -> None:
    """Define apps that run in variants on known ports.

    The hub looks at these ports and offers each variant that runs, without further configuration.
    """


@app_command.command("add")
@click.argument("name")
@click.option(
    "--variant", "variants", multiple=True, required=True, metavar="NAME=PORT", help="A variant."
)
@click.option("--match", metavar="TEXT", help="Part of what its MCP server calls itself.")
@click.option("--path", default="/mcp", show_default=True, help="The path of its MCP server.")
@click.option("--title", metavar="TEXT", help="What people call the app.")
@click.option("--force", is_flag=True, help="Replace your app of that name.")
@json_option
@click.pass_obj
def add_command(
    context: CliContext,
    name: str,
    variants: Sequence[str],
    match: str | None,
    path: str,
    title: str | None,
    force: bool,
) -> None:
    """Define an app.

    \b
    toolyard app add studio --variant dev=3400 --variant stable=3200 --match studio
    """
    from toolyard.core.apps import read_app
    from toolyard.stores.apps import completed

    records = _records(context)
    if name in records.names() and not force:
        text, hint = f"there is an app '{name}' already", "use --force to replace it"
        raise CommandError(text, hint, Exit.REFUSED)
    fields: dict[str, Any] = {"name": name, "path": path, "variants": _ports(variants)}
    fields |= {key: value for key, value in (("match", match), ("title", title)) if value}
    app = completed(records, read_app(fields))
    records.write(app.name, app)
    file = str(records.path(app.name))
    answer = {"done": "added", "app": name, "file": file}
    context.terminal.answer(answer, lambda: context.terminal.say(f"added app '{name}' in {file}"))


@app_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the apps and their variants.

    Asks the hub if one is running; else says what is defined.
    """
    hub = context.find_hub()
    apps = hub.status().get("apps", []) if hub else [_defined(app) for app in _apps(context)]
    rows = [_row(app, variant) for app in apps for variant in app["variants"]]
    answer = {"hub": hub.url if hub else None, "apps": apps}
    context.terminal.answer(answer, lambda: context.terminal.table(TITLES, rows))


@app_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Take away the definition of an app."""
    from toolyard.stores.apps import defined_apps, remove_app

    records = _records(context)
    if name not in records.names() and name in defined_apps(records).apps:
        prefix = f"TOOLYARD_{name.upper().replace('-', '_')}"
        hint = f"to have it left alone, set {prefix}_SCAN_ENABLED=false for the hub"
        raise CommandError(f"the app '{name}' comes with toolyard", hint, Exit.REFUSED)
    file = str(remove_app(records, name))
    answer = {"done": "removed", "app": name, "file": file}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed app '{name}'"))


def _records(context: CliContext) -> FolderRecords[App]:
    from toolyard.stores.apps import open_apps

    return open_apps(context.settings.apps_dir)


def _apps(context: CliContext) -> list[App]:
    from toolyard.stores.apps import defined_apps

    return list(defined_apps(_records(context)).apps.values())


def _ports(words: Sequence[str]) -> dict[str, object]:
    ports: dict[str, object] = {}
    for word in words:
        name, equals, port = word.partition("=")
        if not equals:
            raise click.UsageError(f"--variant must be given as NAME=PORT, not '{word}'")
        if name in ports:
            raise click.UsageError(f"there are two variants '{name}'")
        ports[name] = int(port) if port.isascii() and port.isdigit() else port
    return ports


def _defined(app: App) -> dict[str, Any]:
    variants = [{"name": name, "port": port} for name, port in app.variants]
    return {"name": app.name, "title": app.title, "enabled": app.enabled, "variants": variants}


def _row(app: dict[str, Any], variant: dict[str, Any]) -> list[str]:
    status = str(variant.get("status", "-")).replace("_", " ")
    counts = [str(variant.get(key, "-")) for key in ("tools", "misses")]
    taken = str(variant.get("conflict") or "")
    return [app["name"], variant["name"], str(variant["port"]), status, *counts, taken]
