"""Rules matched to tools and to calls."""

from __future__ import annotations

from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.core.rules import CallFacts, CallRule
from toolyard.core.tiers import Tier, tier_of
from toolyard.relay.session import ClientRequest, agent_of
from toolyard.wire.jsonrpc import Fields


def rules_about(
    snapshot: Snapshot, rules: tuple[CallRule, ...], entry: Entry, tool: Offer
) -> tuple[CallRule, ...]:
    """Those of the rules that a tool is among the tools of."""
    present = snapshot.entries.get(entry.server.id)
    names = {entry.alias, str(entry.server.id), present.alias if present is not None else ""} - {""}
    spellings = (
        *names,
        *(f"{name}/{tool.key}" for name in names),
        *(f"{name}__{tool.key}" for name in names),
    )
    about = [rule for rule in rules if rule.concerns(spellings)]
    if not any(rule.tier for rule in about):
        return tuple(about)
    tier = tier_of(tool, dict(entry.marks))
    return tuple(rule for rule in about if not rule.tier or tier.covers(Tier(rule.tier)))


def facts_of(request: ClientRequest, fields: Fields) -> CallFacts:
    """All that rules are told of a call."""
    session = request.session
    callers = tuple(name for name in (session.member, session.caller) if name) or ("",)
    agent = session.agent or agent_of(session.info)
    return CallFacts(callers, agent, bytes(fields.get("arguments", b"")))
