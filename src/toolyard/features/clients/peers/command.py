"""`import --from`: the servers and profiles of another hub, taken into the yard."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext
from toolyard.console.terminal import clean
from toolyard.core.model import Command
from toolyard.features.clients.confirming import CANNOT_ASK
from toolyard.features.clients.peers.planning import ImportedServer, ImportPlan, plan_import
from toolyard.features.clients.peers.table import PeerHub, find_peer, read_peer, usual_files
from toolyard.features.clients.untaken import Untaken
from toolyard.features.secrets.moving import MovedSecrets, SecretMover
from toolyard.features.secrets.store import open_secrets
from toolyard.records.secrets.plain_secrets import without_passwords, without_secrets

if TYPE_CHECKING:
    from toolyard.core.jsontypes import JsonObject
    from toolyard.core.profiles import Profile

TITLES = ("name", "runs", "with", "state")
Moved = Mapping[str, MovedSecrets]
"""The endpoints of servers without their secrets, by the names of the servers."""


@dataclass(frozen=True, slots=True)
class ImportConsent:
    """The consent that flags give before anybody is asked."""

    dry_run: bool
    yes: bool
    unrestricted: bool


def import_from(
    context: CliContext, hub: str, files: Sequence[str], consent: ImportConsent
) -> None:
    """Import the files of another hub; without files, those at its usual place."""
    peer = find_peer(hub)
    paths = [Path(os.path.abspath(os.path.expanduser(file))) for file in files]
    mover = SecretMover(open_secrets(context.settings, context.places))
    plan = _plan(context, peer, paths or _usual(peer), mover)
    new = [planned for planned in plan.servers if not planned.is_present]
    moved = {
        planned.name: mover.move_out(planned.name, planned.server.written.endpoint)
        for planned in new
    }
    profiles = [planned.profile for planned in plan.profiles if not planned.is_present]
    if not context.terminal.as_json:
        _show(context, peer, plan, new)
    taken: list[ImportedServer] = []
    if consent.dry_run:
        profiles = []
    else:
        taken = _confirmed(context, new, profiles, consent)
        _carry_out(context, taken, profiles, moved)
    answer = _plain(peer, plan, taken, profiles, moved, consent.dry_run)
    told = new if consent.dry_run else taken
    tell_moved = partial(_tell_secrets, context, told, moved, consent.dry_run)
    context.terminal.answer(
        answer, lambda: _tell(context, plan, taken, profiles, tell_moved, consent.dry_run)
    )


def _usual(peer: PeerHub) -> list[Path]:
    from toolyard.features.clients.places import Surroundings

    return usual_files(peer, Surroundings.here(), Path.cwd())


def _plan(
    context: CliContext, peer: PeerHub, paths: Sequence[Path], mover: SecretMover
) -> ImportPlan:
    import msgspec

    from toolyard.features.profiles.model import read_profile
    from toolyard.features.profiles.operations import list_profiles
    from toolyard.features.servers.store import open_servers
    from toolyard.features.servers.writing import servers_path
    from toolyard.operation import NoInput

    files = read_peer(peer, paths)
    servers = open_servers(context.places, Path(servers_path(context))).load().servers
    endpoints = {server.id.name: server.endpoint for server in servers}
    profiles: dict[str, Profile] = {}
    for row in context.run(list_profiles, NoInput()).profiles:
        fields: JsonObject = msgspec.to_builtins(row)
        rest = {key: value for key, value in fields.items() if key not in ("name", "path")}
        profiles[row.name] = read_profile(row.name, rest)
    return plan_import(peer.name, files, endpoints, profiles, mover.find_moved)


def _confirmed(
    context: CliContext, new: list[ImportedServer], profiles: list[Profile], consent: ImportConsent
) -> list[ImportedServer]:
    """The servers that may come in.

    Raises:
        click.UsageError: There is no terminal to ask at.
    """
    usual = [planned for planned in new if not planned.server.opens]
    opening = [planned for planned in new if planned.server.opens]
    can_ask = sys.stdin.isatty() and sys.stdout.isatty() and not context.terminal.as_json
    if not consent.yes and (usual or profiles or opening):
        if not can_ask:
            raise click.UsageError(CANNOT_ASK)
        if usual or profiles:
            click.confirm(f"Import {_amount(usual, profiles)}?", abort=True)
    if consent.unrestricted:
        return usual + opening
    if consent.yes or not can_ask:
        for planned in opening:
            context.terminal.note(
                f"note: '{planned.name}' was not imported: it would lose its restrictions"
                f" ({_listed(planned, opens=True)}); add --yes-unrestricted"
            )
        return usual
    return usual + [planned for planned in opening if _is_approved(planned)]


def _is_approved(planned: ImportedServer) -> bool:
    lost = _listed(planned, opens=True)
    return click.confirm(
        f"Import '{planned.name}' without its restrictions ({lost})?", default=False
    )


def _carry_out(
    context: CliContext,
    taken: Iterable[ImportedServer],
    profiles: Iterable[Profile],
    moved: Moved,
) -> None:
    """Store the secrets of servers, and write servers and profiles down."""
    from toolyard.features.profiles.operations import PutProfile, put_profile
    from toolyard.features.secrets.operations import NewSecret, put_secret
    from toolyard.features.servers.operations import AddServer, add_server

    for planned in taken:
        bare = moved[planned.name]
        for name, value in bare.values.items():
            context.run_here(put_secret, NewSecret(name, value, or_file=True))
        entry = planned.server.moved_to(bare.endpoint).entry()
        context.run(add_server, AddServer({"name": planned.name, "entry": entry}))
    for profile in profiles:
        context.run(put_profile, PutProfile.of(profile))


def _show(context: CliContext, peer: PeerHub, plan: ImportPlan, new: list[ImportedServer]) -> None:
    """Show all that would be imported, and name all that would not."""
    terminal = context.terminal
    for problem in plan.problems:
        terminal.note(f"note: {clean(problem.text)}; {clean(problem.hint)}")
    if new:
        terminal.table(TITLES, [_row(planned) for planned in new])
    for planned in new:
        if lost := _listed(planned, opens=True):
            terminal.say(f"'{planned.name}' loses its restrictions: {lost}")
        if lost := _listed(planned, opens=False):
            terminal.say(f"'{planned.name}' is imported without {lost}")
    for profile in (planned.profile for planned in plan.profiles if not planned.is_present):
        shown = ", ".join((*profile.allow, *(f"not {pattern}" for pattern in profile.hide)))
        terminal.say(f"profile '{profile.name}': {clean(shown)}")
    if plan.untaken:
        rest = ", ".join(clean(lost.key) for lost in plan.untaken)
        terminal.say(f"not imported from {peer.title}: {rest}")


def _tell(
    context: CliContext,
    plan: ImportPlan,
    taken: list[ImportedServer],
    profiles: list[Profile],
    tell_moved: Callable[[], None],
    dry_run: bool,
) -> None:
    if not plan.servers:
        context.terminal.say("no servers were found")
    elif plan.is_done:
        context.terminal.say(f"all {len(plan.servers)} servers are in the yard already")
    else:
        tell_moved()
        if not dry_run:
            context.terminal.say(f"imported {_amount(taken, profiles)}")
        if profiles:
            context.terminal.say(
                "give one to a client with: toolyard connect CLIENT --profile NAME"
            )


def _tell_secrets(
    context: CliContext, servers: Iterable[ImportedServer], moved: Moved, dry_run: bool
) -> None:
    """Say which secrets move into the store, and which ones the user has to give."""
    for planned in servers:
        if names := ", ".join(moved[planned.name].values):
            verb = "would move" if dry_run else "moved"
            context.terminal.say(f"{verb} secrets of '{planned.name}' into your store: {names}")
        for name in _needed(planned, moved):
            text = f"'{planned.name}' needs a secret; give it with: toolyard secret set {name}"
            context.terminal.say(text)


def _needed(planned: ImportedServer, moved: Moved) -> list[str]:
    """The secrets of the other hub that a server refers to, and those an editor would ask for."""
    asked = [secret.name for secret in moved[planned.name].needed]
    return list(dict.fromkeys([*planned.server.secrets, *asked]))


def _amount(servers: Sequence[ImportedServer], profiles: Sequence[Profile]) -> str:
    parts = [f"{len(servers)} server{'s' * (len(servers) != 1)}"]
    if profiles:
        parts.append(f"{len(profiles)} profile{'s' * (len(profiles) != 1)}")
    return " and ".join(parts)


def _row(planned: ImportedServer) -> list[str]:
    state = "" if planned.server.written.enabled else "disabled"
    return [planned.name, " ".join(_words(planned)), ", ".join(_variables(planned)), state]


def _words(planned: ImportedServer) -> Sequence[str]:
    endpoint = planned.server.written.endpoint
    is_container = isinstance(endpoint, Command) and endpoint.argv[0] == "docker"
    # The digest of an image looks like a secret, and is what matters.
    shown = without_passwords(endpoint) if is_container else without_secrets(endpoint)
    return shown.argv if isinstance(shown, Command) else (shown.url,)


def _variables(planned: ImportedServer) -> list[str]:
    """The names of its variables or headers; their values may be secrets."""
    endpoint = planned.server.written.endpoint
    pairs = endpoint.env if isinstance(endpoint, Command) else endpoint.headers
    return [name for name, _ in pairs]


def _listed(planned: ImportedServer, *, opens: bool) -> str:
    return ", ".join(clean(lost.key) for lost in planned.server.untaken if lost.opens is opens)


def _plain(
    peer: PeerHub,
    plan: ImportPlan,
    taken: list[ImportedServer],
    profiles: list[Profile],
    moved: Moved,
    dry_run: bool,
) -> JsonObject:
    from toolyard.features.profiles.model import plain_fields

    return {
        "dry_run": dry_run,
        "hub": peer.name,
        "servers": [
            {
                "name": planned.name,
                "runs": list(_words(planned)),
                "with": _variables(planned),
                "disabled": not planned.server.written.enabled,
                "secrets": [] if planned.is_present else list(moved[planned.name].values),
                "secrets_needed": [] if planned.is_present else _needed(planned, moved),
                "present": planned.is_present,
                "taken": planned in taken,
                "not_taken": _names(planned.server.untaken),
            }
            for planned in plan.servers
        ],
        "profiles": [
            {
                "name": planned.profile.name,
                **plain_fields(planned.profile),
                "present": planned.is_present,
                "taken": planned.profile in profiles,
            }
            for planned in plan.profiles
        ],
        "not_taken": _names(plan.untaken),
        "problems": [{"text": problem.text, "hint": problem.hint} for problem in plan.problems],
    }


def _names(untaken: Iterable[Untaken]) -> list[JsonObject]:
    return [{"key": lost.key, "opens": lost.opens} for lost in untaken]
