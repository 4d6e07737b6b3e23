"""Decides which servers a run of an agent gets, how each is reached, and why: pure, no I/O.

    load -> policy -> mode -> agent

Every server that was asked for comes out as a plan or as a refusal, whatever becomes of the
others, and each carries the steps that led there. Secrets stay references.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from toolyard.core.agents import (
    AgentServer,
    Mode,
    Transport,
    matching,
)
from toolyard.core.model import Command, Endpoint, ServerId, Url
from toolyard.core.names import closest
from toolyard.core.plans import Plan, Refusal, Resolution, Stage, Step, Terms, Via
from toolyard.core.rewrite import at_host, is_loopback, rewrite
from toolyard.core.sharing import Asking

TOKEN: Final = "Bearer ${TOOLYARD_TOKEN}"  # noqa: S105 - a reference, filled in at delivery
TWINS: Final[Mapping[Transport, Transport]] = {
    "http": "streamable_http",
    "streamable_http": "http",
}
"""Two names of one thing on the wire."""


class _RefusedError(Exception):
    def __init__(self, code: str, rule: str, text: str, hint: str) -> None:
        super().__init__(text)
        self.code, self.rule, self.hint = code, rule, hint


def resolve(terms: Terms) -> Resolution:
    """Decide about every server on an agent's list; the same terms give the same answer."""
    override = terms.override
    enabled = terms.config.enabled
    if override is not None and override.enabled is not None:
        enabled = override.enabled
    resolution = Resolution(terms.agent.id, terms.executor, terms.session, enabled)
    if not enabled:
        return resolution
    listed = {server.name: (server, "list") for server in terms.config.servers}
    without: frozenset[str] = frozenset()
    if override is not None:
        listed |= {server.name: (server, "override") for server in override.servers}
        without = frozenset(override.without)
    plans: list[Plan] = []
    refusals: list[Refusal] = []
    for name in sorted(listed):
        draft = _Draft(terms, *listed[name])
        try:
            plans.append(draft.resolve(left_out=name in without))
        except _RefusedError as no:
            last = Step(draft.stage, no.rule, str(no), decides=True)
            steps = (*draft.steps, last)
            refusals.append(Refusal(name, no.code, no.rule, str(no), no.hint, steps))
    return replace(resolution, plans=tuple(plans), refusals=tuple(refusals))


class _Draft:
    """One server on its way through the stages."""

    def __init__(self, terms: Terms, listed: AgentServer, origin: str) -> None:
        self.terms = terms
        self.wanted = listed
        self.origin = origin
        self.name = listed.name
        self.stage: Stage = "load"
        self.steps: list[Step] = []
        self.via: Via = "direct"
        self.server: ServerId | None = None
        self.shareable: bool | None = None
        self.asking: Asking | None = None
        self.transport: Transport = "stdio"
        self.process: Endpoint = Command(())
        self.mode: Mode = listed.mode
        self.home = ""
        """The executor that its own entry has it run at."""

    def note(self, rule: str, text: str, *, decides: bool = False) -> None:
        self.steps.append(Step(self.stage, rule, text, decides))

    def resolve(self, *, left_out: bool) -> Plan:
        self._load(left_out=left_out)
        self.stage = "policy"
        self._check_lists()
        self._check_transport()
        self._inject()
        self.stage = "mode"
        self._choose_mode()
        self.stage = "agent"
        endpoint = self._deliver()
        return Plan(
            self.name,
            self.transport,
            self.mode,
            endpoint,
            self.process,
            self.via,
            self._place(),
            self.server,
            tuple(self.steps),
        )

    # 1. Load.

    def _load(self, *, left_out: bool) -> None:
        listed, terms = self.wanted, self.terms
        pair = f"{terms.agent.id} x {terms.executor}"
        if left_out:
            raise _RefusedError(
                "left-out",
                f"override {pair}",
                f"the override for {pair} leaves it out",
                f"see: toolyard agent show {terms.agent.id} --executor {terms.executor}",
            )
        whose = f"override {pair}" if self.origin == "override" else f"the list of {terms.agent.id}"
        if listed.endpoint is None:
            self._refer(whose)
            return
        self.note(whose, f"defined there, over {listed.type}")
        self.transport = listed.type or "stdio"
        self.process = listed.endpoint
        self.server = terms.own.get(self.process)
        server = terms.yard.get(str(self.server))
        if server is not None:
            self.shareable, self.asking = server.shareable, server.asking

    def _refer(self, whose: str) -> None:
        server = self.terms.yard.get(self.wanted.server)
        if server is None:
            near = closest(self.wanted.server, self.terms.yard)
            hint = f"did you mean {', '.join(near)}?" if near else "see: toolyard list"
            text = f"the yard knows no server {self.wanted.server!r}"
            raise _RefusedError("unknown-server", whose, text, hint)
        if not server.enabled:
            text = f"the yard's server {str(server.id)!r} is switched off"
            hint = f"switch it on with: toolyard server enable {server.id.name}"
            raise _RefusedError("switched-off", str(server.id), text, hint)
        if server.trouble:
            raise _RefusedError("not-usable", str(server.id), server.trouble, server.hint)
        self.server, self.process = server.id, server.endpoint
        self.shareable, self.asking = server.shareable, server.asking
        if isinstance(server.endpoint, Url):
            self.transport = "sse" if server.endpoint.kind == "sse" else "http"
        elif server.executor not in ("", "local"):
            self.home = server.executor
        self.note(whose, f"stands for the yard's server '{server.id}', over {self.transport}")

    # 2. What the executor's policy allows and changes.

    def _check_lists(self) -> None:
        policy, of = self.terms.policy, self.terms.policy_of
        if pattern := matching(policy.deny, self.name):
            text = f"the policy of {of} denies {pattern!r}"
            hint = f"take it off 'deny': toolyard policy show {self.terms.executor}"
            raise _RefusedError("denied", f"deny {pattern!r}", text, hint)
        if policy.allow:
            pattern = matching(policy.allow, self.name)
            if not pattern:
                text = f"the policy of {of} allows only {', '.join(policy.allow)}"
                hint = f"put it on 'allow': toolyard policy show {self.terms.executor}"
                raise _RefusedError("not-allowed", "allow", text, hint)
            self.note(f"allow {pattern!r}", f"allowed by the policy of {of}")

    def _check_transport(self) -> None:
        policy, transport = self.terms.policy, self.transport
        if policy.allows(transport):
            return
        rule = f"allow_{transport} = false"
        text = f"the policy of {self.terms.policy_of} does not allow {transport}"
        if transport == "stdio" and policy.stdio_proxy and self.terms.hub:
            self.via = "hub"
            self.note(rule, f"{text}; the hub runs it and offers it over HTTP", decides=True)
            return
        hint = f"allow it: toolyard policy set {self.terms.executor} allow_{transport}=true"
        if transport == "stdio":
            hint += ", or stdio_proxy=true so that the hub offers it over HTTP"
        raise _RefusedError("transport-refused", rule, text, hint)

    def _inject(self) -> None:
        process, policy = self.process, self.terms.policy
        if not isinstance(process, Command) or not policy.env_injection:
            return
        env = dict(process.env)
        may = matching(policy.env_override, self.name)
        for name, value in policy.env_injection:
            own = name in env and env[name] != value
            if own and may:
                text = f"its own {name} is kept: 'env_override' allows it"
                self.note(f"env_override {may!r}", text, decides=True)
                continue
            text = f"{name} is set by the policy of {self.terms.policy_of}"
            self.note("env_injection", f"{text}, over its own" if own else text, decides=own)
            env[name] = value
        self.process = Command(process.argv, tuple(env.items()), process.cwd)

    def _rewrite(self, url: Url) -> Url:
        """The address as it is from the executor; a rule of the policy goes before all else."""
        changed, rule = rewrite(url.url, self.terms.policy.http_url_rewrite)
        if rule:
            self.steps.append(Step("policy", f"http_url_rewrite {rule!r}", "rewritten", True))
            return replace(url, url=changed)
        if self.terms.loopback and is_loopback(url.url):
            text = f"this machine is {self.terms.loopback!r} there"
            self.steps.append(Step("policy", f"reach {self.terms.executor}", text, True))
            return replace(url, url=at_host(url.url, self.terms.loopback))
        return url

    # 3. One process for all, or one for each session.

    def _choose_mode(self) -> None:
        stdio = isinstance(self.process, Command)
        if self.mode == "auto":
            if self.asking is not None:
                self.mode = "per_session"
                self.note("auto", f"per_session: {self.asking.reason}")
            elif stdio and self.shareable:
                self.mode = "shared"
                self.note("auto", "shared: sessions were tried and can share a process of it")
            else:
                self.mode = "per_session" if stdio else "shared"
                self.note("auto", f"{self.mode}, as usual for {self.transport}")
        elif self.mode == "shared" and self.asking is not None and self.asking.question:
            self.note("asks", f"{self.asking.reason}, so clients that share it call in turn")
        if stdio and self.via == "direct" and (bound := self._bound()):
            text = f"{bound}, and is reached through the hub's own endpoint"
            self._go_behind_hub("runs-elsewhere", text, bound)
        elif stdio and self.via == "direct" and self.mode == "shared":
            text = "a stdio server is shared through the hub's own endpoint"
            why = "one process for all sessions, behind the hub's own endpoint"
            self._go_behind_hub("shared-stdio", text, why, ", or mode 'per_session'")

    def _bound(self) -> str:
        """The reason why no agent can start it by itself; empty if one can."""
        if self.home:
            return f"it runs on {self.home}"
        is_of_image = isinstance(self.process, Command) and not any(self.process.argv[:1])
        return "it is started by its image" if is_of_image else ""

    def _go_behind_hub(self, code: str, text: str, why: str, otherwise: str = "") -> None:
        terms = self.terms
        if not terms.policy.stdio_proxy or not terms.hub:
            lacks = "is off" if terms.hub else f"cannot be reached from {terms.executor}"
            hint = f"set stdio_proxy=true for {terms.executor}{otherwise}"
            raise _RefusedError(code, "stdio_proxy = false", f"{text}, which {lacks}", hint)
        self.via = "hub"
        self.note("stdio_proxy", why)

    def _place(self) -> str:
        """A process for one session runs where that session does; one for all, beside the hub.

        One whose entry says where it runs, runs there.
        """
        alone = self.mode == "per_session" and isinstance(self.process, Command) and not self.home
        can_start = self.terms.is_site and self.terms.policy.allow_stdio
        return self.terms.executor if alone and can_start else ""

    # 4. What the agent itself can take.

    def _deliver(self) -> Endpoint:
        agent = self.terms.agent
        self._look_from_there()
        if self.via == "direct":
            if self._respell(self.transport):
                own = self.process
                return self._rewrite(own) if isinstance(own, Url) else own
            rule, transport = f"{agent.id} takes {', '.join(agent.transports)}", self.transport
            if not self.terms.hub or not self.terms.policy.stdio_proxy:
                hint = "give it a server over another transport, or let the hub stand in"
                raise _RefusedError(
                    "agent-cannot", rule, f"{agent.title} takes no {transport}", hint
                )
            self.via = "hub"
            text = f"{agent.title} takes no {transport}; the hub stands in"
            self.note(rule, text, decides=True)
        return self._behind_hub()

    def _look_from_there(self) -> None:
        """An address of our loopback means another machine elsewhere: the hub stands in."""
        terms, process = self.terms, self.process
        if self.via == "hub" or not terms.is_far or not isinstance(process, Url):
            return
        if not is_loopback(process.url) or rewrite(process.url, terms.policy.http_url_rewrite)[1]:
            return
        text = f"its address is of this machine, which {terms.executor} reaches only"
        rule = f"reach {terms.executor}"
        if not terms.hub or not terms.policy.stdio_proxy or self._is_cut_off(terms.hub):
            hint = f"say what stands for it: toolyard policy set {terms.executor} http_url_rewrite"
            raise _RefusedError("out-of-reach", rule, f"{text} through the hub, if at all", hint)
        self.via = "hub"
        self.note(rule, f"{text} through the hub, which stands in", decides=True)

    def _is_cut_off(self, url: str) -> bool:
        """Tell whether an address is of our loopback, and nobody named the place to reach it from.

        To a place that was named, a way is opened.
        """
        terms = self.terms
        changed, _ = rewrite(url, terms.policy.http_url_rewrite)
        return terms.is_far and not terms.is_site and is_loopback(changed)

    def _respell(self, transport: Transport) -> bool:
        """Take a transport by this or its twin's name; return whether agent and policy allow it."""
        for name in (transport, TWINS.get(transport)):
            if name in self.terms.agent.transports and self.terms.policy.allows(name):
                if name != self.transport:
                    self.note(f"{self.terms.agent.id} calls it {name}", f"{transport} is {name}")
                self.transport = name
                return True
        return False

    def _behind_hub(self) -> Endpoint:
        """The hub's endpoint for this one server, as an address or as a command."""
        terms = self.terms
        if self._respell("http"):
            where = f"/mcp/a/{quote(terms.agent.id)}/e/{quote(terms.executor)}/s/{quote(self.name)}"
            url = Url(terms.hub.rstrip("/") + where, "http", (("Authorization", TOKEN),))
            if self._is_cut_off(url.url):
                raise self._no_way_back()
            return self._rewrite(url)
        if "stdio" in terms.agent.transports and terms.policy.allow_stdio:
            self.transport = "stdio"
            flags = ("--agent", terms.agent.id, "--executor", terms.executor)
            return Command((*terms.program, "mcp", *flags, "--server", self.name))
        rule = f"{terms.agent.id} takes {', '.join(terms.agent.transports)}"
        text = f"no transport is left that {terms.agent.title} takes and the policy allows"
        hint = f"allow http or stdio: toolyard policy show {terms.executor}"
        raise _RefusedError("agent-cannot", rule, text, hint)

    def _no_way_back(self) -> _RefusedError:
        where = self.terms.executor
        text = f"it is reached through the hub, whose address is of this machine and not of {where}"
        hint = f"name the place: toolyard executor add NAME --type {where.removeprefix('remote-')}"
        hint += f", or say what stands for it: toolyard policy set {where} http_url_rewrite"
        return _RefusedError("out-of-reach", f"reach {where}", text, hint)
