"""`app`: programs that run in several variants on known ports, and are found by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.core.appstatus import AppStatus, VariantStatus

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
@click.option("--match", metavar="TEXT", help="Part of the name that its MCP server gives.")
@click.option("--path", default="/mcp", show_default=True, help="The path of its MCP server.")
@click.option("--title", metavar="TEXT", help="Its display name.")
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
    from toolyard.features.apps.operations import PutApp, put_app

    order = PutApp(name, _ports(variants), title or "", match or "", path)
    order.app()  # raises, before anybody is asked, if it cannot be used
    file = context.settings.apps_dir / f"{name}.json"
    if file.exists() and not force:
        text, hint = f"there is an app '{name}' already", "use --force to replace it"
        raise CommandError(text, hint, Exit.REFUSED)
    context.run(put_app, order)
    answer = {"done": "added", "app": name, "file": str(file)}
    context.terminal.answer(answer, lambda: context.terminal.say(f"added app '{name}' in {file}"))


@app_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the apps and their variants.

    Asks the hub if one is running; otherwise shows the definitions.
    """
    from toolyard.features.apps.operations import list_apps
    from toolyard.operation import NoInput

    hub = context.find_hub()
    apps = context.run(list_apps, NoInput()).apps
    rows = [_row(app, variant) for app in apps for variant in app.variants]
    answer = {"hub": hub.url if hub else None, "apps": apps}
    context.terminal.answer(answer, lambda: context.terminal.table(TITLES, rows))


@app_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove the definition of an app."""
    from toolyard.features.apps.operations import AppName, remove_app

    context.run(remove_app, AppName(name))
    file = str(context.settings.apps_dir / f"{name}.json")
    answer = {"done": "removed", "app": name, "file": file}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed app '{name}'"))


def _ports(words: Sequence[str]) -> dict[str, int]:
    from toolyard.core.apps import check_port

    ports: dict[str, int] = {}
    for word in words:
        name, equals, port = word.partition("=")
        if not equals:
            raise click.UsageError(f"--variant must be given as NAME=PORT, not '{word}'")
        if name in ports:
            raise click.UsageError(f"there are two variants '{name}'")
        ports[name] = check_port(port)
    return ports


def _row(app: AppStatus, variant: VariantStatus) -> list[str]:
    # Before the first scan, and so without a hub, nobody knows more than the definition.
    states = [variant.status.replace("_", " "), str(variant.tools), str(variant.misses)]
    columns = ["-"] * len(states) if app.last_scan is None else states
    return [app.name, variant.name, str(variant.port), *columns, variant.conflict or ""]
