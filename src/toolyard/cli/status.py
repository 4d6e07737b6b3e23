"""`status`, `list` and `refresh`: how the yard is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.instances import show_instances
from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.model import Problem, Server

TITLES = ("server", "status", "transport", "tools", "prompts", "resources", "problem")


@click.command("status")
@json_option
@click.pass_obj
def status_command(context: CliContext) -> None:
    """Show the hub, its servers and their problems."""
    hub = context.need_hub()
    status = {**hub.status(), **hub.instances()}
    context.terminal.answer(status, lambda: _show_status(context, status, hub.link()))


@click.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the servers.

    Asks the hub if one is running; else, or with --config, reads the file alone.
    """
    hub = None if context.told_config else context.find_hub()
    listed = _from_hub(hub) if hub else _from_file(context)
    context.terminal.answer(listed, lambda: _show_list(context, listed))


@click.command("refresh")
@json_option
@click.pass_obj
def refresh_command(context: CliContext) -> None:
    """Ask every server again for what it offers."""
    answer = context.need_hub().refresh()
    context.terminal.answer(
        answer, lambda: context.terminal.say("every server is being asked again")
    )


def _from_hub(hub: Control) -> dict[str, Any]:
    status = hub.status()
    return {"hub": status["url"], "servers": status["servers"], "problems": status["problems"]}


def _from_file(context: CliContext) -> dict[str, Any]:
    """The same keys, as far as a file can tell."""
    from toolyard.sources.bundled import example

    loaded = context.servers_file.load()
    if not loaded.readable:
        first = loaded.problems[0]
        raise CommandError(first.text, first.hint, Exit.CONFIG)
    servers = loaded.servers or (example(),)
    problems = [_problem(each) for each in loaded.problems]
    return {"hub": None, "servers": [_declared(each) for each in servers], "problems": problems}


def _declared(server: Server) -> dict[str, Any]:
    from toolyard.core.model import Command

    endpoint = server.endpoint
    return {
        "name": server.id.name,
        "source": server.id.source,
        "alias": server.id.name,
        "title": server.title,
        "enabled": server.enabled,
        "status": "known",
        "transport": "stdio" if isinstance(endpoint, Command) else endpoint.kind,
        "problem": _problem(server.problem) if server.problem and server.enabled else None,
    }


def _problem(problem: Problem) -> dict[str, str]:
    return {
        "code": problem.code,
        "text": problem.text,
        "hint": problem.hint,
        "subject": problem.subject,
    }


def _show_status(context: CliContext, status: dict[str, Any], link: str) -> None:
    say = context.terminal.say
    minutes, seconds = divmod(int(status["uptime_s"]), 60)
    hours, minutes = divmod(minutes, 60)
    url = context.terminal.paint(status["url"], "green")
    say(f"toolyard {status['version']} at {url}, pid {status['pid']}")
    say(f"up for {hours}:{minutes:02}:{seconds:02}")
    if link:
        say(f"open it in a browser: {link}")
    say()
    _show_servers(context, status["servers"])
    for server in status["servers"]:
        for text in server.get("asks", ()):
            context.terminal.note(f"note: {server['alias']}: {clean(text)}")
    rows = status["instances"]
    own = [r for r in rows if r["mode"] == "per_session" or r.get("profile") or r["note"]]
    if own:
        context.terminal.say()
        show_instances(context, own)
    show_problems(context, status["problems"])


def _show_list(context: CliContext, listed: dict[str, Any]) -> None:
    _show_servers(context, listed["servers"])
    if listed["hub"] is None:
        context.terminal.note("no hub was asked; this is what the file says")
    show_problems(context, listed["problems"])


def _show_servers(context: CliContext, servers: list[dict[str, Any]]) -> None:
    if not servers:
        context.terminal.say("there are no servers yet; add one with: toolyard add")
        return
    context.terminal.table(TITLES, [_row(server) for server in servers])


def _row(server: dict[str, Any]) -> list[str]:
    counts = [str(server.get(each, "-")) for each in ("tools", "prompts", "resources")]
    state = server["status"] if server["enabled"] else "disabled"
    problem = (server.get("problem") or {}).get("text", "")
    return [server["alias"], state, server["transport"], *counts, problem]


def show_problems(context: CliContext, problems: list[dict[str, Any]]) -> None:
    """Show each problem with what to do about it."""
    for problem in problems:
        hint, subject = problem.get("hint", ""), problem.get("subject", "")
        context.terminal.problem(problem["text"], hint, subject)
