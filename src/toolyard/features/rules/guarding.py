"""Guards made of rules: which tools they stand in front of, and which calls they stop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.core.parts import part_hash
from toolyard.core.rules import CallRule
from toolyard.features.rules.asking import CallAsking, tell
from toolyard.features.rules.matching import facts_of, rules_about
from toolyard.relay.guards import CallGuard, Deliver, MakeGuard
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest
from toolyard.wire.jsonrpc import Fields, Message


class RuleGuards:
    """Says which tools rules are about."""

    def __init__(self, asking: CallAsking) -> None:
        self._asking = asking

    def look_at(self, snapshot: Snapshot) -> MakeGuard | None:
        """Return what makes guards by the rules of a picture; None if it has none."""
        rules = snapshot.rules
        return partial(self._guard, snapshot, rules) if rules else None

    def _guard(
        self, snapshot: Snapshot, all_rules: tuple[CallRule, ...], entry: Entry, tool: Offer
    ) -> CallGuard | None:
        rules = rules_about(snapshot, all_rules, entry, tool)
        if not rules:
            return None
        offered = next((o for o in entry.offers.tools if o.key == tool.key), tool)
        # Not as a profile describes it: as it was approved.
        return RuleGuard(rules, part_hash(("tools", tool.key), offered.raw), self._asking)


@dataclass(frozen=True, slots=True)
class RuleGuard:
    """Stops the calls of one tool that rules are about."""

    rules: tuple[CallRule, ...]
    tool_mark: str
    asking: CallAsking

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Let a call pass if no rule is about it, or once somebody has said yes."""
        facts = facts_of(request, fields)
        rules = [rule for rule in self.rules if rule.applies(facts)]
        if not rules:
            return await deliver(fields)
        refusing = next((rule for rule in rules if rule.says == "refuse"), None)
        if refusing is not None:
            return tell(request, _refusal(refusing, route))
        return await self.asking.serve(request, fields, route, self.tool_mark, rules, deliver)


def _refusal(rule: CallRule, route: Route) -> str:
    if rule.fault:
        text = f"calls of '{route.key}' of '{route.alias}' are refused: rule '{rule.name}' is"
        return f"{text} damaged ({rule.fault}). Whoever runs the hub corrects rules.json."
    reason = f" ({rule.reason})" if rule.reason else ""
    return f"rule '{rule.name}' refuses this call of '{route.key}' of '{route.alias}'{reason}."
