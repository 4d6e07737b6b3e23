"""The reason why an agent gets a server or tool, or does not: what decided, and what led there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from toolyard.core.agents import AgentServer, Roster
from toolyard.core.errors import UnknownNameError
from toolyard.core.lookup import find_tools
from toolyard.core.model import Entry, Snapshot
from toolyard.core.names import closest
from toolyard.core.plans import Plan, Refusal, Resolution, Step

Verdict = Literal["given", "refused", "disabled", "not-listed", "held", "failing"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reason why an agent is given something, or is not."""

    name: str
    agent: str
    executor: str
    verdict: Verdict
    text: str
    hint: str = ""
    server: str = ""
    """The name on the agent's list, or in the yard if it is not on the list."""
    tool: str = ""
    decided: Step | None = None
    """The first step that made it other than was asked for."""
    steps: tuple[Step, ...] = ()
    plan: Plan | None = None
    refusal: Refusal | None = None
    also: tuple[str, ...] = field(default=())
    """Other servers on the list with a tool of that name."""


def explain(name: str, resolution: Resolution, snapshot: Snapshot, roster: Roster) -> Explanation:
    """Explain a name: of a server on the list, of a tool, or of a server of the yard.

    Raises:
        UnknownNameError: Nobody knows it.
    """
    return _Explainer(name, resolution, snapshot, roster).explain()


class _Explainer:
    def __init__(
        self, name: str, resolution: Resolution, snapshot: Snapshot, roster: Roster
    ) -> None:
        self.name = name
        self.resolution = resolution
        self.snapshot = snapshot
        self.roster = roster
        self.title = roster.agent(resolution.agent).title

    def _make(self, verdict: Verdict, text: str, hint: str = "", **more: Any) -> Explanation:
        resolution = self.resolution
        return Explanation(
            self.name, resolution.agent, resolution.executor, verdict, text, hint, **more
        )

    def explain(self) -> Explanation:
        if not self.resolution.enabled:
            return self._disabled()
        outcomes: tuple[Plan | Refusal, ...] = (*self.resolution.plans, *self.resolution.refusals)
        for outcome in outcomes:
            if outcome.name == self.name:
                return self._of(outcome)
        offering = [(outcome, tool) for outcome in outcomes for tool in self._tools(outcome)]
        if offering:
            (first, tool), *others = offering
            return self._of(first, tool, tuple(outcome.name for outcome, _ in others))
        return self._elsewhere()

    def _disabled(self) -> Explanation:
        agent, executor = self.resolution.agent, self.resolution.executor
        override = self.roster.overrides.get((agent, executor))
        if override is not None and override.enabled is False:
            text = f"{self.title} is given nothing with {executor}: the override switches it off"
            hint = f"see: toolyard agent show {agent} --executor {executor}"
            step = Step("load", f"override {agent} x {executor}", "enabled is false", decides=True)
        else:
            text = f"{self.title} is given nothing: its list is switched off"
            hint = f"switch it on with: toolyard agent enable {agent}"
            step = Step("load", f"the list of {agent}", "enabled is false", decides=True)
        return self._make("disabled", text, hint, decided=step, steps=(step,))

    def _of(
        self, outcome: Plan | Refusal, tool: str = "", also: tuple[str, ...] = ()
    ) -> Explanation:
        """Of one that is on the list, and perhaps of one of its tools."""
        decided = next((step for step in outcome.steps if step.decides), None)
        make = partial(
            self._make,
            server=outcome.name,
            tool=tool,
            also=also,
            decided=decided,
            steps=outcome.steps,
        )
        thing = f"{tool!r} of {outcome.name!r}" if tool else f"{outcome.name!r}"
        if isinstance(outcome, Refusal):
            text = f"{thing} is left out: {outcome.text}"
            return make("refused", text, outcome.hint, refusal=outcome)
        state = self._state(self._entry(outcome), outcome, tool)
        if state is not None:
            return make(*state, plan=outcome)
        how = f"over {outcome.transport}, {outcome.mode.replace('_', ' ')}"
        by = ", through the hub" if outcome.via == "hub" else ""
        return make("given", f"{self.title} is given {thing} {how}{by}", plan=outcome)

    def _state(self, entry: Entry | None, plan: Plan, tool: str) -> tuple[Verdict, str, str] | None:
        """The trouble that keeps a server or tool that is given from being used, if any."""
        if entry is None:
            return None
        if tool and tool in entry.held.tools:
            text = f"{tool!r} of {plan.name!r} changed since it was approved, and waits"
            return "held", text, f"look with: toolyard approve {entry.alias} --dry-run"
        if tool and tool in entry.unfit:
            text = f"{tool!r} of {plan.name!r} is left out: its inputSchema is not of type object"
            return "failing", text, "its author has to correct it"
        problem = entry.server.problem or entry.problem
        if problem is not None:
            return "failing", f"{plan.name!r} is given, and fails: {problem.text}", problem.hint
        return None

    def _elsewhere(self) -> Explanation:
        agent = self.resolution.agent
        for entry in self.snapshot.entries.values():
            if entry.server.agents:
                continue
            offer = next(find_tools(self.name, (entry.alias,), entry), None)
            tool = offer.key if offer is not None else ""
            if tool or self.name in (entry.alias, str(entry.server.id)):
                thing = f"{tool!r} is a tool of {entry.alias!r}, which" if tool else repr(self.name)
                step = Step("load", f"the list of {agent}", "it is not on it", decides=True)
                return self._make(
                    "not-listed",
                    f"{thing} is in the yard, and not on the list of {self.title}",
                    f"give it: toolyard agent add-server {agent} {entry.alias}"
                    f" --server {entry.alias}",
                    server=entry.alias,
                    tool=tool,
                    decided=step,
                    steps=(step,),
                )
        raise self._unknown()

    def _unknown(self) -> UnknownNameError:
        names = [plan.name for plan in self.resolution.plans]
        names += [refusal.name for refusal in self.resolution.refusals]
        for entry in self.snapshot.entries.values():
            if not entry.server.agents or self.resolution.agent in entry.server.agents:
                names += [entry.alias, *(offer.key for offer in entry.offers.tools)]
        near = closest(self.name, dict.fromkeys(names))
        hint = f"did you mean {', '.join(near)}?" if near else "see: toolyard tools"
        return UnknownNameError(f"nobody knows a server or tool {self.name[:80]!r}", hint)

    def _tools(self, outcome: Plan | Refusal) -> Iterator[str]:
        entry = self._entry(outcome)
        if entry is not None:
            for offer in find_tools(self.name, (outcome.name, entry.alias), entry):
                yield offer.key

    def _entry(self, outcome: Plan | Refusal) -> Entry | None:
        """The server of the picture that is meant, also if it was refused."""
        if isinstance(outcome, Plan):
            return self.snapshot.entries.get(outcome.server) if outcome.server else None
        override = self.roster.overrides.get((self.resolution.agent, self.resolution.executor))
        servers = self.roster.config(self.resolution.agent).servers
        if override is not None:
            servers = (*override.servers, *servers)
        listed = next((server for server in servers if server.name == outcome.name), None)
        if listed is None:
            return None
        for entry in self.snapshot.entries.values():
            names = (entry.alias, str(entry.server.id))
            if listed.server in names if listed.server else _is_own(entry, listed):
                return entry
        return None


def _is_own(entry: Entry, listed: AgentServer) -> bool:
    return bool(entry.server.agents) and entry.server.endpoint == listed.endpoint
