"""Orders about people who log in with the hub: to invite them, and to let them begin anew."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from msgspec import Struct

from toolyard.core.caller import Role
from toolyard.core.errors import NotOursError
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.model import GroupName
from toolyard.operation import operation
from toolyard.settings import OWN, Settings
from toolyard.yard import HubLife, Yard

if TYPE_CHECKING:
    from toolyard.features.members.accounts import Accounts, InviteLink

INVITATIONS = "/api/v1/invitations"
INVITATION = "/api/v1/invitations/{name:path}"
PAGE = "/invitation"


class Invitation(Struct, frozen=True):
    """A link by which one person sets their password, once."""

    email: str
    link: str
    until: str
    """The time until which it is good."""

    def __repr__(self) -> str:
        return f"Invitation({self.email!r})"


class InviteMember(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody who is to log in with the hub itself."""

    email: str
    role: Role = Role.MEMBER
    groups: list[GroupName] = []


class AccountName(Struct, frozen=True):
    """The member who is meant: an email address, a subject or a key."""

    name: str


@operation("POST", INVITATIONS, errors=(409,))
async def invite_member(yard: Yard, order: InviteMember) -> Invitation:
    """Invite somebody to log in with the hub; the link is shown once, for them alone."""
    accounts = find_accounts(yard)
    link = await asyncio.to_thread(
        accounts.invite, order.email, order.role, order.groups, by=yard.caller
    )
    directory = yard.part(MemberDirectory)
    directory.take_members(await asyncio.to_thread(directory.members.read))
    return _show(accounts, link)


@operation("PUT", INVITATION, errors=(409,))
async def reset_member(yard: Yard, order: AccountName) -> Invitation:
    """Take the password of a member away, and give a link to set another; their logins end."""
    accounts = find_accounts(yard)
    link = await asyncio.to_thread(accounts.reset, order.name, by=yard.caller)
    return _show(accounts, link)


def find_accounts(yard: Yard) -> Accounts:
    """Return the accounts of those who log in with the hub.

    Raises:
        NotOursError: Nobody does.
    """
    if not has_accounts(yard):
        text = "nobody logs in with this hub itself"
        hint = "start it with: toolyard up --public https://… --issuer own"
        raise NotOursError(text, hint)
    from toolyard.features.members.accounts import Accounts

    return yard.part(Accounts)


def has_accounts(yard: Yard) -> bool:
    """Tell whether people log in with this hub; what that needs is loaded only then."""
    is_own = yard.part(Settings).issuer == OWN
    return is_own and HubLife in yard.parts and yard.part(HubLife).url != ""


def _show(accounts: Accounts, link: InviteLink) -> Invitation:
    address = f"{accounts.issuer}{PAGE}?{urlencode({'code': link.code})}"
    until = datetime.fromtimestamp(link.until, UTC).isoformat(timespec="seconds")
    return Invitation(link.email, address, until)
