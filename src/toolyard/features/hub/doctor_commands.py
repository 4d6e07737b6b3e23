"""`doctor`: looks at everything a user may have got wrong, and says what to do."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from toolyard import __version__
from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean
from toolyard.core.counting import counted
from toolyard.core.errors import StoreError, ToolyardError
from toolyard.core.problems import ProblemCode

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.core.appstatus import AppStatus
    from toolyard.core.model import Command, Server
    from toolyard.core.rows import YardStatus
    from toolyard.features.clients.operations import KnownClientRow

SETTLE = 3.0
"""Seconds that servers which are just starting get; most trouble shows in far less."""
PAUSE = 0.05
HOW_FLAGS = {"as": "--agent", "profile": "--profile"}
"""The flags for the words in which a client's connection is told: `stdio with profile NAME`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    ok: bool
    text: str
    hint: str = ""
    code: str = ""
    subject: str = ""


@click.command("doctor")
@click.option(
    "--restore",
    "copy",
    is_flag=False,
    flag_value="",
    metavar="[DAY]",
    help="Put back a copy of the database: the newest, or that of a day.",
)
@click.option("--copies", is_flag=True, help="Show the days of which there are copies.")
@click.option("--anew", is_flag=True, help="Restore nothing, and accept what is there now.")
@config_option
@json_option
@click.pass_obj
def doctor_command(context: CliContext, copy: str | None, copies: bool, anew: bool) -> None:
    """Say what is wrong and what to do.

    Exits with 1 if anything is wrong. Works with and without a running hub.

    The hub's database holds what you approved, the lists of agents, policies and past calls. The
    hub keeps a copy for each of the last seven days on which it ran. --restore puts a copy back,
    keeps the present database aside, and restarts a running hub.

    \b
    toolyard doctor --restore
    toolyard doctor --restore 2026-01-31
    """
    from toolyard.features.hub.restoring import list_copies, restore

    if (copy is not None) + copies + anew > 1:
        raise click.UsageError("give one of --restore, --copies and --anew")
    if copies:
        list_copies(context)
    elif anew or copy is not None:
        restore(context, copy)
    else:
        _diagnose(context)


def _diagnose(context: CliContext) -> None:
    findings = list(dict.fromkeys(_examine(context)))
    wrong = [finding for finding in findings if not finding.ok]
    answer = {"ok": not wrong, "findings": findings}
    context.terminal.answer(answer, lambda: _show(context, findings))
    if wrong:
        raise click.exceptions.Exit(Exit.FAILED)


def _examine(context: CliContext) -> Iterator[Finding]:
    yield Finding(True, f"toolyard {__version__}")
    yield from _examine_places(context)
    if not context.told_config:
        yield from _examine_clients(context)
    hub = None if context.told_config else context.find_hub()
    if hub is None:
        if not context.told_config:
            yield Finding(True, "no hub is running; it starts with the first client")
            yield from _examine_state(context)
        yield from _examine_file(context)
        return
    try:
        status = _settled(hub)
    except ToolyardError as error:
        yield Finding(False, str(error), error.hint, ProblemCode.HUB_UNREACHABLE)
        yield from _examine_file(context)
        return
    yield from _examine_hub(status)


def _settled(hub: Control) -> YardStatus:
    """The yard, once no server is just starting; one that hangs is not waited for."""
    pause, deadline = threading.Event(), time.monotonic() + SETTLE
    while True:
        status = hub.status()
        busy = [server for server in status.servers if server.status in ("known", "starting")]
        if not any(server.enabled for server in busy) or time.monotonic() > deadline:
            return status
        pause.wait(PAUSE)


def _examine_places(context: CliContext) -> Iterator[Finding]:
    from toolyard.records.directories import make_private

    try:
        make_private(str(context.run_dir.path))
        yield Finding(True, f"the run directory {context.run_dir.path} is yours alone")
        yield Finding(True, f"clients attach to {context.run_dir.socket}")
        context.run_dir.token()
    except StoreError as error:
        yield Finding(False, str(error), error.hint, ProblemCode.RUN_DIR)


def _examine_clients(context: CliContext) -> Iterator[Finding]:
    """One finding for all clients whose entry leads nowhere any more."""
    from toolyard.features.clients.operations import ClientsOfProject, list_clients

    clients = context.run_here(list_clients, ClientsOfProject()).clients
    broken = [client for client in clients if client.connected and client.problem]
    if broken:
        orders = " && ".join(_connect_again(broken))
        text = "; ".join(client.problem for client in broken)
        files = ", ".join(client.file for client in broken)
        yield Finding(False, text, f"connect again: {orders}", ProblemCode.CLIENT_PROGRAM, files)


def _connect_again(clients: list[KnownClientRow]) -> Iterator[str]:
    """The commands that connect clients in the way they are connected."""
    names: dict[tuple[str, ...], list[str]] = {}
    for client in clients:
        *_, kind, name = ("", *client.how.split())
        flags: tuple[str, ...] = (HOW_FLAGS[kind], name) if kind in HOW_FLAGS else ()
        names.setdefault(flags, []).append(client.client)
    for flags, connected in names.items():
        yield " ".join(("toolyard connect", *connected, *flags))


def _examine_state(context: CliContext) -> Iterator[Finding]:
    """What a hub would say of the files it keeps."""
    from toolyard.features.tokens.store import open_tokens
    from toolyard.records.state import examine

    folder = context.settings.state_dir
    tokens = open_tokens(context.places, folder / "tokens.json").read()
    for problem in (examine(folder), *tokens.problems[:1]):
        if problem is not None:
            yield Finding(False, problem.text, problem.hint, problem.code, problem.subject)


def _examine_file(context: CliContext) -> Iterator[Finding]:
    from toolyard.features.servers.store import open_servers

    file = context.settings.config_file
    servers = open_servers(context.places, file)
    if servers.is_gone:
        hint = "add a server with: toolyard add"
        yield Finding(
            not context.told_config, f"there is no {file} yet", hint, ProblemCode.CONFIG_MISSING
        )
        return
    loaded = servers.load()
    for problem in loaded.problems:
        yield Finding(False, problem.text, problem.hint, problem.code, problem.subject)
    if loaded.readable:
        place = servers.place if context.settings.database else file
        yield Finding(True, f"{place} declares {counted(len(loaded.servers), 'server')}")
    for server in loaded.servers:
        if server.enabled:
            yield _examine_server(server)


def _examine_server(server: Server) -> Finding:
    from toolyard.core.model import Command

    name, problem = server.id.name, server.problem
    if problem is not None:
        return Finding(False, problem.text, problem.hint, problem.code, problem.subject)
    if isinstance(server.endpoint, Command) and not _can_start(server.endpoint):
        text = f"server '{name}': the program '{server.endpoint.argv[0]}' is not found"
        return Finding(
            False, text, "install it, or give its full path", ProblemCode.NOT_FOUND, str(server.id)
        )
    return Finding(True, f"server '{name}' can be tried")


def _can_start(command: Command) -> bool:
    program, env = command.argv[0], dict(command.env)
    if not program:
        return True  # its image names one
    if "${" in program or "${" in env.get("PATH", ""):
        return True  # only the hub knows what these stand for
    if command.cwd and os.path.dirname(program) and not os.path.isabs(program):
        return True
    return shutil.which(program, path=env.get("PATH")) is not None


def _examine_hub(status: YardStatus) -> Iterator[Finding]:
    yield Finding(True, f"a hub is running at {status.url} (pid {status.pid})")
    if status.version != __version__:
        text = f"the hub is of version {status.version}, this is {__version__}"
        yield Finding(False, text, "run: toolyard restart", ProblemCode.VERSION)
    for problem in status.problems:
        yield Finding(False, problem.text, problem.hint, problem.code, problem.subject)
    for server in status.servers:
        if server.enabled and not server.problem:
            tools = counted(server.tools, "tool") if server.state == "ready" else ""
            text = f"server '{server.alias}' is {server.state}"
            yield Finding(True, f"{text}, {tools}" if tools else text)
    for app in status.apps:
        yield from _examine_app(app)


def _examine_app(app: AppStatus) -> Iterator[Finding]:
    """The ports an app is looked for at, and whom it waits for; conflicts are problems already."""
    if not app.variants:
        yield Finding(True, f"app '{app.name}' is not scanned")
        return
    ports = ", ".join(str(variant.port) for variant in app.variants)
    text = f"app '{app.name}' looks at ports {ports} every {app.interval_ms} ms"
    yield Finding(True, f"{text}, last at {app.last_scan or 'no time yet'}")
    for variant in app.variants:
        name = f"app '{app.name}', variant '{variant.name}'"
        if variant.status == "reconnecting":
            yield Finding(True, f"{name}: reconnecting since {variant.since}")
        if variant.misses:
            yield Finding(True, f"{name}: missed {variant.misses} times in a row")


def _show(context: CliContext, findings: list[Finding]) -> None:
    terminal = context.terminal
    for finding in findings:
        mark = terminal.paint("ok   ", "green") if finding.ok else terminal.paint("wrong", "red")
        terminal.say(f"{mark}  {clean(finding.text)}")
        if finding.subject and not finding.ok:
            terminal.say(f"       where: {clean(finding.subject)}")
        if finding.hint and not finding.ok:
            terminal.say(f"       hint:  {terminal.spelling.fit(clean(finding.hint))}")
    count = sum(not finding.ok for finding in findings)
    terminal.say()
    terminal.say("no problems" if not count else f"{count} problem{'s' * (count != 1)}")
