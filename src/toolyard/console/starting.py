"""Waits for the first start of a server that was just added, and tells how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext
from toolyard.console.exits import Exit
from toolyard.console.interrupts import Interrupts

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.core.rows import ServerRow

PAUSE = 0.1
MARGIN = 10.0
"""Seconds beyond those the hub gives a start."""
SETTLED = ("ready", "idle", "failing")

wait_option = click.option("--no-wait", is_flag=True, help="Do not wait until it is ready.")


def follow_start(context: CliContext, server: str, start: Callable[[], object]) -> ServerRow | None:
    """Show how a server starts, `name@source`, until it is ready or fails; return its last state.

    Nothing is waited for without a hub, or if the hub does not show the server. Ctrl-C ends the
    waiting alone. `start` is called if the server would rest until its first call, because what it
    offers is on file.
    """
    hub = context.hub_of_config
    if hub is None:
        context.terminal.note("note: no hub is running; start one with: toolyard up --detach")
        return None
    try:
        with Interrupts() as interrupts:
            return _follow(context, hub, server, start, interrupts)
    except KeyboardInterrupt:
        context.terminal.progress("")
        name = server.rpartition("@")[0]
        context.terminal.note(f"stopped waiting; '{name}' stays added and goes on starting")
        raise click.exceptions.Exit(Exit.INTERRUPTED) from None
    finally:
        context.terminal.progress("")


def started(row: ServerRow | None) -> dict[str, Any]:
    """Return how a start ended, for programs; nothing if none was waited for."""
    import msgspec

    if row is None:
        return {}
    return {"status": row.status, "tools": row.tools, "problem": msgspec.to_builtins(row.problem)}


def tell_start(context: CliContext, row: ServerRow | None) -> None:
    """Tell a person how a start ended, and end the command likewise.

    Raises:
        Exit: The server fails, or is not ready yet.
    """
    if row is None or not row.enabled:
        return
    if not context.terminal.as_json:
        _show(context, row)
    if not _is_settled(row):
        raise click.exceptions.Exit(Exit.TIMEOUT)
    if row.status == "failing" or _is_failing_again(row):
        raise click.exceptions.Exit(Exit.FAILED)


def _show(context: CliContext, row: ServerRow) -> None:
    terminal, problem = context.terminal, row.problem
    if row.status in ("ready", "idle"):
        terminal.say(f"'{row.alias}' is {terminal.word('ready')}, {_count(row)}")
    elif problem is None:
        terminal.note(f"'{row.alias}' is still {row.status}; look again with: toolyard list")
    if problem is not None:
        terminal.problem(problem.text, problem.hint)


def _follow(
    context: CliContext,
    hub: Control,
    server: str,
    start: Callable[[], object],
    interrupts: Interrupts,
) -> ServerRow | None:
    began = time.monotonic()
    end = began + max(context.settings.start_timeout, context.settings.install_timeout) + MARGIN
    is_asked = False
    while True:
        row = _find(hub, server)
        now = time.monotonic()
        if row is None or _is_settled(row) or now > end:
            return row
        if row.status == "known" and row.tools and not is_asked:
            is_asked = True
            start()
        status = "starting" if row.status == "known" else row.status
        context.terminal.progress(f"{row.alias}: {status}, {now - began:.0f} s")
        interrupts.pause(PAUSE)


def _find(hub: Control, server: str) -> ServerRow | None:
    rows = hub.status().servers
    return next((row for row in rows if f"{row.name}@{row.source}" == server), None)


def _is_settled(row: ServerRow) -> bool:
    """True if nothing more is to come by itself."""
    is_stuck = row.status == "known" and row.problem is not None
    return not row.enabled or row.status in SETTLED or is_stuck or _is_failing_again(row)


def _is_failing_again(row: ServerRow) -> bool:
    """True if it failed since it was added, and is tried once more."""
    return row.status == "starting" and row.problem is not None


def _count(row: ServerRow) -> str:
    counts = ((row.tools, "tool"), (row.prompts, "prompt"), (row.resources, "resource"))
    shown = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n or word == "tool"]
    return ", ".join(shown)
