"""`announced`: the servers that made themselves known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolyard.announce import Announcements, project_paths, user_path
from toolyard.cli.desk import Desk, json_option
from toolyard.cli.terminal import clean


@click.command("announced")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    help="Look only into this file.",
    metavar="FILE",
)
@json_option
@click.pass_obj
def announced_command(desk: Desk, path: Path | None) -> None:
    """List the servers that announced themselves.

    Looks into the files of this project, from the working directory up to the root of its
    repository, and into the user's own.
    """
    files = [path] if path is not None else [*project_paths(Path.cwd()), user_path()]
    found: dict[str, dict[str, Any]] = {}
    for file in dict.fromkeys(files):
        for server, entry in Announcements(file).list_servers().items():
            found.setdefault(server, entry)
    desk.terminal.answer({"servers": found}, lambda: _show(desk, found))


def _show(desk: Desk, found: dict[str, dict[str, Any]]) -> None:
    say = desk.terminal.say
    if not found:
        say("No active MCP servers found")
        return
    say(f"📡 Available MCP Servers ({len(found)}):")
    for server, entry in found.items():
        http = entry.get("http")
        say()
        say(f"  • {clean(str(entry.get('name', server)))} (PID: {entry.get('pid', '?')})")
        if isinstance(http, dict) and http.get("enabled"):
            say(f"    HTTP: {clean(str(http.get('url', '?')))}")
        say(f"    Started: {clean(str(entry.get('started_at', '?')))}")
        say(f"    CWD: {clean(str(entry.get('cwd', '?')))}")
