"""The tokens of agents over the control API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConfigError
from toolyard.core.profiles import unknown_profile
from toolyard.hub import Hub
from toolyard.operation import Done
from toolyard.stores.tokens import AgentToken, TokensFile
from toolyard.surfaces.control.api import Call, Operation
from toolyard.surfaces.gate import Caller, caller_of

TOP = "/api/v1/tokens"


class TokenRow(msgspec.Struct, frozen=True):
    """A token, without its secret."""

    name: str
    servers: list[str]
    profile: str
    created_at: str
    agent: str = ""
    executor: str = ""
    discovers: bool = False


class TokenList(msgspec.Struct, frozen=True):
    """The tokens of all agents."""

    tokens: list[TokenRow]


class NewToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose token to make, and what may be seen with it."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
    servers: list[Annotated[str, Meta(min_length=1, max_length=200)]] = []
    profile: str = ""
    agent: str = ""
    discovers: bool = False
    """It opens the list of announced servers, and nothing else."""


class MadeToken(msgspec.Struct, frozen=True):
    """A token; it is shown this once."""

    name: str
    token: str


class TokensDoor:
    """Makes, lists and revokes the tokens of agents."""

    def __init__(self, hub: Hub, tokens: TokensFile, dismiss: Callable[[Caller], None]) -> None:
        self._hub = hub
        self._tokens = tokens
        self._dismiss = dismiss

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        return [
            Operation("GET", TOP, "All tokens of agents", self._list, TokenList, tag="tokens"),
            Operation(
                "POST",
                TOP,
                "Make a token",
                self._create,
                MadeToken,
                body=NewToken,
                tag="tokens",
                status=201,
                errors=(404, 409),
            ),
            Operation(
                "DELETE", f"{TOP}/{{name}}", "Revoke a token", self._revoke, Done, tag="tokens"
            ),
        ]

    async def _list(self, call: Call) -> TokenList:
        found = await asyncio.to_thread(self._tokens.list)
        rows = [_row(each) for each in found]
        return TokenList(rows)

    async def _create(self, call: Call) -> MadeToken:
        new: NewToken = call.body
        profiles = self._hub.snapshot.profiles
        if new.profile and new.profile not in profiles:
            raise unknown_profile(new.profile, profiles)
        agent = self._hub.snapshot.roster.agent(new.agent).id if new.agent else ""
        if agent and (new.servers or new.profile):
            raise ConfigError(
                "a token is for an agent, or for servers and a profile", "leave one of them out"
            )
        if new.discovers and (new.servers or new.profile or agent):
            raise ConfigError("a token that discovers sees no servers", "leave the others out")
        limits = frozenset(new.servers), new.profile, agent
        make = partial(self._tokens.create, new.name, *limits, discovers=new.discovers)
        return MadeToken(new.name, await asyncio.to_thread(make))

    async def _revoke(self, call: Call) -> Done:
        name = call.path["name"]
        found = await asyncio.to_thread(self._tokens.list)
        await asyncio.to_thread(self._tokens.revoke, name)
        for each in found:
            if each.name == name:
                self._dismiss(caller_of(each))
        return Done()


def _row(token: AgentToken) -> TokenRow:
    limits = sorted(token.servers), token.profile
    return TokenRow(
        token.name, *limits, token.created_at, token.agent, token.executor, token.discovers
    )
