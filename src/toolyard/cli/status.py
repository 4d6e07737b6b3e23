"""`status`, `list` and `refresh`: how the yard is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.control import CommandError, Control
from toolyard.cli.desk import Desk, config_option, json_option
from toolyard.cli.exits import Exit
from toolyard.cli.instances import show_instances
from toolyard.cli.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.model import Problem, Server

TITLES = ("server", "status", "transport", "tools", "prompts", "resources", "problem")


@click.command("status")
@json_option
@click.pass_obj
def status_command(desk: Desk) -> None:
    """Show the hub, its servers and their problems."""
    hub = desk.need_hub()
    status = {**hub.status(), **hub.instances()}
    desk.terminal.answer(status, lambda: _show_status(desk, status, hub.link()))


@click.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(desk: Desk) -> None:
    """List the servers.

    Asks the hub if one is running; else, or with --config, reads the file alone.
    """
    hub = None if desk.told_config else desk.find_hub()
    listed = _from_hub(hub) if hub else _from_file(desk)
    desk.terminal.answer(listed, lambda: _show_list(desk, listed))


@click.command("refresh")
@json_option
@click.pass_obj
def refresh_command(desk: Desk) -> None:
    """Ask every server again for what it offers."""
    answer = desk.need_hub().refresh()
    desk.terminal.answer(answer, lambda: desk.terminal.say("every server is being asked again"))


def _from_hub(hub: Control) -> dict[str, Any]:
    status = hub.status()
    return {"hub": status["url"], "servers": status["servers"], "problems": status["problems"]}


def _from_file(desk: Desk) -> dict[str, Any]:
    """The same keys, as far as a file can tell."""
    from toolyard.sources.bundled import example

    loaded = desk.servers_file.load()
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


def _show_status(desk: Desk, status: dict[str, Any], link: str) -> None:
    say = desk.terminal.say
    minutes, seconds = divmod(int(status["uptime_s"]), 60)
    hours, minutes = divmod(minutes, 60)
    url = desk.terminal.paint(status["url"], "green")
    say(f"toolyard {status['version']} at {url}, pid {status['pid']}")
    say(f"up for {hours}:{minutes:02}:{seconds:02}")
    if link:
        say(f"open it in a browser: {link}")
    say()
    _show_servers(desk, status["servers"])
    for server in status["servers"]:
        for text in server.get("asks", ()):
            desk.terminal.note(f"note: {server['alias']}: {clean(text)}")
    rows = status["instances"]
    own = [r for r in rows if r["mode"] == "per_session" or r.get("profile") or r["note"]]
    if own:
        desk.terminal.say()
        show_instances(desk, own)
    show_problems(desk, status["problems"])


def _show_list(desk: Desk, listed: dict[str, Any]) -> None:
    _show_servers(desk, listed["servers"])
    if listed["hub"] is None:
        desk.terminal.note("no hub was asked; this is what the file says")
    show_problems(desk, listed["problems"])


def _show_servers(desk: Desk, servers: list[dict[str, Any]]) -> None:
    if not servers:
        desk.terminal.say("there are no servers yet; add one with: toolyard add")
        return
    desk.terminal.table(TITLES, [_row(server) for server in servers])


def _row(server: dict[str, Any]) -> list[str]:
    counts = [str(server.get(each, "-")) for each in ("tools", "prompts", "resources")]
    state = server["status"] if server["enabled"] else "disabled"
    problem = (server.get("problem") or {}).get("text", "")
    return [server["alias"], state, server["transport"], *counts, problem]


def show_problems(desk: Desk, problems: list[dict[str, Any]]) -> None:
    """Show each problem with what to do about it."""
    for problem in problems:
        desk.terminal.say()
        desk.terminal.say(f"{desk.terminal.paint('problem:', 'red')} {clean(problem['text'])}")
        if subject := problem.get("subject"):
            desk.terminal.say(f"  where: {clean(subject)}")
        if hint := problem.get("hint"):
            desk.terminal.say(f"  hint:  {clean(hint)}")
