"""`profile`: named selections of servers and tools, through the hub if one is running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.control import CommandError
from toolyard.cli.desk import Desk, config_option, json_option
from toolyard.cli.exits import Exit

if TYPE_CHECKING:
    from toolyard.stores.profiles import ProfilesFolder

TITLES = ("profile", "allows", "hides", "pins", "renames", "title")
Said = dict[str, Any]


@click.group("profile")
@json_option
def profile_command() -> None:
    """Select servers and tools for some clients, and show them in other words."""


@profile_command.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(desk: Desk) -> None:
    """List the profiles."""
    hub = None if desk.told_config else desk.find_hub()
    rows = hub.profiles()["profiles"] if hub else _from_folder(desk)
    desk.terminal.answer({"profiles": rows}, lambda: _show(desk, rows))


@profile_command.command("show")
@click.argument("name")
@config_option
@json_option
@click.pass_obj
def show_command(desk: Desk, name: str) -> None:
    """Show what a profile says, and where clients find it."""
    row = _read(desk, name)
    desk.terminal.answer(row, lambda: _describe(desk, row))


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
def set_command(desk: Desk, /, name: str, fresh: bool, **told: Any) -> None:
    """Write a profile; what is not named stays as it is.

    WHAT is a server (git), one of its tools (git/log), or a pattern ('git/*', '*/delete_*').

    \b
    toolyard profile set review --allow git --allow 'files/read_*' --hide git/push
    toolyard profile set review --rename git/log=history
    """
    said = {} if fresh else _present(desk, name)
    said |= _told(**told)
    noticed = _write(desk, name, said)
    answer = {"done": "written", "profile": name, "path": f"/mcp/p/{name}", "noticed": noticed}
    desk.terminal.answer(answer, lambda: _done(desk, name))


@profile_command.command("remove")
@click.argument("name")
@config_option
@json_option
@click.pass_obj
def remove_command(desk: Desk, name: str) -> None:
    """Delete a profile; clients that use it see nothing any more."""
    hub = None if desk.told_config else desk.find_hub()
    if hub:
        hub.remove_profile(name)
    else:
        _folder(desk).remove(name)
    answer = {"done": "removed", "profile": name}
    desk.terminal.answer(answer, lambda: desk.terminal.say(f"removed the profile '{name}'"))


def _folder(desk: Desk) -> ProfilesFolder:
    from toolyard.stores.profiles import ProfilesFolder

    return ProfilesFolder(desk.settings.config_file.parent / "profiles")


def _from_folder(desk: Desk) -> list[Said]:
    loaded = _folder(desk).load()
    for problem in loaded.problems:
        desk.terminal.note(f"note: {problem.text}")
    return [_row(each) for each in loaded.profiles]


def _row(profile: Any) -> Said:
    from toolyard.core.profiles import write_profile

    return {"name": profile.name, "path": f"/mcp/p/{profile.name}", **write_profile(profile)}


def _read(desk: Desk, name: str) -> Said:
    hub = None if desk.told_config else desk.find_hub()
    row = hub.profile(name) if hub else _row(_folder(desk).get(name))
    return {key: value for key, value in row.items() if value}


def _present(desk: Desk, name: str) -> Said:
    """What a profile says now; nothing if there is none."""
    from toolyard.core.errors import UnknownNameError

    try:
        row = _read(desk, name)
    except UnknownNameError:
        return {}
    except CommandError as error:
        if error.exit is not Exit.NOT_FOUND:
            raise
        return {}
    return {key: value for key, value in row.items() if key not in ("name", "path")}


def _told(
    allow: Sequence[str],
    hide: Sequence[str],
    pin: Sequence[str],
    rename: Sequence[str],
    describe: Sequence[str],
    env: Sequence[str],
    separator: str | None,
    expose: str | None,
    title: str | None,
) -> Said:
    said: Said = {"allow": list(allow), "hide": list(hide), "pin": list(pin)}
    said["rename"] = _pairs(rename, "--rename")
    said["describe"] = _pairs(describe, "--describe")
    said["environment"] = _pairs(env, "-e")
    settings = {"separator": separator, "expose": expose}
    said["settings"] = {key: value for key, value in settings.items() if value is not None}
    said["title"] = title
    return {key: value for key, value in said.items() if value}


def _pairs(words: Sequence[str], flag: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise click.UsageError(f"{flag} must be given as NAME=VALUE")
        pairs[key] = value
    return pairs


def _write(desk: Desk, name: str, said: Said) -> bool:
    from toolyard.core.profiles import read_profile

    profile = read_profile(name, said)
    hub = None if desk.told_config else desk.find_hub()
    if hub:
        return bool(hub.put_profile(name, said)["noticed"])
    _folder(desk).put(profile)
    return False


def _show(desk: Desk, rows: list[Said]) -> None:
    if not rows:
        desk.terminal.say("there are no profiles yet; write one with: toolyard profile set")
        return
    keys = ("allow", "hide", "pin", "rename")
    cells = [
        [row["name"], *(", ".join(row.get(key) or ()) for key in keys), row.get("title") or ""]
        for row in rows
    ]
    desk.terminal.table(TITLES, cells)


def _describe(desk: Desk, row: Said) -> None:
    import json

    desk.terminal.say(json.dumps(row, indent=2, ensure_ascii=False))


def _done(desk: Desk, name: str) -> None:
    desk.terminal.say(f"wrote the profile '{name}'")
    desk.terminal.say(f"clients use it with: toolyard mcp --profile {name}")
    desk.terminal.say(f"or over HTTP at the path /mcp/p/{name}")
