"""The members as sources: followed wherever they are kept, with what is wrong with them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolyard.core.errors import ConfigError, ConflictError, StoreError
from toolyard.core.model import Report
from toolyard.core.ports import RecordSource
from toolyard.features.members.directory import MemberDirectory, write_down
from toolyard.features.members.model import Admission, Member
from toolyard.features.members.store import open_admissions, open_members
from toolyard.installation import how_to_add
from toolyard.links.grants import GrantStore
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.relay.dismissals import Dismissals
from toolyard.settings import OWN, Settings
from toolyard.wire.seal import Seal
from toolyard.yard import HubLife, Yard

if TYPE_CHECKING:
    from toolyard.features.members.identity import Identities
    from toolyard.features.members.own_issuer import OwnIssuer
    from toolyard.features.members.page_login import PageLogins

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 30.0
"""The time until what could not be written, or asked for, is tried again."""


def parts(yard: Yard) -> Iterable[object]:
    """The records of members and admissions; in a hub that trusts an issuer, who is let in."""
    settings, places = yard.part(Settings), yard.part(RecordPlaces)
    members = open_members(places, settings.state_dir)
    admissions = open_admissions(places, settings.state_dir)
    yield members
    yield admissions
    url = yard.part(HubLife).url if HubLife in yard.parts else ""
    if settings.issuer and url:
        directory = MemberDirectory(members, admissions, yard.part(Dismissals), time.time)
        yield directory
        yield from _make_identity(settings, directory, url)
        if settings.issuer == OWN:
            from toolyard.features.members.accounts import Accounts, open_accounts

            accounts = open_accounts(places, settings.state_dir)
            yield Accounts(accounts, members, places, url, time.time)


def _make_identity(
    settings: Settings, directory: MemberDirectory, url: str
) -> Iterable[Identities | OwnIssuer]:
    """Build what verifies tokens, whose libraries are loaded here and nowhere else.

    Raises:
        ConfigError: They are not installed, or the hub cannot be its own issuer.
        StoreError: The hub's own key cannot be read, or made.
    """
    try:
        from toolyard.features.members.identity import Identities, IdentityRules
        from toolyard.features.members.issuer import Issuer
        from toolyard.features.members.own_issuer import OwnIssuer, read_own_keys
    except ImportError as error:
        text = f"TOOLYARD_ISSUER needs the package 'joserfc' ({error})"
        raise ConfigError(text, how_to_add("team")) from error
    audiences = frozenset(settings.audience)
    rules = IdentityRules(url, audiences, settings.scopes, settings.groups_claim)
    if settings.issuer != OWN:
        issuer = Issuer(settings.issuer, time.monotonic)
        yield Identities(issuer, directory, rules, time.time)
        return
    documents = settings.client_documents == "on"
    own = OwnIssuer(url, read_own_keys(settings), settings.scopes, documents=documents)
    yield own
    yield Identities(own, directory, replace(rules, groups_claim="groups"), time.time)


def sources(yard: Yard) -> Sequence[RecordSource]:
    """The sources of members, if anybody can come in by their name."""
    identity = find_identity(yard)
    if identity is None:
        return []
    directory = yard.part(MemberDirectory)

    def tell_members(kept: Kept[Member], before: Report) -> Report:
        directory.take_members(kept)
        return Report("members", problems=kept.problems)

    def tell_admissions(kept: Kept[Admission], before: Report) -> Report:
        directory.take_admissions(kept)
        return Report("admissions", problems=kept.problems)

    return [
        Followed("members", directory.members, tell_members),
        Followed("admissions", directory.admissions, tell_admissions),
        IssuerSource(directory, identity),
    ]


def instances_of(yard: Yard, account: str) -> int:
    """Return how many servers may run for the sessions of an account; 0 for no such limit."""
    has_members = MemberDirectory in yard.parts
    return yard.part(MemberDirectory).instances_of(account) if has_members else 0


def find_identity(yard: Yard) -> Identities | None:
    """Return what verifies tokens; None where nobody comes in by their name."""
    if MemberDirectory not in yard.parts:
        return None
    from toolyard.features.members.identity import Identities

    return yard.part(Identities)


def find_label(yard: Yard, key: str) -> str:
    """Return the name of a member for people; empty if they are not let in."""
    if MemberDirectory not in yard.parts:
        return ""
    directory = yard.part(MemberDirectory)
    member = directory.get(key)
    return member.label if member is not None and directory.caller(key) is not None else ""


def make_page_logins(
    yard: Yard, seal: Seal | None, near: str, grants: GrantStore
) -> PageLogins | None:
    """Build what lets people log in on the page; None where nobody comes in by their name.

    Args:
        seal: That of all replicas; without one, what is begun here ends with this hub.
        near: The address of this hub on this machine.
        grants: Keeps the logins that vouch for members at servers.
    """
    identity = find_identity(yard)
    if identity is None:
        return None
    from toolyard.features.members.login_keeping import LoginKeeper
    from toolyard.features.members.page_client import PageClient, TokenRequests
    from toolyard.features.members.page_login import PageLogins

    settings = yard.part(Settings)
    client = None
    if settings.page_client:
        client = PageClient(settings.page_client, settings.page_client_secret or "")
    home = yard.part(HubLife).url
    own = near if settings.issuer == OWN else ""
    requests = TokenRequests(home, client, time.monotonic, near=own)
    own_seal = seal or Seal([secrets.token_urlsafe(32)])
    directory = yard.part(MemberDirectory)
    keeper = None if own else LoginKeeper(identity, grants, yard.board)
    return PageLogins(identity, directory, requests, own_seal, time.time, keeper)


class IssuerSource:
    """Keeps the keys of the issuer fresh, tells of its troubles, and writes members down."""

    name = "issuer"

    def __init__(self, directory: MemberDirectory, identity: Identities) -> None:
        self._directory = directory
        self._identity = identity
        self.report = Report(self.name)

    async def run(self, post: Callable[[Report], None]) -> None:
        """Do all of it until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._renew())
            group.create_task(self._write())
            await self._tell(post)

    async def _renew(self) -> None:
        from toolyard.features.members.issuer import RENEW_SECONDS

        while True:
            await self._identity.learn()
            await asyncio.sleep(RETRY_SECONDS if self._identity.issuer.trouble else RENEW_SECONDS)

    async def _tell(self, post: Callable[[Report], None]) -> None:
        while True:
            self.report = Report(self.name, problems=self._identity.problems)
            post(self.report)
            await self._identity.changed.wait()
            self._identity.changed.clear()

    async def _write(self) -> None:
        directory = self._directory
        while True:
            await directory.news.wait()
            directory.news.clear()
            news = directory.untold()
            try:
                await asyncio.to_thread(write_down, directory.members, news)
            except (ConfigError, ConflictError, StoreError) as error:
                log.warning("members are not written down", extra={"why": str(error)})
                await asyncio.sleep(RETRY_SECONDS)
                directory.news.set()
            else:
                directory.told(news)
