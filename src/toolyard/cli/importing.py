"""`import`: the servers that your clients have, taken into the yard."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.clients import dry_option, folder
from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.terminal import clean, visible

if TYPE_CHECKING:
    from toolyard.clients.taking import Found, Gathered
    from toolyard.clients.untaken import Untaken
    from toolyard.core.model import Endpoint, Pairs

TITLES = ("name", "runs", "with", "from")


@dataclass(frozen=True, slots=True)
class Consent:
    """What may come in without being asked for."""

    own: bool
    project: bool
    unrestricted: bool

    def covers(self, found: Found) -> bool:
        """Whether a server may."""
        is_trusted = self.project if found.is_shared else self.own
        return is_trusted and (self.unrestricted or not found.opens)


@click.command("import")
@click.argument("names", nargs=-1, metavar="[CLIENT]...")
@click.option("--project", metavar="DIR", help="Read the files of this project too.")
@dry_option
@click.option("--yes", "-y", is_flag=True, help="Take in what your own files name, unasked.")
@click.option("--yes-project", is_flag=True, help="Also take in what only project files name.")
@click.option("--yes-unrestricted", is_flag=True, help="Also take in what a client had restricted.")
@config_option
@json_option
@click.pass_obj
def import_command(
    context: CliContext,
    names: tuple[str, ...],
    project: str | None,
    dry_run: bool,
    yes: bool,
    yes_project: bool,
    yes_unrestricted: bool,
) -> None:
    """Take the servers of your clients into the yard.

    Without names, from every client that has a file. What runs the same is taken once, whatever
    it is called. What only a project's file names is confirmed one by one, because others may have
    written it.

    Keys that the yard has no place for are named. A server whose tools a client had filtered is
    confirmed by itself: in the yard, all of them can be used.
    """
    gathered = _gather(context, names, project)
    for problem in gathered.problems if not context.terminal.as_json else ():
        context.terminal.note(f"note: {clean(problem.text)}")
    new = [each for each in gathered.found if not each.present]
    taken: list[Found] = []
    if not dry_run:
        taken = _confirmed(context, new, Consent(yes, yes_project, yes_unrestricted))
        _take(context, taken)
    answer = _plain(gathered, taken, dry_run)
    context.terminal.answer(answer, lambda: _tell(context, gathered, new, taken, dry_run))


def _gather(context: CliContext, names: Sequence[str], project: str | None) -> Gathered:
    from toolyard.clients.known import CLIENTS, find_client
    from toolyard.clients.places import Surroundings
    from toolyard.clients.taking import gather, places_to_read

    chosen = [find_client(each) for each in names] or CLIENTS
    places = places_to_read(chosen, Surroundings.here(), folder(project))
    present = {each.id.name: each.endpoint for each in context.servers_file.load().servers}
    return gather(places, present)


def _confirmed(context: CliContext, new: list[Found], consent: Consent) -> list[Found]:
    """What of it may come in.

    Raises:
        click.UsageError: Nobody is there to be asked.
    """
    covered = [found for found in new if consent.covers(found)]
    others = [found for found in new if not consent.covers(found)]
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or context.terminal.as_json:
        if not consent.own and not all(found.is_shared for found in others):
            raise click.UsageError("nobody is there to be asked; see --dry-run, then give --yes")
        _name_left(context, others, consent)
        return covered
    together = [found for found in others if not (found.is_shared or found.opens)]
    if together:
        _table(context, together)
        click.confirm(f"Take these {len(together)} in?", abort=True)
    alone = [found for found in others if found.is_shared or found.opens]
    return covered + together + [found for found in alone if _approved(context, found)]


def _name_left(context: CliContext, left: list[Found], consent: Consent) -> None:
    """Say what was not taken in, and what would have it taken in."""
    if not consent.project and any(found.is_shared for found in left):
        context.terminal.note("note: what only project files name was left; see --yes-project")
    for found in left:
        if found.opens and not consent.unrestricted:
            lost = _listed(each for each in found.untaken if each.opens)
            context.terminal.note(
                f"note: '{found.name}' was left: without {clean(lost)} more could be done with it;"
                " see --yes-unrestricted"
            )


def _approved(context: CliContext, found: Found) -> bool:
    """Show one server in full, and have it confirmed."""
    context.terminal.say()
    context.terminal.say(f"'{found.name}' of {_sources(found)} would run:")
    for word in _words(found):
        context.terminal.say(f"  {_on_one_line(word)}")
    for given in _given(found):
        context.terminal.say(f"  with {_on_one_line(given)}")
    _name_untaken(context, found)
    return click.confirm("Take it in?", default=False)


def _on_one_line(text: str) -> str:
    """Every character of a text that somebody else wrote, so that nothing looks like our words."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _take(context: CliContext, taken: list[Found]) -> None:
    from toolyard.cli.servers import is_noticed

    for each in taken:
        context.servers_file.put(each.name, each.entry())
    if taken and not is_noticed(context, taken[-1].name, True):
        context.terminal.note("note: the running hub has not noticed; does it read another file?")


def _tell(
    context: CliContext, gathered: Gathered, new: list[Found], taken: list[Found], dry_run: bool
) -> None:
    if not new:
        count = len(gathered.found)
        text = f"the yard has all {count} of them already" if count else "no servers were found"
        context.terminal.say(text)
        return
    _table(context, new if dry_run else taken)
    if not dry_run:
        amount = f"{len(taken)} server{'s' * (len(taken) != 1)}"
        context.terminal.say(f"took {amount} into {context.settings.config_file}")
        if taken:
            context.terminal.note("your clients still have them too; take them out there")


def _table(context: CliContext, found: list[Found]) -> None:
    rows = [
        [each.name, " ".join(_words(each)), ", ".join(_given(each)), _sources(each)]
        for each in found
    ]
    if rows:
        context.terminal.table(TITLES, rows)
    for each in found:
        _name_untaken(context, each)


def _name_untaken(context: CliContext, found: Found) -> None:
    if opening := _listed(each for each in found.untaken if each.opens):
        context.terminal.say(f"'{found.name}' loses what restricts it: {clean(opening)}")
    if others := _listed(each for each in found.untaken if not each.opens):
        context.terminal.say(f"'{found.name}' comes without {clean(others)}")
    if any(each.key.startswith("${") for each in found.untaken):
        context.terminal.say("  hint: toolyard secret set NAME, and write ${keyring:NAME} instead")


def _listed(untaken: Iterator[Untaken]) -> str:
    return ", ".join(f"{each.key} ({each.client})" for each in untaken)


def _words(found: Found) -> Sequence[str]:
    """What would be run or reached.

    Of a project's file every character, because somebody else may have hidden something in it.
    """
    from toolyard.core.model import Command
    from toolyard.stores.plain_secrets import without_secrets

    endpoint: Endpoint = found.endpoint if found.is_shared else without_secrets(found.endpoint)
    return endpoint.argv if isinstance(endpoint, Command) else (endpoint.url,)


def _given(found: Found) -> list[str]:
    """The names of its variables or headers; of a project's file with their values.

    Those of the user's own files may be secrets. What a project's file has can be read by all who
    have the project, and a value such as `LD_PRELOAD` decides what is run.
    """
    if found.is_shared:
        return [f"{name}={value}" for name, value in _pairs(found)]
    return [name for name, _ in _pairs(found)]


def _pairs(found: Found) -> Pairs:
    from toolyard.core.model import Command

    endpoint = found.endpoint
    return endpoint.env if isinstance(endpoint, Command) else endpoint.headers


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
                "with": [name for name, _ in _pairs(each)],
                "values": dict(_pairs(each)) if each.is_shared else {},
                "from": [{"client": p.client.name, "file": str(p.path)} for p in each.places],
                "project": each.is_shared,
                "present": bool(each.present),
                "taken": not each.present and each.name in names,
                "not_taken": [
                    {"client": lost.client, "key": lost.key, "opens": lost.opens}
                    for lost in each.untaken
                ],
            }
            for each in gathered.found
        ],
        "problems": [{"text": each.text, "hint": each.hint} for each in gathered.problems],
    }
