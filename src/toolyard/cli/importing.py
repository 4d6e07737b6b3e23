"""`import`: the servers that your clients have, taken into the yard."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.clients import dry_option, folder
from toolyard.cli.desk import Desk, config_option, json_option
from toolyard.cli.terminal import clean

if TYPE_CHECKING:
    from toolyard.clients.taking import Found, Gathered

TITLES = ("name", "runs", "with", "from")


@click.command("import")
@click.argument("names", nargs=-1, metavar="[CLIENT]...")
@click.option("--project", metavar="DIR", help="Read the files of this project too.")
@dry_option
@click.option("--yes", "-y", is_flag=True, help="Take in what your own files name, unasked.")
@click.option("--yes-project", is_flag=True, help="Also take in what only project files name.")
@config_option
@json_option
@click.pass_obj
def import_command(
    desk: Desk,
    names: tuple[str, ...],
    project: str | None,
    dry_run: bool,
    yes: bool,
    yes_project: bool,
) -> None:
    """Take the servers of your clients into the yard.

    Without names, from every client that has a file. What runs the same is taken once, whatever
    it is called. What only a project's file names is confirmed one by one, because others may have
    written it.
    """
    gathered = _gather(desk, names, project)
    for problem in gathered.problems if not desk.terminal.as_json else ():
        desk.terminal.note(f"note: {clean(problem.text)}")
    new = [each for each in gathered.found if not each.present]
    taken: list[Found] = []
    if not dry_run:
        taken = _confirmed(desk, new, yes, yes_project)
        _take(desk, taken)
    answer = _plain(gathered, taken, dry_run)
    desk.terminal.answer(answer, lambda: _tell(desk, gathered, new, taken, dry_run))


def _gather(desk: Desk, names: Sequence[str], project: str | None) -> Gathered:
    from toolyard.clients.known import CLIENTS, find_client
    from toolyard.clients.places import Surroundings
    from toolyard.clients.taking import gather, places_to_read

    chosen = [find_client(each) for each in names] or CLIENTS
    places = places_to_read(chosen, Surroundings.here(), folder(project))
    present = {each.id.name: each.endpoint for each in desk.servers_file.load().servers}
    return gather(places, present)


def _confirmed(desk: Desk, new: list[Found], yes: bool, yes_project: bool) -> list[Found]:
    """What of it may come in.

    Raises:
        click.UsageError: Nobody is there to be asked.
    """
    own = [each for each in new if not each.is_shared]
    shared = [each for each in new if each.is_shared]
    can_ask = sys.stdin.isatty() and sys.stdout.isatty() and not desk.terminal.as_json
    if own and not yes:
        if not can_ask:
            raise click.UsageError("nobody is there to be asked; see --dry-run, then give --yes")
        _table(desk, own)
        click.confirm(f"Take these {len(own)} in?", abort=True)
    if shared and not yes_project and not can_ask:
        desk.terminal.note("note: what only project files name was left; see --yes-project")
        return own
    return own + [each for each in shared if yes_project or _approved(desk, each)]


def _approved(desk: Desk, found: Found) -> bool:
    desk.terminal.say()
    desk.terminal.say(f"'{found.name}' of {_sources(found)} would run:")
    for word in _words(found):
        desk.terminal.say(f"  {clean(word)}")
    if names := _given(found):
        desk.terminal.say(f"  with {clean(', '.join(names))}")
    return click.confirm("Take it in?", default=False)


def _take(desk: Desk, taken: list[Found]) -> None:
    from toolyard.cli.servers import is_noticed

    for each in taken:
        desk.servers_file.put(each.name, each.entry())
    if taken and not is_noticed(desk, taken[-1].name, True):
        desk.terminal.note("note: the running hub has not noticed; does it read another file?")


def _tell(
    desk: Desk, gathered: Gathered, new: list[Found], taken: list[Found], dry_run: bool
) -> None:
    if not new:
        count = len(gathered.found)
        text = f"the yard has all {count} of them already" if count else "no servers were found"
        desk.terminal.say(text)
        return
    _table(desk, new if dry_run else taken)
    if not dry_run:
        amount = f"{len(taken)} server{'s' * (len(taken) != 1)}"
        desk.terminal.say(f"took {amount} into {desk.settings.config_file}")
        if taken:
            desk.terminal.note("your clients still have them too; take them out there")


def _table(desk: Desk, found: list[Found]) -> None:
    rows = [
        [each.name, " ".join(_words(each)), ", ".join(_given(each)), _sources(each)]
        for each in found
    ]
    if rows:
        desk.terminal.table(TITLES, rows)


def _words(found: Found) -> Sequence[str]:
    from toolyard.core.model import Command

    endpoint = found.endpoint
    return endpoint.argv if isinstance(endpoint, Command) else (endpoint.url,)


def _given(found: Found) -> list[str]:
    """The names of its variables or headers; their values may be secrets."""
    from toolyard.core.model import Command

    endpoint = found.endpoint
    pairs = endpoint.env if isinstance(endpoint, Command) else endpoint.headers
    return [name for name, _ in pairs]


def _sources(found: Found) -> str:
    return ", ".join(f"{each.client.name} ({each.path})" for each in found.places)


def _plain(gathered: Gathered, taken: list[Found], dry_run: bool) -> dict[str, Any]:
    names = {each.name for each in taken}
    return {
        "dry_run": dry_run,
        "servers": [
            {
                "name": each.present or each.name,
                "runs": list(_words(each)),
                "with": _given(each),
                "from": [{"client": p.client.name, "file": str(p.path)} for p in each.places],
                "project": each.is_shared,
                "present": bool(each.present),
                "taken": not each.present and each.name in names,
            }
            for each in gathered.found
        ],
        "problems": [{"text": each.text, "hint": each.hint} for each in gathered.problems],
    }
