"""Secrets and logins: which there are, set, removed, begun; their values never come out."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from toolyard.hub import Hub
from toolyard.hub.logins import Logins, LoginState
from toolyard.links.oauth import LOGIN_SECONDS
from toolyard.operation import Done
from toolyard.stores.inventory import SecretRow, take_stock
from toolyard.stores.keyring import has_keyring
from toolyard.stores.secrets import SECRET_BYTES, Secrets
from toolyard.surfaces.control.api import Call, Operation


class SecretRows(msgspec.Struct, frozen=True):
    """Every secret by name, where it is kept, and who uses it."""

    secrets: list[SecretRow]
    keyring: bool
    """Whether this system has one."""


class NewSecret(msgspec.Struct, frozen=True):
    """The value of a secret."""

    value: Annotated[str, msgspec.Meta(min_length=1, max_length=SECRET_BYTES)]


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


class SecretsDoor:
    """Questions and orders about secrets and logins."""

    def __init__(self, hub: Hub, secrets: Secrets, logins: Logins) -> None:
        self._hub = hub
        self._secrets = secrets
        self._logins = logins

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        one, auth = "/api/v1/secrets/{name}", "/api/v1/auth"
        return [
            Operation(
                "GET", "/api/v1/secrets", "List secrets", self._list, SecretRows, tag="secrets"
            ),
            Operation(
                "PUT",
                one,
                "Keep a secret in the keyring",
                self._set,
                Done,
                NewSecret,
                tag="secrets",
            ),
            Operation(
                "DELETE", one, "Forget a secret", self._remove, Done, tag="secrets", errors=(422,)
            ),
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

    async def _list(self, call: Call) -> SecretRows:
        servers = [entry.server for entry in self._hub.snapshot.entries.values()]
        rows = await asyncio.to_thread(take_stock, self._secrets, servers)
        return SecretRows(rows, await asyncio.to_thread(has_keyring))

    async def _set(self, call: Call) -> Done:
        await asyncio.to_thread(self._secrets.set, call.path["name"], call.body.value)
        return Done()

    async def _remove(self, call: Call) -> Done:
        await asyncio.to_thread(self._secrets.remove, call.path["name"])
        return Done()

    async def _states(self, call: Call) -> LoginStates:
        return LoginStates(await self._logins.states())

    async def _login(self, call: Call) -> LoginPage:
        return LoginPage(await self._logins.begin(call.path["alias"]), LOGIN_SECONDS)

    async def _logout(self, call: Call) -> LoggedOut:
        return LoggedOut(await self._logins.logout(call.path["alias"]))
