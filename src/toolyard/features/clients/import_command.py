"""`import`: the servers of your clients, taken into the yard."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.terminal import clean, visible
from toolyard.features.clients.commands import find_folder
from toolyard.features.clients.confirming import CANNOT_ASK, dry_option
from toolyard.features.clients.import_table import (
    amount,
    listed,
    name_untaken,
    pairs,
    run_words,
    show_servers,
    variables,
)

if TYPE_CHECKING:
    from toolyard.core.jsontypes import JsonObject
    from toolyard.features.clients.importing import FoundServer, Gathered
    from toolyard.features.secrets.moving import MovedSecrets
    from toolyard.yard import Yard

Moved = Mapping[str, "MovedSecrets"]
"""The endpoints of servers without their secrets, by the names of the servers."""


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
    once, whatever they are called. Tokens and passwords move into your keyring, or into private
    files if there is none. Servers that only a project's file names are confirmed one by one,
    because others may have written that file.

    Lists the keys that cannot be imported. A server whose tools a client had filtered is confirmed
    on its own, because all of its tools can be used here.

    With --from, imports the servers of another hub from its files, or from its usual place. Its
    groups, tags and tool filters become profiles. HUB is mcpproxy, toolhive, docker, 1mcp, mcphub,
    mcp-hub, mcpm, fastmcp or litellm; claude-plugins imports the servers of plugins of Claude Code.

    To import the servers and connect the clients in one step: toolyard setup
    """
    if hub is not None:
        from toolyard.features.clients.peers.command import ImportConsent, import_from

        import_from(context, hub, names, ImportConsent(dry_run, yes, yes_unrestricted))
        return
    gathered = _gather(context, names, project)
    for problem in gathered.problems if not context.terminal.as_json else ():
        context.terminal.note(f"note: {clean(problem.text)}")
    _name_others(context, names, project)
    new = [server for server in gathered.servers if not server.present]
    moved = _move_out(context, new)
    taken: list[FoundServer] = []
    if not dry_run:
        taken = _confirmed(context, new, Consent(yes, yes_project, yes_unrestricted))
        _take(context, taken, moved)
    answer = _plain(gathered, taken, moved, dry_run)
    context.terminal.answer(answer, lambda: _tell(context, gathered, new, taken, moved, dry_run))


def _gather(context: CliContext, names: Sequence[str], project: str | None) -> Gathered:
    from toolyard.features.clients.importing import places_to_read
    from toolyard.features.clients.known import CLIENTS, find_client
    from toolyard.features.clients.places import Surroundings, project_folder
    from toolyard.features.clients.replacing import gather_with

    clients = [find_client(name) for name in names] or CLIENTS
    folder = project_folder(find_folder(project))
    return gather_with(_open(context), places_to_read(clients, Surroundings.here(), folder))


def _open(context: CliContext) -> Yard:
    from toolyard.console.here import open_yard
    from toolyard.features.clients import FEATURE

    settings = context.hub_settings if context.hub_of_config else context.settings
    return open_yard(settings, FEATURE.package)


def _name_others(context: CliContext, names: Sequence[str], project: str | None) -> None:
    """Say how many servers are for single projects, and so were not looked at."""
    from toolyard.features.clients.importing import gather, places_of_projects
    from toolyard.features.clients.known import CLIENTS, find_client
    from toolyard.features.clients.places import Surroundings

    clients = [find_client(name) for name in names] or CLIENTS
    folder = find_folder(project)
    places = places_of_projects(clients, Surroundings.here())
    others = [place for place in places if place.project != folder]
    count = len(gather(others, {}).servers)
    if count:
        folders = ", ".join(dict.fromkeys(place.project for place in others))
        context.terminal.note(f"note: {count} more in projects, see --project: {clean(folders)}")


def _move_out(context: CliContext, new: Sequence[FoundServer]) -> Moved:
    from toolyard.features.secrets.moving import SecretMover
    from toolyard.features.secrets.store import open_secrets

    mover = SecretMover(open_secrets(context.settings, context.places))
    return {server.name: mover.move_out(server.name, server.endpoint) for server in new}


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
        show_servers(context, covered if not context.terminal.as_json else ())
        return covered
    together = [server for server in others if not (server.is_shared or server.opens)]
    show_servers(context, covered + together)
    if together:
        click.confirm(f"Import {amount(together)}?", abort=True)
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
            lost = listed(part for part in server.untaken if part.opens)
            context.terminal.note(
                f"note: '{server.name}' was not imported: it would lose its restrictions"
                f" ({clean(lost)}); add --yes-unrestricted, or keep them with: toolyard setup"
            )


def _approved(context: CliContext, server: FoundServer) -> bool:
    """Show one server in full, and have it confirmed."""
    context.terminal.say()
    places = ", ".join(f"{place.client.name} ({place.path})" for place in server.places)
    context.terminal.say(f"'{server.name}' of {places} would run:")
    for word in run_words(server):
        context.terminal.say(f"  {_on_one_line(word)}")
    for variable in variables(server):
        context.terminal.say(f"  with {_on_one_line(variable)}")
    name_untaken(context, server)
    return click.confirm("Import it?", default=False)


def _on_one_line(text: str) -> str:
    """Every character of a text that somebody else wrote, so that nothing looks like our words."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _take(context: CliContext, taken: list[FoundServer], moved: Moved) -> None:
    """Store the secrets of servers, and write the servers down."""
    from toolyard.features.secrets.operations import NewSecret, put_secret
    from toolyard.features.servers.operations import AddServer, add_server

    is_shown = True
    for server in taken:
        bare = moved[server.name]
        for name, value in bare.values.items():
            context.run_here(put_secret, NewSecret(name, value, or_file=True))
        entry = replace(server, endpoint=bare.endpoint).entry()
        is_shown = context.run(add_server, AddServer({"name": server.name, "entry": entry})).noticed
    if not is_shown and context.hub_of_config:
        context.terminal.note(
            "note: the running hub does not show them yet; check with: toolyard list"
        )


def _tell(
    context: CliContext,
    gathered: Gathered,
    new: list[FoundServer],
    taken: list[FoundServer],
    moved: Moved,
    dry_run: bool,
) -> None:
    if not new:
        count = len(gathered.servers)
        text = f"all {count} servers are in the yard already" if count else "no servers were found"
        context.terminal.say(text)
        return
    if dry_run:
        show_servers(context, new)
    tell_secrets(context, [moved[server.name] for server in (new if dry_run else taken)], dry_run)
    if not dry_run:
        from toolyard.features.servers.writing import servers_place

        context.terminal.say(f"imported {amount(taken)} into {servers_place(context)}")
        if taken:
            context.terminal.note(
                "your clients still start them too; replace them there with:"
                " toolyard connect --all --replace"
            )


def tell_secrets(context: CliContext, moved: Sequence[MovedSecrets], dry_run: bool) -> None:
    """Say which secrets move, where to, and which ones the user has to give."""
    names = list(dict.fromkeys(name for bare in moved for name in bare.values))
    if names:
        verb = "would move" if dry_run else "moved"
        where = "your keyring" if _has_keyring() else "private files"
        context.terminal.say(f"{verb} {amount(names, 'secret')} into {where}: {', '.join(names)}")
    for secret in (secret for bare in moved for secret in bare.needed):
        file = f" --file {secret.path}" if secret.place == "file" else ""
        context.terminal.say(
            f"a value is missing; give it with: toolyard secret set {secret.name}{file}"
        )


def _has_keyring() -> bool:
    from toolyard.records.secrets.keyring import has_keyring

    return has_keyring()


def _plain(gathered: Gathered, taken: list[FoundServer], moved: Moved, dry_run: bool) -> JsonObject:
    names = {server.name for server in taken}
    return {
        "dry_run": dry_run,
        "servers": [
            _row(server, moved.get(server.name), server.name in names)
            for server in gathered.servers
        ],
        "problems": [{"text": problem.text, "hint": problem.hint} for problem in gathered.problems],
    }


def _row(server: FoundServer, moved: MovedSecrets | None, is_taken: bool) -> JsonObject:
    is_new = not server.present
    return {
        "name": server.present or server.name,
        "runs": list(run_words(server)),
        "with": [name for name, _ in pairs(server)],
        "values": dict(word.split("=", 1) for word in variables(server))
        if server.is_shared
        else {},
        "from": [{"client": place.client.name, "file": str(place.path)} for place in server.places],
        "project": server.is_shared,
        "present": bool(server.present),
        "taken": is_new and is_taken,
        "secrets": list(moved.values) if moved and is_new else [],
        "secrets_needed": [secret.name for secret in moved.needed] if moved and is_new else [],
        "not_taken": [
            {"client": part.client, "key": part.key, "opens": part.opens} for part in server.untaken
        ],
    }
