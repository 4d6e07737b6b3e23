"""Which servers a run gets: a table of cases, and what holds for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.agentfiles import read_config, read_override, read_policy
from toolyard.core.agents import KNOWN_AGENTS, TRANSPORTS, Agent, AgentConfig, Policy
from toolyard.core.model import Command, Endpoint, ServerId, Url
from toolyard.core.plans import Known, Resolution, Terms
from toolyard.core.resolve import resolve
from toolyard.core.sharing import Asking

HUB = "http://127.0.0.1:7391"
STDIO = {"command": "git-server", "args": ["--all"], "env": {"A": "own"}}
HTTP = {"type": "http", "url": "http://localhost:3000/mcp", "headers": {"X-A": "b"}}
SSE = {"type": "sse", "url": "http://localhost:3001/sse"}
STREAM = {"type": "streamable_http", "url": "https://box.example/mcp"}


def ask(
    servers: dict[str, Any],
    agent: str = "claude-code",
    policy: dict[str, Any] | None = None,
    **terms: Any,
) -> Resolution:
    config = read_config(agent, {"enabled": True, "servers": servers})
    made = Terms(KNOWN_AGENTS[agent], config, policy=read_policy(policy or {}), hub=HUB)
    return resolve(replace(made, **terms))


def rules(resolution: Resolution) -> list[str]:
    return [step.rule for each in resolution.plans for step in each.steps if step.decides]


@pytest.mark.parametrize(
    ("server", "agent", "policy", "transport", "mode", "via"),
    [
        (STDIO, "claude-code", {}, "stdio", "per_session", "direct"),
        (HTTP, "claude-code", {}, "http", "shared", "direct"),
        (SSE, "claude-code", {}, "sse", "shared", "direct"),
        (STREAM, "codex", {}, "streamable_http", "shared", "direct"),
        (HTTP, "codex", {}, "streamable_http", "shared", "direct"),
        (STREAM, "claude-code", {}, "http", "shared", "direct"),
        (SSE, "codex", {}, "streamable_http", "shared", "hub"),
        (SSE, "codex", {"allow_streamable_http": False, "allow_http": False}, "stdio", "shared",
         "hub"),
        (STDIO | {"mode": "shared"}, "claude-code", {}, "http", "shared", "hub"),
        (STDIO | {"mode": "shared"}, "codex", {}, "streamable_http", "shared", "hub"),
        (STDIO | {"mode": "per_session"}, "codex", {}, "stdio", "per_session", "direct"),
        (HTTP | {"mode": "per_session"}, "claude-code", {}, "http", "per_session", "direct"),
        (STDIO, "codex", {"allow_stdio": False}, "streamable_http", "per_session", "hub"),
        (STDIO, "codex", {"allow": ["s*"]}, "stdio", "per_session", "direct"),
        ({"server": "yard"}, "codex", {}, "stdio", "per_session", "direct"),
        ({"server": "yard@catalog", "mode": "shared"}, "codex", {}, "streamable_http", "shared",
         "hub"),
        ({"server": "image"}, "codex", {}, "streamable_http", "per_session", "hub"),
        ({"server": "far"}, "codex", {}, "streamable_http", "per_session", "hub"),
    ],
)  # fmt: skip
def test_a_server_is_planned(
    server: dict[str, Any],
    agent: str,
    policy: dict[str, Any],
    transport: str,
    mode: str,
    via: str,
) -> None:
    known = Known(ServerId("yard", "catalog"), Command(("yard",)))
    image = Known(ServerId("image", "configured"), Command(("", "--all")))
    far = Known(ServerId("far", "configured"), Command(("x",)), executor="engine")
    yard = {"yard": known, "yard@catalog": known, "image": image, "far": far}
    made = ask({"s": server}, agent, policy, yard=yard)
    assert made.refusals == ()
    [plan] = made.plans
    assert (plan.transport, plan.mode, plan.via) == (transport, mode, via)
    if via == "hub" and transport != "stdio":
        assert isinstance(plan.endpoint, Url)
        assert plan.endpoint.url == f"{HUB}/mcp/a/{agent}/e/local/s/s"
        assert plan.headers == (("Authorization", "Bearer ${TOOLYARD_TOKEN}"),)
    elif via == "hub":
        assert isinstance(plan.endpoint, Command)
        assert plan.endpoint.argv[-2:] == ("--server", "s")


@pytest.mark.parametrize(
    ("server", "agent", "policy", "code", "rule"),
    [
        (STDIO, "codex", {"deny": ["s"]}, "denied", "deny 's'"),
        (STDIO, "codex", {"deny": ["s"], "allow": ["s"]}, "denied", "deny 's'"),
        (STDIO, "codex", {"allow": ["other"]}, "not-allowed", "allow"),
        (HTTP, "codex", {"allow_http": False}, "transport-refused", "allow_http = false"),
        (SSE, "cursor", {"allow_sse": False}, "transport-refused", "allow_sse = false"),
        (STDIO, "codex", {"allow_stdio": False, "stdio_proxy": False}, "transport-refused",
         "allow_stdio = false"),
        (STDIO | {"mode": "shared"}, "codex", {"stdio_proxy": False}, "shared-stdio",
         "stdio_proxy = false"),
        (SSE, "codex", {"stdio_proxy": False}, "agent-cannot",
         "codex takes stdio, streamable_http"),
        (STDIO, "codex",
         {"allow_stdio": False, "allow_http": False, "allow_streamable_http": False},
         "agent-cannot", "codex takes stdio, streamable_http"),
        ({"server": "nobody"}, "codex", {}, "unknown-server", "the list of codex"),
        ({"server": "off"}, "codex", {}, "switched-off", "off@configured"),
        ({"server": "held"}, "codex", {}, "not-usable", "held@project"),
        ({"server": "far"}, "codex", {"stdio_proxy": False}, "runs-elsewhere",
         "stdio_proxy = false"),
    ],
)  # fmt: skip
def test_a_server_is_refused_with_the_rule_and_a_hint(
    server: dict[str, Any], agent: str, policy: dict[str, Any], code: str, rule: str
) -> None:
    yard = {
        "off": Known(ServerId("off", "configured"), Command(("x",)), enabled=False),
        "far": Known(ServerId("far", "configured"), Command(("x",)), executor="engine"),
        "held": Known(ServerId("held", "project"), Command(("x",)), trouble="waits", hint="look"),
    }
    made = ask({"good": HTTP | {"type": "sse"}, "s": server}, agent, policy, yard=yard)
    [refusal] = [each for each in made.refusals if each.name == "s"]
    assert (refusal.code, refusal.rule) == (code, rule)
    assert refusal.text
    assert refusal.hint
    assert refusal.steps[-1].decides


def test_an_agent_that_is_off_gets_nothing() -> None:
    config = replace(
        read_config("codex", {"enabled": True, "servers": {"s": STDIO}}), enabled=False
    )
    made = resolve(Terms(KNOWN_AGENTS["codex"], config, hub=HUB))
    assert (made.enabled, made.plans, made.refusals) == (False, (), ())


def test_the_policy_sets_variables_unless_the_server_may_override() -> None:
    policy: dict[str, Any] = {"env_injection": {"A": "policy", "B": "new"}}
    [plan] = ask({"s": STDIO}, policy=policy).plans
    assert dict(plan.env) == {"A": "policy", "B": "new"}
    assert any("over its own" in step.text for step in plan.steps)
    [plan] = ask({"s": STDIO}, policy={**policy, "env_override": ["s"]}).plans
    assert dict(plan.env) == {"A": "own", "B": "new"}
    assert any("is kept" in step.text for step in plan.steps)


def test_addresses_are_rewritten_as_the_policy_says_and_loopback_as_the_place_is_reached() -> None:
    [plan] = ask({"s": HTTP}, policy={"http_url_rewrite": {"localhost": "svc"}}).plans
    assert isinstance(plan.endpoint, Url)
    assert plan.endpoint.url == "http://svc:3000/mcp"
    assert plan.headers == (("X-A", "b"),)
    [plan] = ask({"s": HTTP}, loopback="host.docker.internal", executor="docker").plans
    assert isinstance(plan.endpoint, Url)
    assert plan.endpoint.url == "http://host.docker.internal:3000/mcp"
    assert "reach docker" in [step.rule for step in plan.steps]
    [plan] = ask({"s": STREAM}, loopback="host.docker.internal").plans
    assert isinstance(plan.endpoint, Url)
    assert plan.endpoint.url == "https://box.example/mcp"


def test_what_is_only_on_our_loopback_goes_through_the_hub_from_afar() -> None:
    [plan] = ask({"s": HTTP}, is_site=True, is_far=True, executor="box").plans
    assert (plan.via, plan.process) == (
        "hub",
        Url("http://localhost:3000/mcp", headers=(("X-A", "b"),)),
    )
    [plan] = ask({"s": STREAM}, is_site=True, is_far=True, executor="box").plans
    assert plan.via == "direct"
    policy = {"http_url_rewrite": {"localhost": "svc"}}
    [plan] = ask({"s": HTTP}, policy=policy, is_far=True, executor="box").plans
    assert plan.via == "direct"
    [refusal] = ask({"s": HTTP}, is_far=True, executor="box", hub="").refusals
    assert refusal.code == "out-of-reach"


@pytest.mark.parametrize("server", [HTTP, {**STDIO, "mode": "shared"}])
def test_no_loopback_address_is_planned_for_a_far_place_that_nobody_named(
    server: dict[str, Any],
) -> None:
    far: dict[str, Any] = {"is_far": True, "executor": "kubernetes"}
    [refusal] = ask({"s": server}, **far).refusals
    assert refusal.code == "out-of-reach"
    assert "toolyard policy set kubernetes http_url_rewrite" in refusal.hint
    policy = {"http_url_rewrite": {"localhost": "svc", "127.0.0.1": "svc"}}
    [plan] = ask({"s": server}, policy=policy, **far).plans
    assert isinstance(plan.endpoint, Url) and plan.endpoint.url.startswith("http://svc")
    [plan] = ask({"s": server}, hub="http://hub.example", **far).plans
    assert plan.via == "hub"


def test_a_process_for_one_session_runs_where_the_session_does() -> None:
    there: dict[str, Any] = {"is_site": True, "is_far": True, "executor": "box"}
    [plan] = ask({"s": STDIO}, **there).plans
    assert (plan.mode, plan.place) == ("per_session", "box")
    [plan] = ask({"s": STDIO | {"mode": "shared"}}, **there).plans
    assert (plan.mode, plan.place) == ("shared", "")
    [plan] = ask({"s": STDIO}, policy={"allow_stdio": False}, **there).plans
    assert (plan.mode, plan.place, plan.via) == ("per_session", "", "hub")


def test_an_override_adds_replaces_leaves_out_and_switches() -> None:
    said = {"servers": {"new": HTTP, "s": SSE, "gone": None}}
    override = read_override("claude-code", "local", said)
    made = ask({"s": STDIO, "gone": STDIO, "stays": STDIO}, override=override)
    assert {plan.name: plan.transport for plan in made.plans} == {
        "new": "http",
        "s": "sse",
        "stays": "stdio",
    }
    assert [(each.name, each.code) for each in made.refusals] == [("gone", "left-out")]
    off = replace(override, enabled=False)
    assert ask({"s": STDIO}, override=off).plans == ()


def test_what_was_tried_decides_whether_a_process_is_shared() -> None:
    known = Known(ServerId("yard", "catalog"), Command(("yard",)), shareable=True)
    [plan] = ask({"s": {"server": "yard"}}, yard={"yard": known}).plans
    assert (plan.mode, plan.via) == ("shared", "hub")
    alone = replace(known, shareable=False)
    [plan] = ask({"s": {"server": "yard"}}, yard={"yard": alone}).plans
    assert (plan.mode, plan.via) == ("per_session", "direct")


@pytest.mark.parametrize("endpoint", [Command(("yard",)), Url("http://localhost:1/mcp")])
def test_a_server_that_asks_runs_for_each_session_unless_somebody_chose_to_share_it(
    endpoint: Endpoint,
) -> None:
    asking = Asking("as now", "elicitation/create")
    known = Known(ServerId("yard", "catalog"), endpoint, shareable=True, asking=asking)
    (plan,) = ask({"x": {"server": "yard"}}, yard={"yard": known}).plans
    assert plan.mode == "per_session"
    assert any("elicitation/create" in step.text for step in plan.steps)
    (plan,) = ask({"x": {"server": "yard", "mode": "shared"}}, yard={"yard": known}).plans
    assert plan.mode == "shared"
    assert any("call in turn" in step.text for step in plan.steps)


# What holds for any terms.


NAMES = st.sampled_from(["a", "b", "c", "git", "web", "x-1"])
SERVERS = st.one_of(
    st.builds(
        lambda mode: STDIO | {"mode": mode}, st.sampled_from(["auto", "shared", "per_session"])
    ),
    st.builds(
        lambda each, mode: each | {"mode": mode},
        st.sampled_from([HTTP, SSE, STREAM]),
        st.sampled_from(["auto", "shared", "per_session"]),
    ),
    st.sampled_from([{"server": each} for each in ("yard", "far", "nobody", "off")]),
)
POLICIES = st.builds(
    Policy,
    allow_stdio=st.booleans(),
    allow_http=st.booleans(),
    allow_sse=st.booleans(),
    allow_streamable_http=st.booleans(),
    stdio_proxy=st.booleans(),
    allow=st.lists(NAMES | st.just("*"), max_size=2).map(tuple),
    deny=st.lists(NAMES, max_size=2).map(tuple),
    http_url_rewrite=st.sampled_from([(), (("localhost", "svc"),)]),
    env_injection=st.sampled_from([(), (("A", "policy"),)]),
    env_override=st.sampled_from([(), ("a",)]),
)  # fmt: skip
AGENTS = st.sampled_from(list(KNOWN_AGENTS.values())) | st.builds(
    lambda t: Agent("own", "Own", tuple(t), own=True),
    st.lists(st.sampled_from(TRANSPORTS), min_size=1, unique=True),
)
YARD = {
    "yard": Known(ServerId("yard", "catalog"), Command(("yard",))),
    "far": Known(ServerId("far", "catalog"), Command(("far",)), executor="engine"),
    "off": Known(ServerId("off", "catalog"), Command(("off",)), enabled=False),
}


def config_of(servers: dict[str, Any]) -> AgentConfig:
    return read_config("own", {"enabled": True, "servers": servers})


TERMS = st.builds(
    lambda agent, servers, policy, hub, loopback, far: Terms(
        agent,
        config_of(servers),
        policy=policy,
        hub=hub,
        loopback=loopback,
        yard=YARD,
        is_site=far,
        is_far=far and not loopback,
    ),
    AGENTS,
    st.dictionaries(NAMES, SERVERS, max_size=6),
    POLICIES,
    st.sampled_from(["", HUB]),
    st.sampled_from(["", "host.docker.internal"]),
    st.booleans(),
)


@given(TERMS)
def test_every_server_comes_out_once_and_in_order(terms: Terms) -> None:
    made = resolve(terms)
    planned, refused = ([e.name for e in each] for each in (made.plans, made.refusals))
    assert planned == sorted(planned)
    assert refused == sorted(refused)
    assert sorted(planned + refused) == [server.name for server in terms.config.servers]


@given(TERMS)
def test_the_same_terms_give_the_same_answer(terms: Terms) -> None:
    assert resolve(terms) == resolve(terms)


@given(TERMS)
def test_no_transport_comes_out_that_policy_or_agent_refuse(terms: Terms) -> None:
    for plan in resolve(terms).plans:
        assert terms.policy.allows(plan.transport)
        assert plan.transport in terms.agent.transports
        assert isinstance(plan.endpoint, Command) == (plan.transport == "stdio")


@given(TERMS)
def test_deny_wins(terms: Terms) -> None:
    for plan in resolve(terms).plans:
        assert plan.name not in terms.policy.deny


@given(TERMS, st.data())
def test_what_becomes_of_a_server_does_not_depend_on_the_others(
    terms: Terms, data: st.DataObject
) -> None:
    if not terms.config.servers:
        return
    one = data.draw(st.sampled_from(terms.config.servers))
    alone = resolve(replace(terms, config=replace(terms.config, servers=(one,))))
    among = resolve(terms)
    assert [*alone.plans] == [plan for plan in among.plans if plan.name == one.name]
    assert [*alone.refusals] == [each for each in among.refusals if each.name == one.name]


@given(TERMS)
def test_without_the_proxy_the_hub_stands_in_for_nothing(terms: Terms) -> None:
    if not terms.policy.stdio_proxy or not terms.hub:
        assert all(plan.via == "direct" for plan in resolve(terms).plans)


@given(TERMS)
def test_every_refusal_says_why_and_what_to_do(terms: Terms) -> None:
    for refusal in resolve(terms).refusals:
        assert refusal.code
        assert refusal.rule
        assert refusal.text
        assert refusal.hint


@given(TERMS)
def test_a_server_whose_entry_says_where_it_runs_runs_there_behind_the_hub(terms: Terms) -> None:
    listed = {each.name: each.server for each in terms.config.servers}
    for plan in resolve(terms).plans:
        if listed[plan.name] == "far":
            assert (plan.via, plan.place) == ("hub", "")
