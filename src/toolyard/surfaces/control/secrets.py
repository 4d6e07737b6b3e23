"""Logins: which there are, begun and forgotten."""

from __future__ import annotations

import msgspec

from toolyard.hub.logins import Logins, LoginState
from toolyard.links.oauth import LOGIN_SECONDS
from toolyard.surfaces.control.api import Call, Operation


class LoginStates(msgspec.Struct, frozen=True):
    """How every server with an address is logged in to."""

    logins: list[LoginState]


class LoginPage(msgspec.Struct, frozen=True):
    """Where a person agrees; the login ends by itself, and `/api/v1/auth` says how."""

    url: str
    seconds: float


class LoggedOut(msgspec.Struct, frozen=True):
    """Whether there was a login to forget."""

    done: bool


class LoginsDoor:
    """Questions and orders about logins."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        auth = "/api/v1/auth"
        return [
            Operation("GET", auth, "List logins", self._states, LoginStates, tag="secrets"),
            Operation(
                "POST",
                auth + "/{alias}/login",
                "Begin a login at a server",
                self._login,
                LoginPage,
                tag="secrets",
                errors=(422, 502),
            ),
            Operation(
                "POST",
                auth + "/{alias}/logout",
                "Forget a login",
                self._logout,
                LoggedOut,
                tag="secrets",
                errors=(422,),
            ),
        ]

    async def _states(self, call: Call) -> LoginStates:
        return LoginStates(await self._logins.states())

    async def _login(self, call: Call) -> LoginPage:
        return LoginPage(await self._logins.begin(call.path["alias"]), LOGIN_SECONDS)

    async def _logout(self, call: Call) -> LoggedOut:
        return LoggedOut(await self._logins.logout(call.path["alias"]))
