"""`activate`, `deactivate`: wake a server, or let it rest."""

from __future__ import annotations

import click

from toolyard.console.context import CliContext, complete_servers, json_option

MARGIN = 10.0
"""Seconds the hub gets beyond its own limit, so that it is the one to say so."""

one_server = click.argument("name", shell_complete=complete_servers)


@click.command("activate")
@one_server
@json_option
@click.pass_obj
def activate_command(context: CliContext, name: str) -> None:
    """Start a server now, before a call needs it."""
    hub = context.need_hub()
    hub.order(name, "activate", context.settings.start_timeout + MARGIN)
    answer = {"done": "activated", "server": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"'{name}' is ready"))


@click.command("deactivate")
@one_server
@json_option
@click.pass_obj
def deactivate_command(context: CliContext, name: str) -> None:
    """Let a server rest; the next call starts it again."""
    context.need_hub().order(name, "deactivate", MARGIN)
    answer = {"done": "deactivated", "server": name}
    text = f"'{name}' rests once no call is under way"
    context.terminal.answer(answer, lambda: context.terminal.say(text))
