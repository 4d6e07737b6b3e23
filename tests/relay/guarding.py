"""Guards that the tests bring along, as a feature would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from toolyard.core.errors import ConfigError
from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.feature import Feature
from toolyard.relay.guards import CallGuard, Deliver, GuardMaker, MakeGuard
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message
from toolyard.yard import Yard

FEATURE: Final = Feature("tests.relay", guards="guarding:makers")


@dataclass(frozen=True, slots=True)
class Adds:
    """Adds a letter to the text on its way, and to the result on its way back."""

    letter: str

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Change the call and its result."""
        arguments = jsonrpc.to_python(fields["arguments"])
        changed = Raw(jsonrpc.encode({**arguments, "text": arguments["text"] + self.letter}))
        message = await deliver({**fields, "arguments": changed})
        result = jsonrpc.to_python(message.result)
        result["content"].append({"type": "text", "text": self.letter})
        return Message(result=Raw(jsonrpc.encode(result)))


@dataclass(frozen=True, slots=True)
class Refuses:
    """Lets nothing pass."""

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Refuse the call."""
        raise ConfigError(f"not {route.key} of {route.alias}", "ask somebody else")


@dataclass(frozen=True, slots=True)
class GuardsTools:
    """Puts one guard in front of all tools of these names."""

    instance: CallGuard
    tools: frozenset[str]

    def look_at(self, snapshot: Snapshot) -> MakeGuard | None:
        """Return what makes guards by a picture."""
        return self._guard

    def _guard(self, entry: Entry, tool: Offer) -> CallGuard | None:
        return self.instance if tool.key in self.tools else None


def makers(yard: Yard) -> Iterable[GuardMaker]:
    """Two guards of `echo`, and one of `env`."""
    yield GuardsTools(Adds("a"), frozenset({"echo"}))
    yield GuardsTools(Adds("b"), frozenset({"echo"}))
    yield GuardsTools(Refuses(), frozenset({"env"}))
