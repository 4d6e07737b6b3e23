"""All that is known of one server."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from toolyard.core.model import Command, Endpoint, Entry, Offers, Snapshot
from toolyard.core.replicas import KnownReplicas
from toolyard.core.roster import listed_by
from toolyard.core.rows import HeldPart, InstalledVersion, ServerRow, held_also
from toolyard.features.packages.installed import Packages
from toolyard.features.servers.picture import server_row
from toolyard.links.pool import LinkPool
from toolyard.records.secrets.plain_secrets import without_passwords
from toolyard.settings import Settings
from toolyard.yard import Yard


class LaunchRow(msgspec.Struct, frozen=True):
    """A server's command or address as declared; of variables and headers the names alone."""

    command: list[str] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    env: list[str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: list[str] | UnsetType = UNSET


def _launch(endpoint: Endpoint) -> LaunchRow:
    """The command or address of a server, without secrets."""
    endpoint = without_passwords(endpoint)
    if isinstance(endpoint, Command):
        names = [name for name, _ in endpoint.env]
        return LaunchRow(command=list(endpoint.argv), cwd=endpoint.cwd, env=names)
    return LaunchRow(url=endpoint.url, headers=[name for name, _ in endpoint.headers])


class OfferNames(msgspec.Struct, frozen=True):
    """All that a server offers, by its own names."""

    tools: list[str]
    prompts: list[str]
    resources: list[str]
    templates: list[str]


def _offers(offers: Offers) -> OfferNames:
    kinds = (offers.tools, offers.prompts, offers.resources, offers.templates)
    return OfferNames(*([offer.key for offer in kind] for kind in kinds))


class ListedBy(msgspec.Struct, frozen=True):
    """An agent on whose list a server is."""

    id: str
    title: str
    enabled: bool
    """Whether the agent is given its servers."""


class ServerDetails(ServerRow, frozen=True):
    """One server, with how it is started and all it offers."""

    launch: LaunchRow
    installed: InstalledVersion | None
    replica: str
    """The replica that runs its shared process; empty if none does, or there is one hub alone."""
    exclusive: bool
    """True if there must never be two of its process at a time."""
    login: str
    """`member` if each member logs in at its address by their own account."""
    per_member: bool
    """True if it runs, or is reached, for one member alone: with credentials of their own."""
    timeout_s: float | None
    instructions: str
    agents: list[ListedBy]
    profiles: list[str]
    """The profiles with variables of their own, whose clients get a process of their own."""
    offers: OfferNames


OwnWords = Annotated[Raw, Meta(description="An offer in the server's own words.")]


class Offered(msgspec.Struct, frozen=True):
    """All a server offers, in its own words; what waits for approval too."""

    server: str
    held: list[str]
    """The tools that wait."""
    held_also: list[HeldPart]
    """All else that waits."""
    tools: list[OwnWords]
    prompts: list[OwnWords]
    resources: list[OwnWords]
    templates: list[OwnWords]


def own_words(entry: Entry) -> Offered:
    """Return all that a server offers, in its own words."""
    kinds = entry.offers
    lists = (kinds.tools, kinds.prompts, kinds.resources, kinds.templates)
    raws = ([Raw(offer.raw) for offer in offers] for offers in lists)
    return Offered(entry.alias, sorted(entry.held.tools), held_also(entry.held), *raws)


def describe_server(yard: Yard, entry: Entry) -> ServerDetails:
    """Return all that is known of a server; of variables and headers the names alone."""
    snapshot, server = yard.snapshot, entry.server
    row = server_row(snapshot, entry, yard.part(LinkPool).keepers.get(server.id))
    return ServerDetails(
        **msgspec.structs.asdict(row),
        launch=_launch(server.endpoint),
        installed=yard.part(Packages).installed(server),
        replica=yard.part(KnownReplicas).runners.get(str(server.id), ""),
        exclusive=server.exclusive,
        login=server.login,
        per_member=server.is_per_member,
        timeout_s=server.timeout,
        instructions=entry.peer.instructions if entry.peer else "",
        agents=_listed(snapshot, entry),
        profiles=_profiles_apart(snapshot, entry, yard.part(Settings).separator),
        offers=_offers(entry.offers),
    )


def _listed(snapshot: Snapshot, entry: Entry) -> list[ListedBy]:
    roster = snapshot.roster
    titles = {name: agent.title for name, agent in roster.agents.items()}
    return [
        ListedBy(name, titles.get(name, name), enabled)
        for name, enabled in listed_by(roster, entry.server, entry.alias)
    ]


def _profiles_apart(snapshot: Snapshot, entry: Entry, separator: str) -> list[str]:
    """The profiles that show a server and set variables, so that it runs for them."""
    if not isinstance(entry.server.endpoint, Command):
        return []
    names = entry.alias, str(entry.server.id)
    return sorted(
        profile.name
        for profile in snapshot.profiles.values()
        if profile.environment and profile.reaches(names, profile.separator or separator)
    )
