"""`profile`: named selections of servers and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from msgspec import Struct

    from toolyard.features.profiles.model import ProfileFields
    from toolyard.features.profiles.operations import ProfileRow, PutProfile

TITLES = ("profile", "allows", "hides", "pins", "renames", "title")


@click.group("profile")
@json_option
def profile_command() -> None:
    """Select servers and tools for some clients, and reword them."""


@profile_command.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the profiles."""
    from toolyard.features.profiles.operations import list_profiles
    from toolyard.operation import NoInput

    rows = context.run(list_profiles, NoInput()).profiles
    context.terminal.answer({"profiles": rows}, lambda: _show(context, rows))


@profile_command.command("show")
@click.argument("name")
@config_option
@json_option
@click.pass_obj
def show_command(context: CliContext, name: str) -> None:
    """Show what a profile says, and where clients find it."""
    row = _read(context, name)
    context.terminal.answer(row, lambda: _describe(context, row))


@profile_command.command("set")
@click.argument("name")
@click.option("--allow", multiple=True, metavar="WHAT", help="Show this, and what else is allowed.")
@click.option("--hide", multiple=True, metavar="WHAT", help="Do not show this.")
@click.option("--pin", multiple=True, metavar="TOOL", help="List this tool even with search.")
@click.option("--rename", multiple=True, metavar="TOOL=NAME", help="Rename a tool.")
@click.option(
    "--describe", multiple=True, metavar="TOOL=TEXT", help="Replace a tool's description."
)
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A variable for its programs.")
@click.option("--separator", metavar="__|.|/", help="Put this between server and tool.")
@click.option("--expose", type=click.Choice(["all", "search"]), help="List all, or to search.")
@click.option("--title", metavar="TEXT", help="What it is for.")
@click.option("--fresh", is_flag=True, help="Start from an empty profile.")
@config_option
@json_option
@click.pass_obj
def set_command(context: CliContext, /, name: str, fresh: bool, **flags: Any) -> None:
    """Write a profile; what you do not name stays as it is.

    WHAT is a server (git), one of its tools (git/log), or a pattern ('git/*', '*/delete_*').

    \b
    toolyard profile set review --allow git --allow 'files/read_*' --hide git/push
    toolyard profile set review --rename git/log=history
    """
    from toolyard.features.profiles.model import ProfileFields
    from toolyard.features.profiles.operations import put_profile

    present = ProfileFields() if fresh else _present(context, name)
    fields = _joined(present, _named(**flags))
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


def _read(context: CliContext, name: str) -> ProfileRow:
    from toolyard.features.profiles.operations import ProfileName, get_profile

    return context.run(get_profile, ProfileName(name))


def _present(context: CliContext, name: str) -> ProfileFields:
    """The fields of a profile as it is; none if there is no such profile."""
    from toolyard.core.errors import UnknownNameError
    from toolyard.features.profiles.model import ProfileFields

    try:
        return _read(context, name).fields()
    except UnknownNameError:
        return ProfileFields()
    except CommandError as error:
        if error.exit is not Exit.NOT_FOUND:
            raise
        return ProfileFields()


def _joined(present: ProfileFields, named: ProfileFields) -> ProfileFields:
    """The fields that flags name, and all others as they are."""
    from msgspec.structs import replace

    settings = replace(present.settings, **_changes(named.settings))
    return replace(present, **{**_changes(named), "settings": settings})


def _changes(named: Struct) -> dict[str, Any]:
    """The fields that are not what they usually are."""
    from msgspec.structs import asdict

    usual = asdict(type(named)())
    return {key: value for key, value in asdict(named).items() if value != usual[key]}


def _order(name: str, fields: ProfileFields) -> PutProfile:
    """The order that writes a profile.

    Raises:
        ConfigError: It cannot be used; that is known before anybody is asked.
    """
    import msgspec

    from toolyard.features.profiles.model import read_profile
    from toolyard.features.profiles.operations import PutProfile

    return PutProfile.of(read_profile(name, msgspec.to_builtins(fields)))


def _named(
    allow: Sequence[str],
    hide: Sequence[str],
    pin: Sequence[str],
    rename: Sequence[str],
    describe: Sequence[str],
    env: Sequence[str],
    separator: str | None,
    expose: str | None,
    title: str | None,
) -> ProfileFields:
    """The fields that flags name."""
    from msgspec import UNSET

    from toolyard.features.profiles.model import ProfileFields, ProfileSettings

    # What cannot be a separator is refused when the order is made.
    settings = ProfileSettings(cast("Any", separator or UNSET), cast("Any", expose or UNSET))
    return ProfileFields(
        title=title or "",
        allow=list(allow),
        hide=list(hide),
        pin=list(pin),
        rename=_pairs(rename, "--rename"),
        describe=_pairs(describe, "--describe"),
        environment=_pairs(env, "-e"),
        settings=settings,
    )


def _pairs(words: Sequence[str], flag: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise click.UsageError(f"{flag} must be given as NAME=VALUE")
        pairs[key] = value
    return pairs


def _show(context: CliContext, rows: list[ProfileRow]) -> None:
    if not rows:
        context.terminal.say("there are no profiles yet; write one with: toolyard profile set")
        return
    cells = []
    for row in rows:
        lists = (row.allow, row.hide, row.pin, row.rename)
        cells.append([row.name, *(", ".join(names) for names in lists), row.title])
    context.terminal.table(TITLES, cells)


def _describe(context: CliContext, row: ProfileRow) -> None:
    import json

    import msgspec

    fields = {key: value for key, value in msgspec.to_builtins(row).items() if value}
    context.terminal.say(json.dumps(fields, indent=2, ensure_ascii=False))


def _done(context: CliContext, name: str) -> None:
    context.terminal.say(f"wrote the profile '{name}'")
    context.terminal.say(f"clients use it with: toolyard mcp --profile {name}")
    context.terminal.say(f"or over HTTP at the path /mcp/p/{name}")
