"""Questions and orders about the tokens of agents."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from toolyard.core.errors import ConfigError
from toolyard.core.profiles import unknown_profile
from toolyard.core.tiers import Tier
from toolyard.features.tokens.model import AgentToken
from toolyard.features.tokens.store import TokensFile
from toolyard.operation import Done, Needs, NoInput, operation
from toolyard.relay.dismissals import Dismissals
from toolyard.yard import Yard

TOP = "/api/v1/tokens"
DAYS = 90
"""The days that a token is good for, if nobody says otherwise."""


class TokenRow(Struct, frozen=True):
    """A token, without its secret."""

    name: str
    servers: list[str]
    profile: str
    created_at: str
    agent: str = ""
    executor: str = ""
    discovers: bool = False
    expires_at: str = ""
    """The time from which on it is worthless; empty for never."""
    tier: Tier = Tier.DESTROY
    """The tools that it is for, by what their servers say of them; `destroy` for all."""
    used_at: str = ""
    """The time of its last use, to the hour; empty if there was none."""


class TokenList(Struct, frozen=True):
    """The tokens of all agents."""

    tokens: list[TokenRow]


class NewToken(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose token to make, and what may be seen with it."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
    servers: list[Annotated[str, Meta(min_length=1, max_length=200)]] = []
    profile: str = ""
    agent: str = ""
    discovers: bool = False
    """It opens the list of announced servers, and nothing else."""
    days: Annotated[int, Meta(ge=0, le=3650)] = DAYS
    """The days until it is worthless; 0 for never."""
    tier: Tier = Tier.DESTROY
    """The tools that it is for, by what their servers say of them; `destroy` for all."""


class MadeToken(Struct, frozen=True):
    """A token; it is shown this once."""

    name: str
    token: str


class TokenName(Struct, frozen=True):
    """The token that is meant."""

    name: str


@operation("GET", TOP, needs=Needs.FILES)
async def list_tokens(yard: Yard, order: NoInput) -> TokenList:
    """All tokens of agents."""
    tokens = await asyncio.to_thread(yard.part(TokensFile).list)
    return TokenList([_row(token) for token in tokens])


@operation("POST", TOP, needs=Needs.FILES, status=201, errors=(404, 409))
async def create_token(yard: Yard, order: NewToken) -> MadeToken:
    """Make a token."""
    snapshot = yard.snapshot
    if order.profile and order.profile not in snapshot.profiles:
        raise unknown_profile(order.profile, snapshot.profiles)
    agent = snapshot.roster.agent(order.agent).id if order.agent else ""
    if agent and (order.servers or order.profile):
        raise ConfigError(
            "a token is for an agent, or for servers and a profile", "leave one of them out"
        )
    if order.discovers and (order.servers or order.profile or agent):
        raise ConfigError("a token that discovers sees no servers", "leave the others out")
    limits = frozenset(order.servers), order.profile, agent
    create = partial(
        yard.part(TokensFile).create,
        order.name,
        *limits,
        discovers=order.discovers,
        days=order.days,
        tier="" if order.tier is Tier.DESTROY else order.tier.value,
    )
    return MadeToken(order.name, await asyncio.to_thread(create, by=yard.caller))


@operation("DELETE", f"{TOP}/{{name}}", needs=Needs.FILES)
async def revoke_token(yard: Yard, order: TokenName) -> Done:
    """Revoke a token."""
    token = await asyncio.to_thread(yard.part(TokensFile).revoke, order.name, by=yard.caller)
    yard.part(Dismissals).dismiss(token.caller)
    return Done()


def _row(token: AgentToken) -> TokenRow:
    return TokenRow(
        token.name,
        sorted(token.servers),
        token.profile,
        token.created_at,
        token.agent,
        token.executor,
        token.discovers,
        token.expires_at,
        Tier(token.tier or Tier.DESTROY),
        token.used_at,
    )
