"""`add`, `remove`, `enable`, `disable`: the servers file, edited; the hub notices by itself."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from toolyard.console.context import CliContext, complete_servers, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.pairs import read_pairs
from toolyard.core.transports import TRANSPORTS, read_transport

SOURCE = "configured"
NOTICE = 2.0
"""Seconds; a hub that reads this file notices within one."""
PAUSE = 0.02

name_argument = click.argument("name", shell_complete=complete_servers)


@click.command("add")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARG]...]")
@click.option("--url", metavar="URL", help="The server's address, instead of a command.")
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A variable for the command.")
@click.option("-H", "--header", multiple=True, metavar="'K: V'", help="A header for the address.")
@click.option(
    "-t",
    "--transport",
    metavar="[stdio|http|sse]",
    callback=lambda _ctx, _param, spelled: spelled and read_transport(spelled),
    shell_complete=lambda _ctx, _param, begun: [t for t in TRANSPORTS if t.startswith(begun)],
    help="How to speak to it.",
)
@click.option("--cwd", metavar="DIR", help="Where the command runs.")
@click.option("--executor", metavar="NAME", help="The executor it runs on, if not this machine.")
@click.option("--image", metavar="IMAGE", help="The image it runs in, on that executor.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="For a call.")
@click.option("--disabled", is_flag=True, help="Write it down without using it.")
@click.option("--force", is_flag=True, help="Replace the server of that name.")
@config_option
@json_option
@click.pass_obj
def add_command(context: CliContext, /, name: str, force: bool, **said: Any) -> None:
    """Add a server: a command after --, an address with --url, or an image.

    \b
    toolyard add files -- npx -y @modelcontextprotocol/server-filesystem ~/projects
    toolyard add docs --url https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'
    toolyard add time --executor engine --image mcp/time
    """
    entry = _entry(**said)
    file = context.servers_file
    if not force and any(each.id.name == name for each in file.load().servers):
        text, hint = f"there is a server '{name}' already", "use --force to replace it"
        raise CommandError(text, hint, Exit.REFUSED)
    file.put(name, entry)
    _done(context, "added", name)
    if "command" in entry and not _is_found(entry):
        context.terminal.note(
            f"note: '{entry['command']}' is not found on the PATH; is it installed?"
        )


@click.command("remove")
@name_argument
@config_option
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Take a server out of the file."""
    context.servers_file.remove(name)
    _done(context, "removed", name)


@click.command("enable")
@name_argument
@config_option
@json_option
@click.pass_obj
def enable_command(context: CliContext, name: str) -> None:
    """Use a server again."""
    context.servers_file.set_enabled(name, True)
    _done(context, "enabled", name)


@click.command("disable")
@name_argument
@config_option
@json_option
@click.pass_obj
def disable_command(context: CliContext, name: str) -> None:
    """Keep a server in the file without using it."""
    context.servers_file.set_enabled(name, False)
    _done(context, "disabled", name)


def _done(context: CliContext, what: str, name: str) -> None:
    file = str(context.settings.config_file)
    answer = {"done": what, "server": name, "file": file}
    context.terminal.answer(answer, lambda: context.terminal.say(f"{what} '{name}' in {file}"))
    if what in ("added", "removed") and not is_noticed(context, name, what == "added"):
        context.terminal.note("note: the running hub has not noticed; does it read another file?")


def is_noticed(context: CliContext, name: str, wanted: bool) -> bool:
    """Wait until a running hub knows, so that the next command finds what this one did."""
    hub = context.find_hub()
    pause, deadline = threading.Event(), time.monotonic() + NOTICE
    while hub is not None:
        try:
            known = {each["name"] for each in hub.status()["servers"] if each["source"] == SOURCE}
        except CommandError:
            return True  # it is leaving, and reads the file when it comes back
        if (name in known) == wanted:
            return True
        if time.monotonic() > deadline:
            return False
        pause.wait(PAUSE)
    return True


def _entry(
    command: Sequence[str],
    url: str | None,
    env: Sequence[str],
    header: Sequence[str],
    transport: str | None,
    cwd: str | None,
    executor: str | None,
    image: str | None,
    timeout: float | None,
    disabled: bool,
) -> dict[str, Any]:
    entry: dict[str, Any]
    if (url and command) or not (url or command or image):
        raise click.UsageError("give a command after --, or an address with --url, and not both")
    if url:
        _refuse(env, "-e is for commands; an address takes -H")
        _refuse(cwd, "--cwd is for commands")
        _refuse(executor or image, "--executor is for commands; an address is where it is")
        _refuse(transport == "stdio", "an address is spoken to with -t http or -t sse")
        entry = {"type": transport or "http", "url": url}
        entry["headers"] = read_pairs(header, ":", "-H")
    else:
        _refuse(header, "-H is for addresses; a command takes -e")
        _refuse(transport in ("http", "sse"), f"-t {transport} needs --url")
        # Without a command, the image's own is run.
        entry = {"command": command[0], "args": list(command[1:])} if command else {}
        entry["env"] = read_pairs(env, "=", "-e")
        # A folder of another machine is none of ours.
        entry["cwd"] = os.path.abspath(os.path.expanduser(cwd)) if cwd and not executor else cwd
        _refuse(image and not executor, "--image needs --executor")
        entry["executor"] = {"name": executor, "image": image} if image else executor
    entry["timeout"] = int(timeout) if timeout and timeout.is_integer() else timeout
    entry["disabled"] = disabled
    return {key: value for key, value in entry.items() if value or key in ("command", "args")}


def _refuse(wrong: object, text: str) -> None:
    if wrong:
        raise click.UsageError(text)


def _is_found(entry: dict[str, Any]) -> bool:
    program = str(entry["command"])
    if "${" in program or "executor" in entry:
        return True  # the hub knows what it stands for, or where it is looked for
    base = Path(entry.get("cwd") or ".")
    return shutil.which(program) is not None or (base / program).exists()
