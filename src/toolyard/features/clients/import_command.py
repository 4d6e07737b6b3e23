"""`import`: the servers of your clients, taken into the yard."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.terminal import clean, visible
from toolyard.features.clients.commands import find_folder
from toolyard.features.clients.confirming import CANNOT_ASK, dry_option

if TYPE_CHECKING:
    from toolyard.core.model import Endpoint, Pairs
    from toolyard.features.clients.importing import FoundServer, Gathered
    from toolyard.features.clients.untaken import Untaken

TITLES = ("name", "runs", "with", "from")


@dataclass(frozen=True, slots=True)
class Consent:
    """The servers that may come in unasked."""

    own: bool
    project: bool
    unrestricted: bool

    def covers(self, server: FoundServer) -> bool:
        """Return whether a server may."""
        is_trusted = self.project if server.is_shared else self.own
        return is_trusted and (self.unrestricted or not server.opens)


@click.command("import")
@click.argument("names", nargs=-1, metavar="[CLIENT|FILE]...")
@click.option("--from", "hub", metavar="HUB", help="Read the files of this hub, not of clients.")
@click.option("--project", metavar="DIR", help="Read the files of this project too.")
@dry_option
@click.option("--yes", "-y", is_flag=True, help="Import what your own files name without asking.")
@click.option("--yes-project", is_flag=True, help="Also import what only project files name.")
@click.option("--yes-unrestricted", is_flag=True, help="Also import what a client had restricted.")
@config_option
@json_option
@click.pass_obj
def import_command(
    context: CliContext,
    names: tuple[str, ...],
    hub: str | None,
    project: str | None,
    dry_run: bool,
    yes: bool,
    yes_project: bool,
    yes_unrestricted: bool,
) -> None:
    """Import the servers of your clients.

    Without names, imports from every client that has a file. Servers that run the same are imported
    once, whatever they are called. Servers that only a project's file names are confirmed one by
    one, because others may have written that file.

    Lists the keys that cannot be imported. A server whose tools a client had filtered is confirmed
    on its own, because all of its tools can be used here.

    With --from, imports the servers of another hub from its files, or from its usual place. Its
    groups, tags and tool filters become profiles. HUB is mcpproxy, toolhive, docker, 1mcp, mcphub,
    mcp-hub, mcpm, fastmcp or litellm; claude-plugins imports the servers of plugins of Claude Code.
    """
    if hub is not None:
        from toolyard.features.clients.peers.command import ImportConsent, import_from

        import_from(context, hub, names, ImportConsent(dry_run, yes, yes_unrestricted))
        return
    gathered = _gather(context, names, project)
    for problem in gathered.problems if not context.terminal.as_json else ():
        context.terminal.note(f"note: {clean(problem.text)}")
    new = [server for server in gathered.servers if not server.present]
    taken: list[FoundServer] = []
    if not dry_run:
        taken = _confirmed(context, new, Consent(yes, yes_project, yes_unrestricted))
        _take(context, taken)
    answer = _plain(gathered, taken, dry_run)
    context.terminal.answer(answer, lambda: _tell(context, gathered, new, taken, dry_run))


def _gather(context: CliContext, names: Sequence[str], project: str | None) -> Gathered:
    from toolyard.features.clients.importing import gather, places_to_read
    from toolyard.features.clients.known import CLIENTS, find_client
    from toolyard.features.clients.places import Surroundings, project_folder
    from toolyard.features.servers.store import ServersFile
    from toolyard.features.servers.writing import servers_path

    clients = [find_client(name) for name in names] or CLIENTS
    folder = project_folder(find_folder(project))
    places = places_to_read(clients, Surroundings.here(), folder)
    servers = ServersFile(Path(servers_path(context))).load().servers
    return gather(places, {server.id.name: server.endpoint for server in servers})


def _confirmed(context: CliContext, new: list[FoundServer], consent: Consent) -> list[FoundServer]:
    """The servers that may come in.

    Raises:
        click.UsageError: There is no terminal to ask at.
    """
    covered = [server for server in new if consent.covers(server)]
    others = [server for server in new if not consent.covers(server)]
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or context.terminal.as_json:
        if not consent.own and not all(server.is_shared for server in others):
            raise click.UsageError(CANNOT_ASK)
        _name_left(context, others, consent)
        return covered
    together = [server for server in others if not (server.is_shared or server.opens)]
    if together:
        _table(context, together)
        click.confirm(f"Import {_amount(together)}?", abort=True)
    alone = [server for server in others if server.is_shared or server.opens]
    return covered + together + [server for server in alone if _approved(context, server)]


def _name_left(context: CliContext, left: list[FoundServer], consent: Consent) -> None:
    """Name the servers that were not taken in, and the flags that would take them in."""
    if not consent.project and any(server.is_shared for server in left):
        context.terminal.note(
            "note: servers that only project files name were not imported; add --yes-project"
        )
    for server in left:
        if server.opens and not consent.unrestricted:
            lost = _listed(part for part in server.untaken if part.opens)
            context.terminal.note(
                f"note: '{server.name}' was not imported: it would lose its restrictions"
                f" ({clean(lost)}); add --yes-unrestricted"
            )


def _approved(context: CliContext, server: FoundServer) -> bool:
    """Show one server in full, and have it confirmed."""
    context.terminal.say()
    context.terminal.say(f"'{server.name}' of {_sources(server)} would run:")
    for word in _words(server):
        context.terminal.say(f"  {_on_one_line(word)}")
    for variable in _variables(server):
        context.terminal.say(f"  with {_on_one_line(variable)}")
    _name_untaken(context, server)
    return click.confirm("Import it?", default=False)


def _on_one_line(text: str) -> str:
    """Every character of a text that somebody else wrote, so that nothing looks like our words."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _take(context: CliContext, taken: list[FoundServer]) -> None:
    from toolyard.features.servers.operations import AddServer, add_server

    is_shown = True
    for server in taken:
        order = AddServer({"name": server.name, "entry": server.entry()})
        is_shown = context.run(add_server, order).noticed
    if not is_shown and context.hub_of_config:
        context.terminal.note(
            "note: the running hub does not show them yet; check with: toolyard list"
        )


def _tell(
    context: CliContext,
    gathered: Gathered,
    new: list[FoundServer],
    taken: list[FoundServer],
    dry_run: bool,
) -> None:
    if not new:
        count = len(gathered.servers)
        text = f"all {count} servers are in the yard already" if count else "no servers were found"
        context.terminal.say(text)
        return
    _table(context, new if dry_run else taken)
    if not dry_run:
        from toolyard.features.servers.writing import servers_path

        context.terminal.say(f"imported {_amount(taken)} into {servers_path(context)}")
        if taken:
            context.terminal.note("your clients still start them too; remove them there")


def _amount(servers: Sequence[FoundServer]) -> str:
    return f"{len(servers)} server{'s' * (len(servers) != 1)}"


def _table(context: CliContext, servers: list[FoundServer]) -> None:
    rows = [
        [server.name, " ".join(_words(server)), ", ".join(_variables(server)), _sources(server)]
        for server in servers
    ]
    if rows:
        context.terminal.table(TITLES, rows)
    for server in servers:
        _name_untaken(context, server)


def _name_untaken(context: CliContext, server: FoundServer) -> None:
    if opening := _listed(part for part in server.untaken if part.opens):
        context.terminal.say(f"'{server.name}' loses its restrictions: {clean(opening)}")
    if others := _listed(part for part in server.untaken if not part.opens):
        context.terminal.say(f"'{server.name}' is imported without {clean(others)}")
    if any(part.key.startswith("${") for part in server.untaken):
        context.terminal.say("  hint: toolyard secret set NAME, and write ${keyring:NAME} instead")


def _listed(untaken: Iterator[Untaken]) -> str:
    return ", ".join(f"{part.key} ({part.client})" for part in untaken)


def _words(server: FoundServer) -> Sequence[str]:
    """The command that would be run, or the address that would be reached.

    Of a project's file every character, because somebody else may have hidden something in it.
    """
    from toolyard.core.model import Command
    from toolyard.records.secrets.plain_secrets import without_secrets

    endpoint: Endpoint = server.endpoint
    endpoint = endpoint if server.is_shared else without_secrets(endpoint)
    return endpoint.argv if isinstance(endpoint, Command) else (endpoint.url,)


def _variables(server: FoundServer) -> list[str]:
    """The names of its variables or headers; of a project's file with their values.

    Those of the user's own files may be secrets. What a project's file has can be read by all who
    have the project, and a value such as `LD_PRELOAD` decides what is run.
    """
    if server.is_shared:
        return [f"{name}={value}" for name, value in _pairs(server)]
    return [name for name, _ in _pairs(server)]


def _pairs(server: FoundServer) -> Pairs:
    from toolyard.core.model import Command

    endpoint = server.endpoint
    return endpoint.env if isinstance(endpoint, Command) else endpoint.headers


def _sources(server: FoundServer) -> str:
    return ", ".join(f"{place.client.name} ({place.path})" for place in server.places)


def _plain(gathered: Gathered, taken: list[FoundServer], dry_run: bool) -> dict[str, Any]:
    names = {server.name for server in taken}
    return {
        "dry_run": dry_run,
        "servers": [
            {
                "name": server.present or server.name,
                "runs": list(_words(server)),
                "with": [name for name, _ in _pairs(server)],
                "values": dict(_pairs(server)) if server.is_shared else {},
                "from": [
                    {"client": place.client.name, "file": str(place.path)}
                    for place in server.places
                ],
                "project": server.is_shared,
                "present": bool(server.present),
                "taken": not server.present and server.name in names,
                "not_taken": [
                    {"client": part.client, "key": part.key, "opens": part.opens}
                    for part in server.untaken
                ],
            }
            for server in gathered.servers
        ],
        "problems": [{"text": problem.text, "hint": problem.hint} for problem in gathered.problems],
    }
