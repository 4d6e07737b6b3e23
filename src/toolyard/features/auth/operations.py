"""Questions and orders about logins."""

from __future__ import annotations

from msgspec import Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.features.auth.logins import Logins, LoginState
from toolyard.features.auth.oauth import LOGIN_SECONDS
from toolyard.features.members.visible import check_visible, find_visible
from toolyard.operation import Needs, NoInput, operation
from toolyard.yard import Yard

TOP = "/api/v1/auth"
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


@operation("GET", OWN, tag=TAG, role=Role.MEMBER)
async def list_own_logins(yard: Yard, order: NoInput) -> LoginStates:
    """List the logins of the member who asks."""
    member = yard.own_member()
    visible = find_visible(yard, member)
    states = await yard.part(Logins).states(member)
    return LoginStates([row for row in states if not row.server or row.server in visible])


@operation("POST", f"{OWN}/{{alias}}/login", tag=TAG, role=Role.MEMBER, errors=(422, 502))
async def begin_own_login(yard: Yard, order: LoginServer) -> LoginPage:
    """Begin a login of the member who asks."""
    member = yard.own_member()
    alias = check_visible(yard, member, order.alias)
    return LoginPage(await yard.part(Logins).begin(alias, member), LOGIN_SECONDS)


@operation("POST", f"{OWN}/{{alias}}/logout", tag=TAG, role=Role.MEMBER, errors=(422,))
async def end_own_login(yard: Yard, order: LoginServer) -> LoggedOut:
    """Forget a login of the member who asks."""
    member = yard.own_member()
    alias = check_visible(yard, member, order.alias)
    return LoggedOut(await yard.part(Logins).logout(alias, member))
