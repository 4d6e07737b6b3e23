"""The part of a model's context that the tools take which each connected client is listed."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from toolyard.core.errors import UnknownNameError
from toolyard.core.parts import schema_tokens
from toolyard.relay.relay import Relay
from toolyard.relay.session import agent_of
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.yard import Yard


class ServerShare(Struct, frozen=True):
    """The tokens that the tools of one server take; those of the hub itself have no server."""

    server: str
    tokens: int


class ClientCost(Struct, frozen=True):
    """A client, the list of tools that it is given, and what that costs it."""

    client: str
    """The name that it gave itself."""
    agent: str
    """The agent whose servers it is given; empty for the yard's."""
    profile: str
    """The profile that selects its tools; empty for none."""
    sessions: int
    """Sessions that are open now and have this list."""
    tools: int
    left_out: int
    """Tools that are not listed to it because it takes no more."""
    tokens: int
    servers: list[ServerShare]
    """The largest first."""


class SchemaCosts(Struct, frozen=True):
    """The costs of the whole yard, listed to nobody in particular, and of each connected client."""

    yard: ClientCost
    clients: list[ClientCost]


def count_costs(yard: Yard) -> SchemaCosts:
    """Return about how many tokens of context the lists of tools take, the longest first."""
    relay = yard.part(Relay)
    groups: dict[tuple[str, ViewKey | None, bool], int] = {}
    for session in relay.subscriptions.sessions:
        name = session.agent or agent_of(session.info)
        key = name, session.view_key, session.is_modern
        groups[key] = groups.get(key, 0) + 1
    rows = []
    for (name, view_key, is_modern), sessions in groups.items():
        with suppress(UnknownNameError):  # its profile was removed, and it sees nothing
            rows.append(_cost(name, relay.views.look(view_key), is_modern, sessions))
    rows.sort(key=lambda row: (-row.tokens, row.client))
    return SchemaCosts(_cost("", relay.views.look(), True, 0), rows)


def _cost(client: str, view: View, is_modern: bool, sessions: int) -> ClientCost:
    owners = {item: route.alias for item, route in view.made.values()}
    texts: dict[str, list[bytes]] = {}
    for item in view.lists["tools"].items:
        text = item[0] if is_modern else item[1]
        texts.setdefault(owners.get(item, ""), []).append(text)
    shares = [ServerShare(server, schema_tokens(raws)) for server, raws in texts.items()]
    shares.sort(key=lambda share: (-share.tokens, share.server))
    return ClientCost(
        client,
        view.key.agent,
        view.key.profile,
        sessions,
        sum(len(raws) for raws in texts.values()),
        view.left_out,
        sum(share.tokens for share in shares),
        shares,
    )
