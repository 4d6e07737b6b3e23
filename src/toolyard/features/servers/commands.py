"""`list`, `remove` and `server`: look at servers, switch them, start and stop them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, complete_servers, config_option, json_option
from toolyard.features.sharing.commands import probe_command

if TYPE_CHECKING:
    from toolyard.features.servers.details import ServerDetails

MARGIN = 10.0
"""Seconds beyond those a server has to start."""

name_argument = click.argument("name", shell_complete=complete_servers)


@click.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the servers.

    Asks the hub if one is running. Otherwise, or if --config names another file, reads only that
    file.
    """
    from toolyard.features.servers.operations import list_problems, list_servers
    from toolyard.features.servers.showing import show_servers
    from toolyard.operation import NoInput

    hub = context.hub_of_config
    servers = context.run(list_servers, NoInput()).servers
    problems = context.run(list_problems, NoInput()).problems

    def show() -> None:
        show_servers(context, servers, is_counted=hub is not None)
        if hub is None:
            context.terminal.note(f"note: {_why_unasked(context)}")
        for problem in problems:
            context.terminal.problem(problem.text, problem.hint, problem.subject)

    answer = {"hub": hub.url if hub else None, "servers": servers, "problems": problems}
    context.terminal.answer(answer, show)


def _why_unasked(context: CliContext) -> str:
    """The reason why a list comes from the file, and not from a hub."""
    running = "the running hub uses another file" if context.find_hub() else "no hub is running"
    settings = context.settings
    place = "the shared database" if settings.database else settings.config_file
    return f"{running}, so this list comes straight from {place}"


@click.command("remove")
@name_argument
@config_option
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Take a server out of the file."""
    from toolyard.features.servers.operations import ServerAlias, remove_server
    from toolyard.features.servers.writing import tell_written

    tell_written(context, "removed", name, context.run(remove_server, ServerAlias(name)))


@click.group("server")
@json_option
def server_command() -> None:
    """Show one server, enable or disable it, start or stop it."""


server_command.add_command(probe_command)


@server_command.command("show")
@name_argument
@json_option
@click.pass_obj
def show_command(context: CliContext, name: str) -> None:
    """Show how a server is started, how it is doing, and what it offers."""
    from toolyard.features.servers.operations import ServerAlias, get_server

    details = context.run(get_server, ServerAlias(name))
    context.terminal.answer(details, lambda: _show(context, details))


@server_command.command("enable")
@name_argument
@config_option
@json_option
@click.pass_obj
def enable_command(context: CliContext, name: str) -> None:
    """Use a server again."""
    from toolyard.features.servers.operations import ServerAlias, enable_server
    from toolyard.features.servers.writing import tell_written

    tell_written(context, "enabled", name, context.run(enable_server, ServerAlias(name)))


@server_command.command("disable")
@name_argument
@config_option
@json_option
@click.pass_obj
def disable_command(context: CliContext, name: str) -> None:
    """Stop using a server, and keep it in the file."""
    from toolyard.features.servers.operations import ServerAlias, disable_server
    from toolyard.features.servers.writing import tell_written

    tell_written(context, "disabled", name, context.run(disable_server, ServerAlias(name)))


@server_command.command("start")
@name_argument
@json_option
@click.pass_obj
def start_command(context: CliContext, name: str) -> None:
    """Start a server now, before a call needs it."""
    from toolyard.features.servers.operations import ServerAlias, start_server

    patience = context.settings.start_timeout + MARGIN
    context.need_hub().run(start_server, ServerAlias(name), patience)
    _tell_done(context, "started", name, f"'{name}' is ready")


@server_command.command("stop")
@name_argument
@json_option
@click.pass_obj
def stop_command(context: CliContext, name: str) -> None:
    """Let a server rest; the next call starts it again."""
    from toolyard.features.servers.operations import ServerAlias, stop_server

    context.need_hub().run(stop_server, ServerAlias(name))
    _tell_done(context, "stopped", name, f"'{name}' rests once no call is under way")


@server_command.command("restart")
@name_argument
@json_option
@click.pass_obj
def restart_command(context: CliContext, name: str) -> None:
    """Stop a server and start it again, whatever it is doing."""
    from toolyard.features.servers.operations import ServerAlias, restart_server

    patience = context.settings.start_timeout + MARGIN
    context.need_hub().run(restart_server, ServerAlias(name), patience)
    _tell_done(context, "restarted", name, f"'{name}' is ready")


@server_command.command("refresh")
@click.argument("name", default="", shell_complete=complete_servers)
@json_option
@click.pass_obj
def refresh_command(context: CliContext, name: str) -> None:
    """Ask a server again for what it offers; without NAME, every server."""
    from toolyard.features.servers.operations import (
        ServerAlias,
        refresh_server,
        refresh_servers,
    )
    from toolyard.operation import NoInput

    if name:
        context.need_hub().run(refresh_server, ServerAlias(name))
    else:
        context.need_hub().run(refresh_servers, NoInput())
    who = f"'{name}'" if name else "every server"
    _tell_done(context, "refreshing", name, f"{who} is being asked again")


def _tell_done(context: CliContext, what: str, name: str, text: str) -> None:
    answer = {"done": what} | ({"server": name} if name else {})
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _show(context: CliContext, details: ServerDetails) -> None:
    from toolyard.console.terminal import clean
    from toolyard.features.servers.showing import describe_lines

    for line in describe_lines(details):
        context.terminal.say(clean(line))
    if problem := details.problem:
        context.terminal.problem(problem.text, problem.hint, problem.subject)
