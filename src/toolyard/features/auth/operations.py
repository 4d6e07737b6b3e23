"""Questions and orders about logins."""

from __future__ import annotations

import time

from msgspec import Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.errors import UnknownNameError
from toolyard.features.auth.logins import Logins, LoginState, MemberLogin
from toolyard.features.auth.member_links import LINK_SECONDS, MemberLinks
from toolyard.features.auth.oauth import LOGIN_SECONDS
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.visible import check_visible, find_visible
from toolyard.operation import Done, Needs, NoInput, operation
from toolyard.relay.credential_asking import CredentialNeed
from toolyard.yard import Yard

TOP = "/api/v1/auth"
MEMBERS = "/api/v1/member-logins"
OWN = f"{OWN_PATHS}logins"
TAG = "secrets"


class LoginStates(Struct, frozen=True):
    """The logins at all servers with an address, and those that no server has any more."""

    logins: list[LoginState]


class LoginPage(Struct, frozen=True):
    """The page on which a person agrees; the login ends by itself, and `/api/v1/auth` tells how."""

    url: str
    seconds: float


class LoggedOut(Struct, frozen=True):
    """The outcome of a logout; `done` is false if there was no login."""

    done: bool


class LoginServer(Struct, frozen=True):
    """The server to log in at, or out of."""

    alias: str


class MemberLoginRow(Struct, frozen=True):
    """The login of a member at a server."""

    id: str
    """Stands for it here; it opens nothing."""
    member: str
    """The key of the member."""
    email: str
    """The member's address; their key where the hub has none."""
    login: LoginState


class MemberLoginList(Struct, frozen=True):
    """The logins of all members."""

    logins: list[MemberLoginRow]


class MemberLoginId(Struct, frozen=True):
    """The login that is meant, by its id."""

    id: str


@operation("GET", TOP, tag=TAG, needs=Needs.FILES)
async def list_logins(yard: Yard, order: NoInput) -> LoginStates:
    """List logins."""
    return LoginStates(await yard.part(Logins).states())


@operation("POST", f"{TOP}/{{alias}}/login", tag=TAG, errors=(422, 502))
async def begin_login(yard: Yard, order: LoginServer) -> LoginPage:
    """Begin a login at a server."""
    return LoginPage(await yard.part(Logins).begin(order.alias), LOGIN_SECONDS)


@operation("POST", f"{TOP}/{{alias}}/logout", tag=TAG, needs=Needs.FILES, errors=(422,))
async def log_out(yard: Yard, order: LoginServer) -> LoggedOut:
    """Forget a login."""
    return LoggedOut(await yard.part(Logins).logout(order.alias))


@operation("GET", MEMBERS, tag=TAG)
async def list_member_logins(yard: Yard, order: NoInput) -> MemberLoginList:
    """The members' logins at servers: who has one where, and never what it opens with."""
    rows = [_describe(yard, login) for login in await yard.part(Logins).of_members()]
    return MemberLoginList(sorted(rows, key=lambda row: (row.email, row.login.server)))


@operation("DELETE", f"{MEMBERS}/{{id}}", tag=TAG, errors=(404,))
async def end_member_login(yard: Yard, order: MemberLoginId) -> Done:
    """Forget a login of a member, who is asked for it again by their next call there."""
    if not await yard.part(Logins).revoke(order.id):
        raise UnknownNameError("this login is over already", "look again")
    return Done()


def _describe(yard: Yard, login: MemberLogin) -> MemberLoginRow:
    """Describe a login; without an issuer, nobody is known whose it was."""
    is_known = MemberDirectory in yard.parts
    person = yard.part(MemberDirectory).get(login.member) if is_known else None
    email = (person.email if person is not None else "") or login.member
    return MemberLoginRow(login.id, login.member, email, login.login)


@operation("GET", OWN, tag=TAG, role=Role.MEMBER)
async def list_own_logins(yard: Yard, order: NoInput) -> LoginStates:
    """List the logins of the member who asks."""
    member = yard.own_member()
    visible = find_visible(yard, member)
    states = await yard.part(Logins).states(member)
    return LoginStates([row for row in states if not row.server or row.server in visible])


@operation("POST", f"{OWN}/{{alias}}/login", tag=TAG, role=Role.MEMBER, errors=(422, 502))
async def begin_own_login(yard: Yard, order: LoginServer) -> LoginPage:
    """Begin a login of the member who asks: its page is for nobody else."""
    member = yard.own_member()
    alias = check_visible(yard, member, order.alias)
    entry = yard.part(Logins).find_own(alias)
    need = CredentialNeed(member, entry.server.id, entry.alias, "", time.time())
    return LoginPage(yard.part(MemberLinks).make(need), LINK_SECONDS)


@operation("POST", f"{OWN}/{{alias}}/logout", tag=TAG, role=Role.MEMBER, errors=(422,))
async def end_own_login(yard: Yard, order: LoginServer) -> LoggedOut:
    """Forget a login of the member who asks."""
    member = yard.own_member()
    alias = check_visible(yard, member, order.alias)
    return LoggedOut(await yard.part(Logins).logout(alias, member))
