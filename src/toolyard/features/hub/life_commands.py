"""`up`, `down`, `restart`: the life of the hub."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from toolyard.console.context import (
    CliContext,
    Decorated,
    config_option,
    json_option,
    setting_option,
)
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.problems import ProblemCode

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.console.supervisor import Supervisor
    from toolyard.core.model import Problem
    from toolyard.core.opened_hub import OpenedHub
    from toolyard.core.rows import ProblemRow
    from toolyard.records.runfile import HubState

STOP_PATIENCE = 20.0
"""Seconds; the hub itself gives its servers 15."""
PAUSE = 0.05
PATHS = ("lock_file", "tls_cert", "tls_key")
"""The flags that name files."""
LOUD = frozenset({ProblemCode.PORT_MOVED, ProblemCode.CLEAR_TEXT})
"""Problems of the address itself, which are said at the start."""
NEXT = (
    ("toolyard setup", "move the servers of your clients into the hub, and connect the clients"),
    ("toolyard add NAME -- COMMAND", "add another server"),
)
"""The commands that people need once a hub runs."""
ELSEWHERE = "Next, in another terminal:"
"""The words before them where the hub occupies this one."""

_FLAGS = (
    setting_option("host", "--host", "Listen on this address instead of 127.0.0.1.", "ADDRESS"),
    setting_option("port", "--port", "Listen on this port and no other.", "N"),
    setting_option("public", "--public", "The address that others reach the hub at.", "URL"),
    setting_option("issuer", "--issuer", "Let people in who log in there, or here.", "URL|own"),
    setting_option("tls_cert", "--tls-cert", "Encrypt with this certificate (PEM).", "FILE"),
    setting_option("tls_key", "--tls-key", "The key of that certificate.", "FILE"),
    setting_option("expose", "--expose", "List all tools, or only those to search.", "all|search"),
    setting_option("separator", "--separator", "Put this between alias and tool.", "__|.|/|none"),
    setting_option("pinned", "--pin", "List this tool even with search.", "TOOL", multiple=True),
    setting_option(
        "allowed_hosts", "--allow-host", "Accept this Host too.", "NAME:PORT", multiple=True
    ),
    setting_option(
        "allowed_origins", "--allow-origin", "Accept this Origin too.", "URL", multiple=True
    ),
    setting_option(
        "frozen", "--frozen", "Hold all that differs from the lock file.", "", flag_value="on"
    ),
    setting_option("lock_file", "--lock", "The lock file (default: ./toolyard.lock).", "FILE"),
    setting_option("log_level", "--log-level", "Lowest level to log.", "debug|info|warning|error"),
)


def up_options(command: Decorated) -> Decorated:
    """Add the flags that a hub can be started with."""
    for option in reversed((config_option, *_FLAGS)):
        command = option(command)
    return json_option(command)


@click.command("up")
@up_options
@click.option("--detach", "-d", is_flag=True, help="Start it in the background and return.")
@click.pass_obj
def up_command(context: CliContext, detach: bool) -> None:
    """Start the hub.

    It runs until Ctrl-C or `toolyard down`. There is one hub per user.
    """
    settle_flags(context)
    if detach:
        _detach(context)
        return
    from toolyard.records.runfile import AlreadyRunningError

    state = context.run_dir.read()
    if state is not None:
        raise AlreadyRunningError(state)
    _remember(context)

    # In a thread, because a terminal that takes nothing more must not hold up the hub.
    assert context.serve is not None  # the command line's own entry gives it
    context.serve(
        context.settings,
        lambda hub: threading.Thread(target=_tell, args=(context, hub, ELSEWHERE)).start(),
    )


@click.command("down")
@json_option
@click.pass_obj
def down_command(context: CliContext) -> None:
    """Stop the hub and everything it started."""
    state = stop_running(context)
    if state is None:
        raise CommandError("no hub is running", "there is nothing to stop", Exit.NO_HUB)
    gone = {"stopped": True, "pid": state.pid}
    context.terminal.answer(
        gone, lambda: context.terminal.say(f"stopped the hub at {state.address}")
    )


@click.command("restart")
@up_options
@click.pass_obj
def restart_command(context: CliContext) -> None:
    """Stop the hub and start it again in the background.

    Without flags it gets those it had. The hub of a service is started by the service again.
    """
    has_flags = bool(context.flags)
    if not has_flags:
        context.flags.update(recall_flags())
    settle_flags(context)
    service = find_service(context)
    if service is not None and has_flags:
        text = "a service runs the hub, with flags of its own"
        raise CommandError(text, "give it others with: toolyard service install", Exit.REFUSED)
    stop_running(context, comes_back=True)
    if service is None:
        _detach(context)
    else:
        from toolyard.console.supervisor import start_supervised

        _announce(context, start_supervised(service, context.run_dir.read).address)


def find_service(context: CliContext) -> Supervisor | None:
    """The supervisor that runs the hub; None if none does."""
    from toolyard.console.supervisor import find_supervisor

    state, supervisor = context.run_dir.read(), find_supervisor()
    return supervisor if state is not None and supervisor.runs(state.pid) else None


def settle_flags(context: CliContext) -> None:
    """Make the flags fit for a hub that is started elsewhere, and check the file they name."""
    _settle_paths(context)
    _check_config(context)


def _settle_paths(context: CliContext) -> None:
    """Name files in full: a hub in the background, or restarted, is somewhere else."""
    if context.flags.get("frozen"):
        context.flags.setdefault("lock_file", "toolyard.lock")
    for name in PATHS:
        if path := context.flags.get(name):
            context.flags[name] = os.path.abspath(os.path.expanduser(str(path)))


def _check_config(context: CliContext) -> None:
    """A file that was named must be there: a slip of the pen is no wish for no servers.

    And it must be the user's own: a hub without its servers is not what was asked for.
    """
    from toolyard.records.ownership import refuse_shared

    if not context.told_config:
        return
    if context.settings.database:
        raise CommandError(
            "servers are kept in the database, so no file of servers is read",
            "leave --config out, or unset TOOLYARD_DATABASE",
            Exit.CONFIG,
        )
    if not context.settings.config_file.is_file():
        raise CommandError(
            f"there is no file '{context.settings.config_file}'",
            "correct the path after --config, or make the file with: toolyard add",
            Exit.CONFIG,
        )
    refuse_shared(str(context.settings.config_file))


def _detach(context: CliContext) -> None:
    from toolyard.console.background import start_until
    from toolyard.console.flags import as_words

    running = context.run_dir.read()
    if running is not None:
        context.terminal.note("a hub is already running; it was left as it is")
        _announce(context, running.address)
        return
    flags = as_words(context.flags)
    running = start_until(str(context.run_dir.path), flags, context.run_dir.read)
    _announce(context, running.address)


def _announce(context: CliContext, url: str) -> None:
    """Say where a hub is that runs in a process of its own."""
    from toolyard.core.opened_hub import OpenedHub

    hub = context.find_hub()
    _tell(context, OpenedHub(url, find_link(hub) if hub else ""), "Next:")
    if hub:
        _warn(context, _find_problems(hub))


def _tell(context: CliContext, hub: OpenedHub, lead: str) -> None:
    """Say where the hub is, what to do next, and what is wrong with its address."""
    from toolyard.features.clients.ours import own_entry

    url, entry = hub.url, {"mcpServers": {"toolyard": own_entry(context.hub_settings)}}
    answer = {"url": url, "mcp": f"{url}/mcp", "link": hub.link, "client": entry}
    context.terminal.answer(answer, lambda: _welcome(context, url, hub.link, entry, lead))
    sys.stdout.flush()
    _warn(context, hub.problems)


def find_link(hub: Control) -> str:
    """Return a link that opens the hub's page in a browser, once; empty if the hub has none."""
    from toolyard.features.hub.operations import make_link
    from toolyard.operation import NoInput

    try:
        return hub.run(make_link, NoInput()).link
    except CommandError:
        return ""  # nobody should miss the rest of an answer for the want of it


def _find_problems(hub: Control) -> list[ProblemRow]:
    """Return what is wrong with a hub; nothing if it is too busy to say so."""
    try:
        return hub.status().problems
    except CommandError:
        return []


def _warn(context: CliContext, problems: Iterable[Problem | ProblemRow]) -> None:
    """Say what is wrong with where the hub is, so that nobody can miss it."""
    for problem in problems:
        if problem.code in LOUD:
            mark = context.terminal.paint("warning:", "yellow", sys.stderr)
            context.terminal.note(f"{mark} {problem.text}{_held_by(context, problem.code)}")
            context.terminal.note(f"hint: {problem.hint}")


def _held_by(context: CliContext, code: str) -> str:
    """The program that has the port, where the system tells."""
    from toolyard.console.holder import find_holder

    holder = find_holder(context.settings.port) if code == ProblemCode.PORT_MOVED else ""
    return f"; it is held by {holder}" if holder else ""


def _welcome(
    context: CliContext, url: str, link: str, entry: Mapping[str, object], lead: str
) -> None:
    from toolyard.installation import fleeting_note

    say, fit = context.terminal.say, context.terminal.spelling.fit
    say(f"toolyard is running at {context.terminal.paint(url, 'green')}")
    if link:
        say(f"open it in a browser:  {link}")
    say()
    say(lead)
    width = max(len(fit(command)) for command, _ in NEXT)
    for command, purpose in NEXT:
        say(f"  {context.terminal.paint(fit(command).ljust(width), 'cyan')}  # {purpose}")
    say()
    say("Or paste this where a client keeps its MCP servers:")
    say()
    say(json.dumps(entry, indent=2))
    say()
    source = (
        "$TOOLYARD_TOKEN"
        if context.settings.token
        else f"the token in {context.run_dir.path}/token"
    )
    say(f"Over HTTP, clients use {url}/mcp with the header")
    say(f"Authorization: Bearer followed by {source}.")
    if fleeting := fleeting_note():
        context.terminal.note(f"note: {fleeting}")


def stop_running(context: CliContext, *, comes_back: bool = False) -> HubState | None:
    """Stop the hub and wait until its process is gone; return what it was."""
    from toolyard.features.hub.operations import StopOrder, stop_hub

    state = context.run_dir.read()
    if state is None:
        return None
    try:
        context.need_hub().run(stop_hub, StopOrder(comes_back))
    except CommandError:
        # It does not listen any more; that process is still ours to end.
        if state.is_alive:
            os.kill(state.pid, signal.SIGTERM)
    patience = STOP_PATIENCE + float(state.variables.get("TOOLYARD_DRAIN_DELAY") or 0)
    pause, deadline = threading.Event(), time.monotonic() + patience
    while state.is_alive:
        if time.monotonic() > deadline:
            text = f"the hub (pid {state.pid}) did not stop within {patience:g} s"
            raise CommandError(text, f"look into {context.run_dir.log}", Exit.TIMEOUT)
        pause.wait(PAUSE)
    return state


def _remember(context: CliContext) -> None:
    """Keep the flags for a restart."""
    from toolyard.console.flags import remember
    from toolyard.core.errors import StoreError

    flags = {name: value for name, value in context.flags.items() if name != "config_file"}
    if context.told_config:
        flags["config_file"] = str(context.settings.config_file)
    try:
        remember(str(context.run_dir.path), flags)
    except StoreError as error:
        context.terminal.note(f"note: {error}; a restart will not know these flags")


def recall_flags() -> dict[str, object]:
    """Return the flags that the hub was last started with."""
    from toolyard.console.flags import recall
    from toolyard.settings import read_settings

    # Not the context's settings: those must not be settled before these flags are known.
    return recall(str(read_settings({}, os.environ).runtime_dir))
