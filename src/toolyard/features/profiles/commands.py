"""`profile`: named selections of servers and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

TITLES = ("profile", "allows", "hides", "pins", "renames", "title")
Fields = dict[str, Any]


@click.group("profile")
@json_option
def profile_command() -> None:
    """Select servers and tools for some clients, and show them in other words."""


@profile_command.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the profiles."""
    from toolyard.features.profiles.operations import list_profiles
    from toolyard.operation import NoInput

    rows = [_fields(row) for row in context.run(list_profiles, NoInput()).profiles]
    context.terminal.answer({"profiles": rows}, lambda: _show(context, rows))


@profile_command.command("show")
@click.argument("name")
@config_option
@json_option
@click.pass_obj
def show_command(context: CliContext, name: str) -> None:
    """Show what a profile says, and where clients find it."""
    row = {key: value for key, value in _read(context, name).items() if value}
    context.terminal.answer(row, lambda: _describe(context, row))


@profile_command.command("set")
@click.argument("name")
@click.option("--allow", multiple=True, metavar="WHAT", help="Show this, and what else is allowed.")
@click.option("--hide", multiple=True, metavar="WHAT", help="Do not show this.")
@click.option("--pin", multiple=True, metavar="TOOL", help="List this tool even with search.")
@click.option("--rename", multiple=True, metavar="TOOL=NAME", help="Call a tool otherwise.")
@click.option("--describe", multiple=True, metavar="TOOL=TEXT", help="Describe a tool otherwise.")
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A variable for its programs.")
@click.option("--separator", metavar="__|.|/", help="Put this between server and tool.")
@click.option("--expose", type=click.Choice(["all", "search"]), help="List all, or to search.")
@click.option("--title", metavar="TEXT", help="What it is for.")
@click.option("--fresh", is_flag=True, help="Keep nothing of what the profile says now.")
@config_option
@json_option
@click.pass_obj
def set_command(context: CliContext, /, name: str, fresh: bool, **flags: Any) -> None:
    """Write a profile; what is not named stays as it is.

    WHAT is a server (git), one of its tools (git/log), or a pattern ('git/*', '*/delete_*').

    \b
    toolyard profile set review --allow git --allow 'files/read_*' --hide git/push
    toolyard profile set review --rename git/log=history
    """
    from toolyard.features.profiles.operations import put_profile

    fields = {} if fresh else _present(context, name)
    fields |= _changes(**flags)
    noticed = context.run(put_profile, _order(name, fields)).noticed
    answer = {"done": "written", "profile": name, "path": f"/mcp/p/{name}", "noticed": noticed}
    context.terminal.answer(answer, lambda: _done(context, name))


@profile_command.command("remove")
@click.argument("name")
@config_option
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Delete a profile; clients that use it see nothing any more."""
    from toolyard.features.profiles.operations import ProfileName, remove_profile

    context.run(remove_profile, ProfileName(name))
    answer = {"done": "removed", "profile": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed the profile '{name}'"))


def _read(context: CliContext, name: str) -> Fields:
    from toolyard.features.profiles.operations import ProfileName, get_profile

    return _fields(context.run(get_profile, ProfileName(name)))


def _fields(row: Any) -> Fields:
    import msgspec

    fields: Fields = msgspec.to_builtins(row)
    return fields


def _present(context: CliContext, name: str) -> Fields:
    """The fields of a profile as it is; none if there is no such profile."""
    from toolyard.core.errors import UnknownNameError

    try:
        row = _read(context, name)
    except UnknownNameError:
        return {}
    except CommandError as error:
        if error.exit is not Exit.NOT_FOUND:
            raise
        return {}
    return {key: value for key, value in row.items() if key not in ("name", "path")}


def _order(name: str, fields: Fields) -> Any:
    """The order that writes a profile.

    Raises:
        ConfigError: It cannot be used; that is known before anybody is asked.
    """
    import msgspec

    from toolyard.core.profiles import Profile
    from toolyard.features.profiles.model import read_profile, write_profile
    from toolyard.features.profiles.operations import PutProfile

    profile: Profile = read_profile(name, fields)
    return msgspec.convert({"name": name, **write_profile(profile)}, PutProfile)


def _changes(
    allow: Sequence[str],
    hide: Sequence[str],
    pin: Sequence[str],
    rename: Sequence[str],
    describe: Sequence[str],
    env: Sequence[str],
    separator: str | None,
    expose: str | None,
    title: str | None,
) -> Fields:
    """The fields that flags name."""
    fields: Fields = {"allow": list(allow), "hide": list(hide), "pin": list(pin)}
    fields["rename"] = _pairs(rename, "--rename")
    fields["describe"] = _pairs(describe, "--describe")
    fields["environment"] = _pairs(env, "-e")
    settings = {"separator": separator, "expose": expose}
    fields["settings"] = {key: value for key, value in settings.items() if value is not None}
    fields["title"] = title
    return {key: value for key, value in fields.items() if value}


def _pairs(words: Sequence[str], flag: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise click.UsageError(f"{flag} must be given as NAME=VALUE")
        pairs[key] = value
    return pairs


def _show(context: CliContext, rows: list[Fields]) -> None:
    if not rows:
        context.terminal.say("there are no profiles yet; write one with: toolyard profile set")
        return
    keys = ("allow", "hide", "pin", "rename")
    cells = [
        [row["name"], *(", ".join(row.get(key) or ()) for key in keys), row.get("title") or ""]
        for row in rows
    ]
    context.terminal.table(TITLES, cells)


def _describe(context: CliContext, row: Fields) -> None:
    import json

    context.terminal.say(json.dumps(row, indent=2, ensure_ascii=False))


def _done(context: CliContext, name: str) -> None:
    context.terminal.say(f"wrote the profile '{name}'")
    context.terminal.say(f"clients use it with: toolyard mcp --profile {name}")
    context.terminal.say(f"or over HTTP at the path /mcp/p/{name}")
