"""Questions and orders about the tokens of agents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.errors import ConfigError
from toolyard.core.profiles import unknown_profile
from toolyard.core.tiers import Tier
from toolyard.features.members.store import MemberRecords
from toolyard.features.tokens.model import AgentToken
from toolyard.features.tokens.store import TokensFile
from toolyard.operation import Done, Needs, NoInput, operation
from toolyard.relay.dismissals import Dismissals
from toolyard.yard import Yard

TOP = "/api/v1/tokens"
OWN = f"{OWN_PATHS}tokens"
DAYS = 90
"""The days that a token is good for, if nobody says otherwise."""

MOST_OWN_DAYS = 365
TokenWord = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]


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
    member: str = ""
    """The member whose token it is, by email address or subject; empty for an agent's."""


class TokenList(Struct, frozen=True):
    """Tokens, by name."""

    tokens: list[TokenRow]


class NewToken(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose token to make, and what may be seen with it."""

    name: TokenWord
    servers: list[Annotated[str, Meta(min_length=1, max_length=200)]] = []
    profile: str = ""
    agent: str = ""
    discovers: bool = False
    """It opens the list of announced servers, and nothing else."""
    days: Annotated[int, Meta(ge=0, le=3650)] = DAYS
    """The days until it is worthless; 0 for never."""
    tier: Tier = Tier.DESTROY
    """The tools that it is for, by what their servers say of them; `destroy` for all."""

    member: str = ""
    """The member whose token it is to be, by email address, subject or key: it never shows more
    than they see themselves, and ends with them."""


class NewOwnToken(Struct, frozen=True, forbid_unknown_fields=True):
    """The token that a member makes for themselves, and what may be seen with it."""

    name: TokenWord
    servers: list[Annotated[str, Meta(min_length=1, max_length=200)]] = []
    profile: str = ""
    days: Annotated[int, Meta(ge=1, le=MOST_OWN_DAYS)] = DAYS
    """The days until it is worthless."""
    tier: Tier = Tier.DESTROY
    """The tools that it is for, by what their servers say of them; `destroy` for all."""


class MadeToken(Struct, frozen=True):
    """A token; it is shown this once."""

    name: str
    token: str


class TokenName(Struct, frozen=True):
    """The token that is meant."""

    name: str
    member: str = ""
    """The member whose token it is; empty for an agent's."""


class OwnTokenName(Struct, frozen=True):
    """The token that is meant, among those of whoever asks."""

    name: str


@operation("GET", TOP, needs=Needs.FILES)
async def list_tokens(yard: Yard, order: NoInput) -> TokenList:
    """All tokens: of agents, and of members."""
    tokens = await asyncio.to_thread(yard.part(TokensFile).list)
    labels = await asyncio.to_thread(_labels, yard) if any(t.member for t in tokens) else {}
    return TokenList([_row(token, labels) for token in tokens])


@operation("POST", TOP, needs=Needs.FILES, status=201, errors=(404, 409))
async def create_token(yard: Yard, order: NewToken) -> MadeToken:
    """Make a token for an agent or a member."""
    agent = yard.snapshot.roster.agent(order.agent).id if order.agent else ""
    if agent and (order.servers or order.profile):
        raise ConfigError(
            "a token is for an agent, or for servers and a profile", "leave one of them out"
        )
    if order.discovers and (order.servers or order.profile or agent):
        raise ConfigError("a token that discovers sees no servers", "leave the others out")
    if order.member and (order.discovers or agent):
        raise ConfigError("a member's token is for MCP, and for no agent", "leave the others out")
    return await _create(yard, order, await _find_member(yard, order.member), agent)


@operation("DELETE", f"{TOP}/{{name}}", needs=Needs.FILES)
async def revoke_token(yard: Yard, order: TokenName) -> Done:
    """Revoke a token; what it opened ends."""
    return await _revoke(yard, order.name, await _find_member(yard, order.member))


@operation("GET", OWN, role=Role.MEMBER, errors=(404,))
async def list_own_tokens(yard: Yard, order: NoInput) -> TokenList:
    """The tokens of the member who asks."""
    member = yard.own_member()
    tokens = await asyncio.to_thread(yard.part(TokensFile).list)
    return TokenList(
        [_row(token, {member: yard.caller}) for token in tokens if token.member == member]
    )


@operation("POST", OWN, role=Role.MEMBER, status=201, errors=(404, 409))
async def create_own_token(yard: Yard, order: NewOwnToken) -> MadeToken:
    """Make a token for the member who asks; it never shows more than they see themselves."""
    limits = order.name, order.servers, order.profile, "", False, order.days, order.tier
    return await _create(yard, NewToken(*limits), yard.own_member())


@operation("DELETE", f"{OWN}/{{name}}", role=Role.MEMBER, errors=(404,))
async def revoke_own_token(yard: Yard, order: OwnTokenName) -> Done:
    """Revoke a token of the member who asks; what it opened ends."""
    return await _revoke(yard, order.name, yard.own_member())


async def _create(yard: Yard, order: NewToken, member: str, agent: str = "") -> MadeToken:
    profiles = yard.snapshot.profiles
    if order.profile and order.profile not in profiles:
        raise unknown_profile(order.profile, profiles)
    create = partial(
        yard.part(TokensFile).create,
        order.name,
        frozenset(order.servers),
        order.profile,
        agent,
        discovers=order.discovers,
        days=order.days,
        tier="" if order.tier is Tier.DESTROY else order.tier.value,
        member=member,
    )
    return MadeToken(order.name, await asyncio.to_thread(create, by=yard.caller))


async def _revoke(yard: Yard, name: str, member: str) -> Done:
    revoke = yard.part(TokensFile).revoke
    caller = (await asyncio.to_thread(revoke, name, member, by=yard.caller)).caller
    dismissals = yard.part(Dismissals)
    if caller.token:
        dismissals.dismiss_all(lambda other: other.token == caller.token)
    else:
        dismissals.dismiss(caller)
        dismissals.end_accounts(lambda account: account == caller.account)
    return Done()


async def _find_member(yard: Yard, name: str) -> str:
    """Return the key of a member; an empty one if nobody is named."""
    return (await asyncio.to_thread(yard.part(MemberRecords).find, name)).key if name else ""


def _labels(yard: Yard) -> dict[str, str]:
    """The members as people name them, by their keys."""
    members = yard.part(MemberRecords).read().values
    return {key: member.email or member.subject for key, member in members.items()}


def _row(token: AgentToken, labels: Mapping[str, str]) -> TokenRow:
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
        labels.get(token.member, token.member),
    )
