"""`logs`: what the hub or a server wrote."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import click

from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import visible

LINES = 200
PAUSE = 0.25
BLOCK = 256 * 1024
"""How much of a log's end is looked at, beyond what is asked for per line."""


@click.command("logs")
@click.argument("name", default="", shell_complete=complete_servers)
@click.option("-f", "--follow", is_flag=True, help="Keep printing what is written.")
@click.option(
    "-n", "--lines", type=click.IntRange(0), default=LINES, show_default=True, metavar="N"
)
@json_option
@click.pass_obj
def logs_command(context: CliContext, name: str, follow: bool, lines: int) -> None:
    """Show what the hub or a server wrote.

    With NAME the last lines of that server's stderr, without it the log of a hub in the
    background; a hub in the foreground writes to its terminal.
    """
    if name:
        found = context.need_hub().log(name, follow)
    else:
        found = _hub_log(context, follow)
    if follow:
        _follow(context, found)
    else:
        last = list(deque(found, maxlen=lines))
        context.terminal.answer({"lines": last}, lambda: _show(context, last))


def _show(context: CliContext, lines: list[str]) -> None:
    for line in lines:
        context.terminal.say(visible(line))


def _follow(context: CliContext, lines: Iterator[str]) -> None:
    import json

    for line in lines:
        print(json.dumps({"line": line}) if context.terminal.as_json else visible(line), flush=True)


def _hub_log(context: CliContext, follow: bool) -> Iterator[str]:
    log = context.run_dir.log
    _refuse_journal(context)
    if not log.is_file():
        if context.run_dir.read() is None:
            raise CommandError("no hub is running", "run: toolyard up --detach", Exit.NO_HUB)
        raise CommandError("this hub writes to its own terminal", "look there", Exit.NOT_FOUND)
    return _read(log, follow)


def _refuse_journal(context: CliContext) -> None:
    """Say where the log is, if systemd keeps it: the file would be that of an earlier hub.

    Raises:
        CommandError: It is there.
    """
    from toolyard.features.hub.life_commands import find_service

    service = find_service(context)
    if service is not None and service.name == "systemd":
        text = "a service runs the hub, so its log is in the journal"
        raise CommandError(text, f"run: {service.log_hint}", Exit.NOT_FOUND)


def _read(log: Path, follow: bool) -> Iterator[str]:
    """Give the lines at the end of a file, then those that are added, also after it was renewed."""
    pause = threading.Event()
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - BLOCK))
        if file.tell():
            file.readline()  # the rest of a line that began before
        rest = b""
        while True:
            rest += file.readline()
            if rest.endswith(b"\n"):
                yield rest.decode("utf-8", "replace").rstrip("\r\n")
                rest = b""
            elif not follow:
                break
            else:
                pause.wait(PAUSE)
    if rest:
        yield rest.decode("utf-8", "replace")
