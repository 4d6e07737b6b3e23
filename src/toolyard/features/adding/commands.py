"""`add`: write a server down."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.pairs import read_pairs
from toolyard.console.starting import wait_option
from toolyard.core.server_entries import read_entry
from toolyard.core.transports import TRANSPORTS, read_transport

if TYPE_CHECKING:
    from toolyard.core.jsontypes import JsonObject
    from toolyard.features.adding.sources import SourceOptions


class AddCommand(click.Command):
    """A command that knows when its own options were mixed up with those of a server's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; name the `--` that is missing.

        Raises:
            CommandError: A flag of the server's command stands before any `--`.
        """
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name, program = self._before(ctx, words, error.option_name)
            if not program:
                raise
            raise _without_dashes(error.option_name, name, program) from error

    def _before(self, ctx: click.Context, words: list[str], option: str) -> tuple[str, str]:
        """The name and the program that stand before an unknown option."""
        at = next((i for i, word in enumerate(words) if word.startswith(option)), 0)
        if "--" in words[:at]:
            return "", ""
        given, _, _ = self.make_parser(ctx).parse_args(words[:at])
        name, command = given.get("name"), given.get("command")
        return (str(name), command[0]) if isinstance(command, tuple) and command else ("", "")


@click.command("add", cls=AddCommand)
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
@click.option("--project", metavar="DIR", help="Offer it to clients that run in this folder only.")
@click.option("--disabled", is_flag=True, help="Add it without using it yet.")
@click.option("--force", is_flag=True, help="Replace the server of that name.")
@click.option(
    "--value", "values", multiple=True, metavar="K=V", help="A value that a link or bundle needs."
)
@click.option("--plain", is_flag=True, help="Leave tokens and passwords in the servers file.")
@click.option("--yes", "-y", is_flag=True, help="Add a link, JSON or a bundle without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be added, and stop.")
@wait_option
@config_option
@json_option
@click.pass_obj
def add_command(
    context: CliContext,
    /,
    name: str,
    force: bool,
    values: tuple[str, ...],
    plain: bool,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    **flags: Any,
) -> None:
    """Add a server: a command after --, an address, an image, a link or a bundle.

    A link is an install link of VS Code or Cursor, or the address of a server. With - in its place,
    JSON is read from stdin. A bundle is an .mcpb file. All of these are shown and confirmed first,
    and a name before them replaces theirs.

    Tokens and passwords move into your keyring (or into private files if there is none), and the
    servers file refers to them; --plain leaves them in it.

    Waits until the running hub has started it, and says what it offers or what is wrong.

    \b
    toolyard add files -- npx -y @modelcontextprotocol/server-filesystem ~/projects
    toolyard add docs --url https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'
    toolyard add time --executor engine --image mcp/time
    toolyard add 'cursor://anysphere.cursor-deeplink/mcp/install?name=...'
    toolyard add - < server.json
    toolyard add ~/Downloads/weather.mcpb
    """
    from toolyard.features.adding.sources import SourceOptions, find_source

    if source := find_source(name, flags["command"]):
        _refuse_flags(flags)
        options = SourceOptions(values, flags["disabled"], force, plain, yes, dry_run, no_wait)
        _add_source(context, source, options)
        return
    if yes and flags["command"]:
        # It is a flag of the server's own command, as in `npx -y`.
        raise _without_dashes("-y", name, flags["command"][0])
    _refuse(values, "--value is for links and bundles; a command takes -e, and an address -H")
    entry = _entry(**flags)
    read_entry(entry)  # so that what is wrong is known before anybody is asked
    if dry_run:
        _show_only(context, name)
    else:
        _add_entry(context, name, entry, SourceOptions(force=force, plain=plain, no_wait=no_wait))


def _add_source(context: CliContext, source: tuple[str, str], options: SourceOptions) -> None:
    """Add what a link, JSON or a bundle describes."""
    from toolyard.features.adding.sources import add_source, is_bundle

    if is_bundle(source[1]):
        from toolyard.features.adding.bundle_source import add_bundle

        add_bundle(context, *source, options)
    else:
        add_source(context, *source, options)


def _show_only(context: CliContext, name: str) -> None:
    from toolyard.features.servers.writing import servers_file, servers_place

    answer = {"dry_run": True, "server": name, "file": servers_file(context)}
    text = f"would add '{name}' to {servers_place(context)}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _add_entry(context: CliContext, name: str, entry: JsonObject, options: SourceOptions) -> None:
    from toolyard.features.adding.values import move_secrets
    from toolyard.features.servers.writing import put_server, refuse_written, tell_added

    if not options.force:
        refuse_written(context, name, "use --force to replace it")
    written = entry if options.plain else move_secrets(context, name, entry)
    ordered = put_server(context, name, written, force=options.force)
    if "command" in entry and not _is_found(entry):
        context.terminal.note(
            f"note: '{entry['command']}' is not found on the PATH; is it installed?"
        )
    tell_added(context, name, ordered, wait=not options.no_wait)


def _without_dashes(option: str, name: str, program: str) -> CommandError:
    """The error for an option that belongs to the server's command."""
    text = f"'{option}' is not an option for adding a command"
    hint = f"put -- before the server's command: toolyard add {name} -- {program} ..."
    return CommandError(text, hint, Exit.USAGE)


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
    project: str | None,
    disabled: bool,
) -> JsonObject:
    """The entry that flags describe."""
    entry: JsonObject
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
    entry["project"] = os.path.abspath(os.path.expanduser(project)) if project else None
    entry["disabled"] = disabled
    return {key: value for key, value in entry.items() if value or key in ("command", "args")}


def _refuse_flags(flags: Mapping[str, object]) -> None:
    """Refuse the flags that say what a link says itself."""
    for flag in (
        "url",
        "env",
        "header",
        "transport",
        "cwd",
        "executor",
        "image",
        "timeout",
        "project",
    ):
        _refuse(flags[flag], f"--{flag} does not go with a link; add it, then: toolyard edit NAME")


def _refuse(wrong: object, text: str) -> None:
    if wrong:
        raise click.UsageError(text)


def _is_found(entry: Mapping[str, object]) -> bool:
    program = str(entry["command"])
    if "${" in program or "executor" in entry:
        return True  # the hub knows what it stands for, or where it is looked for
    base = Path(str(entry.get("cwd") or "."))
    return shutil.which(program) is not None or (base / program).exists()
