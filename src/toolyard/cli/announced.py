"""`announced`: the servers that made themselves known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolyard.announce import Announcements, project_paths, user_path
from toolyard.console.context import CliContext, json_option
from toolyard.console.terminal import clean


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
def announced_command(context: CliContext, path: Path | None) -> None:
    """List the servers that announced themselves.

    Looks into the files of this project, from the working directory up to the root of its
    repository, and into the user's own.
    """
    files = [path] if path is not None else [*project_paths(Path.cwd()), user_path()]
    found: dict[str, dict[str, Any]] = {}
    for file in dict.fromkeys(files):
        for server, entry in Announcements(file).list_servers().items():
            found.setdefault(server, entry)
    context.terminal.answer({"servers": found}, lambda: _show(context, found))


def _show(context: CliContext, found: dict[str, dict[str, Any]]) -> None:
    say = context.terminal.say
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
