"""Agents' lists over the control API: what is saved, what is refused, and what it comes to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import send, servers
from tests.doors.doors import Answer, Doors, open_doors

SHORT = "/api/mcp-config?agent="
AGENTS = "/api/v1/agents"
DEFINED: dict[str, dict[str, Any]] = {
    "docs": {"url": "http://localhost:9/mcp"},
    "local": {"command": "no-such-program", "args": ["-x"], "env": {"LEVEL": "1"}},
}


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    """A hub with one server that is ready, and one that is switched off."""
    known = {"one": servers()["one"], "off": {"command": "off", "disabled": True}}
    async with open_doors(home, known) as doors:
        await doors.settled()
        yield doors


async def save(doors: Doors, agent: str, said: Any = None, **head: str) -> Answer:
    body = {"enabled": True, "servers": DEFINED} if said is None else said
    return await send(doors, "POST", SHORT + agent, body, **head)


async def saved(doors: Doors, agent: str, **entries: Any) -> None:
    answer = await save(doors, agent, {"enabled": True, "servers": entries})
    assert answer.status == 200 and answer.json()["noticed"], answer


async def policy(doors: Doors, executor: str, **said: Any) -> None:
    answer = await send(doors, "PUT", f"/api/v1/policies/{executor}", said)
    assert answer.status == 200 and answer.json()["noticed"], answer


# As in the seed: one agent, one list.


async def test_an_agent_without_a_list_is_switched_off_and_has_empty_maps(yard: Doors) -> None:
    answer = await send(yard, "GET", f"{SHORT}CODEX")
    assert answer.status == 200 and answer.headers["etag"] == '"0"'
    assert answer.json() == {"agent_id": "codex", "enabled": False, "servers": {}, "meta": {}}


async def test_a_list_is_given_back_as_it_was_saved(yard: Doors) -> None:
    said = {"enabled": True, "servers": DEFINED, "meta": {"docs": {"description": "The docs"}}}
    answer = await save(yard, "CODEX", said)
    assert answer.status == 200
    row = answer.json()
    assert (row["success"], row["noticed"], row["agent_id"]) == (True, True, "codex")
    again = await send(yard, "GET", f"{SHORT}codex")
    assert again.headers["etag"] == answer.headers["etag"]
    assert again.json()["meta"] == said["meta"]
    assert again.json()["servers"] == {
        "docs": {"type": "http", "mode": "auto", **DEFINED["docs"]},
        "local": {"type": "stdio", "mode": "auto", **DEFINED["local"]},
    }
    assert (await send(yard, "GET", f"{AGENTS}/codex/config")).json() == again.json()


async def test_the_wrapper_of_clients_files_means_the_same(yard: Doors) -> None:
    assert (await save(yard, "cursor", {"enabled": True, "mcpServers": DEFINED})).status == 200
    found = (await send(yard, "GET", f"{SHORT}cursor")).json()
    assert set(found["servers"]) == set(DEFINED)


async def test_transport_is_another_word_for_type(yard: Doors) -> None:
    said = {"transport": "streamable-http", "url": "http://docs.internal:9/mcp"}
    assert (await save(yard, "cursor", {"enabled": True, "servers": {"docs": said}})).status == 200
    docs = (await send(yard, "GET", f"{SHORT}cursor")).json()["servers"]["docs"]
    assert docs["type"] == "streamable_http"


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({}, "command"),
        ({"command": "x", "url": "http://a/"}, "type"),
        ({"type": "carrier-pigeon", "command": "x"}, "type"),
        ({"command": 5}, "command"),
        ({"command": "x", "args": ["a", None]}, "args"),
        ({"command": "x", "env": {"A": []}}, "env"),
        ({"command": "x", "env": {"A=B": "1"}}, "env"),
        ({"transport": "ws", "url": "http://a/"}, "transport"),
        ({"url": "http://[::1/mcp"}, "url"),
        ({"command": "x", "mode": "sometimes"}, "mode"),
        ({"command": "x", "evn": {}}, "evn"),
        ({"url": "ftp://a"}, "url"),
        ({"url": "http://a/", "headers": {"a b": "c"}}, "headers"),
        ({"server": "one", "command": "x"}, "command"),
        (None, "servers"),
    ],
)
async def test_what_is_wrong_is_named_and_nothing_of_it_is_stored(
    yard: Doors, entry: Any, field: str
) -> None:
    said = {"enabled": True, "servers": {"good": {"command": "x"}, "bad": entry}}
    answer = await save(yard, "codex", said)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
    refused = answer.json()
    assert refused["success"] is False
    fault = next(each for each in refused["errors"] if each["field"] == field)
    assert fault["server"] in ("bad", "") and fault["text"] and fault["hint"]
    assert "bad" in fault["server"] + fault["text"]
    assert (await send(yard, "GET", f"{SHORT}codex")).json()["servers"] == {}


async def test_all_that_is_wrong_is_said_at_once(yard: Doors) -> None:
    said = {"servers": {"a": {}, "b": {"command": 1}, "c d": {"command": "x"}}}
    answer = await send(yard, "PUT", f"{AGENTS}/codex/config", said)
    named = {(each["server"], each["field"]) for each in answer.json()["errors"]}
    assert {("", "enabled"), ("a", "command"), ("b", "command"), ("c d", "name")} <= named


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"[" * 100_000])
async def test_what_is_no_list_at_all_is_refused(yard: Doors, body: bytes) -> None:
    assert (await yard.ask("POST", f"{SHORT}codex", body)).status == 400


async def test_an_unknown_agent_is_not_found_and_the_closest_is_named(yard: Doors) -> None:
    for method in ("GET", "POST"):
        answer = await send(yard, method, f"{SHORT}codx", {"enabled": True})
        assert answer.status == 404
        assert "codex" in answer.json()["hint"]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("query", ["", "?agent=", "?executor=local"])
async def test_a_request_that_names_no_agent_is_refused_like_any_other_fault(
    yard: Doors, method: str, query: str
) -> None:
    answer = await send(yard, method, f"/api/mcp-config{query}", {"enabled": True})
    assert answer.status == 400 and "agent" in answer.json()["detail"]


DESCRIBED = {"docs": {"description": "The docs"}, "local": {"name": "Local"}}


@pytest.mark.parametrize(
    ("said", "servers", "meta"),
    [
        ({"enabled": False}, DEFINED, DESCRIBED),
        ({"enabled": True}, DEFINED, DESCRIBED),
        ({"enabled": False, "servers": None, "meta": None}, DEFINED, DESCRIBED),
        ({"enabled": True, "servers": DEFINED}, DEFINED, DESCRIBED),
        ({"mcpServers": {"docs": DEFINED["docs"]}}, ["docs"], {"docs": DESCRIBED["docs"]}),
        ({"enabled": True, "meta": {}}, DEFINED, {}),
        ({"servers": {}}, [], {}),
    ],
)
async def test_what_a_request_does_not_name_is_kept(
    yard: Doors, said: Any, servers: Any, meta: Any
) -> None:
    whole = {"enabled": True, "servers": DEFINED, "meta": DESCRIBED}
    assert (await save(yard, "codex", whole)).status == 200
    answer = await save(yard, "CODEX", said)
    assert answer.status == 200 and answer.json()["noticed"]
    row = (await send(yard, "GET", f"{SHORT}codex")).json()
    assert (list(row["servers"]), row["meta"]) == (list(servers), meta)
    assert row["enabled"] is said.get("enabled", True)


@pytest.mark.parametrize("said", [{}, {"meta": {}}, {"enabled": None}, {"servers": None}])
async def test_a_request_that_names_neither_servers_nor_enabled_is_refused(
    yard: Doors, said: Any
) -> None:
    assert (await save(yard, "codex")).status == 200
    answer = await save(yard, "codex", said)
    assert answer.status == 400 and answer.json()["success"] is False
    assert {each["field"] for each in answer.json()["errors"]} >= {"enabled", "servers"}
    assert set((await send(yard, "GET", f"{SHORT}codex")).json()["servers"]) == set(DEFINED)


async def test_a_whole_list_without_its_servers_is_refused(yard: Doors) -> None:
    assert (await save(yard, "codex")).status == 200
    answer = await send(yard, "PUT", f"{AGENTS}/codex/config", {"enabled": False})
    assert answer.status == 422 and answer.json()["errors"][0]["field"] == "servers"
    assert set((await send(yard, "GET", f"{SHORT}codex")).json()["servers"]) == set(DEFINED)


async def test_requests_that_name_different_parts_undo_none_of_each_other(yard: Doors) -> None:
    await save(yard, "codex", {"enabled": True, "servers": DEFINED})
    described = {"enabled": True, "meta": DESCRIBED}
    answers = await asyncio.gather(
        *(save(yard, "codex", {"servers": DEFINED}) for _ in range(4)),
        save(yard, "codex", described),
        *(save(yard, "codex", {"servers": DEFINED}) for _ in range(4)),
    )
    assert {answer.status for answer in answers} == {200}
    assert (await send(yard, "GET", f"{SHORT}codex")).json()["meta"] == DESCRIBED


async def test_a_writer_who_looked_too_early_is_told(yard: Doors) -> None:
    tag = (await save(yard, "codex")).headers["etag"]
    assert (await save(yard, "codex", None, If_Match='"0"')).status == 412
    assert (await save(yard, "codex", {"enabled": False}, If_Match=tag)).status == 200
    assert (await save(yard, "codex", None, If_Match=tag)).status == 412
    assert (await send(yard, "GET", f"{SHORT}codex")).json()["enabled"] is False


async def test_a_change_reaches_the_picture_once(yard: Doors) -> None:
    async def revision() -> int:
        found: int = (await yard.get("/api/v1/status"))["revision"]
        return found

    before = await revision()
    await saved(yard, "codex", one={"server": "one"})
    assert await revision() == before + 1
    await saved(yard, "codex", one={"server": "one"})
    assert await revision() == before + 1


async def test_a_list_is_there_after_a_restart(home: Path) -> None:
    async with open_doors(home) as doors:
        await save(doors, "codex")
    async with open_doors(home) as doors:
        answer = await send(doors, "GET", f"{SHORT}codex")
        assert answer.json()["enabled"] and answer.headers["etag"] == '"1"'
        assert [row["name"] for row in (await doors.get("/api/v1/status"))["servers"]][1:]


# What it comes to.


async def resolve(doors: Doors, query: str) -> Any:
    answer = await send(doors, "GET", f"/api/v1/resolve?{query}")
    assert answer.status == 200, answer
    return answer.json()


async def test_a_run_gets_plans_and_every_other_server_a_refusal(yard: Doors) -> None:
    entries = {
        **DEFINED,
        "mine": {"server": "one"},
        "gone": {"server": "won"},
        "of": {"server": "off"},
    }
    await saved(yard, "claude-code", **entries)
    await policy(yard, "docker", deny=["local"], http_url_rewrite={"localhost": "docs.internal"})
    made = await resolve(yard, "agent=CLAUDE_CODE&executor=docker&session=s1")
    assert (made["agent"], made["executor"], made["session"]) == ("claude-code", "docker", "s1")
    plans = {plan["name"]: plan for plan in made["servers"]}
    assert set(plans) == {"docs", "mine"}
    assert plans["docs"]["endpoint"] == {"url": "http://docs.internal:9/mcp"}
    assert (plans["mine"]["server"], plans["mine"]["mode"]) == ("one@configured", "per_session")
    codes = {each["name"]: each["code"] for each in made["refusals"]}
    assert codes == {"gone": "unknown-server", "local": "denied", "of": "switched-off"}
    assert all(each["hint"] and each["rule"] and each["steps"] for each in made["refusals"])
    assert [plan["name"] for plan in (await resolve(yard, "agent=claude-code"))["servers"]] == [
        "docs",
        "local",
        "mine",
    ]


async def test_what_is_resolved_shows_references_and_no_secret(yard: Doors) -> None:
    secret = "sk-0123456789abcdef0123"
    env = {"API_KEY": secret, "OTHER": "${keyring:x}", "LEVEL": "2"}
    headers = {"Authorization": f"Bearer {secret}", "X-Token": "Bearer ${T}"}
    entries = {
        "a": {"command": "x", "args": ["--token", secret, "--key=${K}"], "env": env},
        "b": {"url": f"http://u:{secret}@h/p?key={secret}", "headers": headers},
    }
    answer = await save(yard, "codex", {"enabled": True, "servers": entries})
    warned = {(w["server"], w["field"]) for w in answer.json()["warnings"]}
    assert warned == {("a", "env"), ("b", "headers")}
    for query in ("resolve?agent=codex", "why?agent=codex&name=a", "why?agent=codex&name=b"):
        shown = (await send(yard, "GET", f"/api/v1/{query}")).body.decode()
        assert secret not in shown, shown
    plans = {plan["name"]: plan for plan in (await resolve(yard, "agent=codex"))["servers"]}
    assert plans["a"]["env"] == {**env, "API_KEY": "[secret]"}
    assert plans["a"]["endpoint"]["args"] == ["--token", "[secret]", "--key=${K}"]
    assert plans["b"]["headers"]["X-Token"] == "Bearer ${T}"
    # Whoever edits the list must see what is in it.
    assert (await send(yard, "GET", f"{SHORT}codex")).json()["servers"]["a"]["env"] == env


async def test_an_override_counts_with_its_executor_alone(yard: Doors) -> None:
    await saved(yard, "codex", **DEFINED)
    path = f"{AGENTS}/codex/overrides/docker"
    assert (await send(yard, "GET", path)).status == 404
    said = {"servers": {"docs": None, "extra": {"server": "one"}}}
    answer = await send(yard, "PUT", path, said)
    assert answer.json()["noticed"]
    assert (await send(yard, "PUT", path, {}, If_Match='"0"')).status == 412
    there = await resolve(yard, "agent=codex&executor=docker")
    assert [plan["name"] for plan in there["servers"]] == ["extra", "local"]
    assert [no["code"] for no in there["refusals"]] == ["left-out"]
    assert len((await resolve(yard, "agent=codex"))["servers"]) == 2
    assert (await send(yard, "GET", path)).json()["servers"]["docs"] is None
    assert (await send(yard, "DELETE", path)).status == 200
    assert (await send(yard, "DELETE", path)).status == 404
    assert len((await resolve(yard, "agent=codex&executor=docker"))["servers"]) == 2


async def test_a_server_says_on_whose_lists_it_is(yard: Doors) -> None:
    await saved(yard, "codex", mine={"server": "one"})
    await send(
        yard, "PUT", f"{AGENTS}/cursor/overrides/docker", {"servers": {"x": {"server": "one"}}}
    )
    said = (await send(yard, "GET", "/api/v1/servers/one")).json()["agents"]
    assert [(each["id"], each["enabled"]) for each in said] == [("codex", True), ("cursor", False)]
    assert (await send(yard, "GET", "/api/v1/servers/off")).json()["agents"] == []


async def test_what_differs_is_checked_without_being_saved(yard: Doors) -> None:
    await saved(yard, "codex", **DEFINED)
    await policy(yard, "docker", stdio_proxy=False)
    path = f"{AGENTS}/codex/validate?executor=docker&override=true"
    shared = {"local": {**DEFINED["local"], "mode": "shared"}}
    found = (await send(yard, "POST", path, {"servers": shared})).json()
    assert [(e["server"], e["field"]) for e in found["errors"]] == [("local", "mode")]
    found = (await send(yard, "POST", path, {"servers": {"local": None}})).json()
    assert found == {"valid": True, "errors": [], "warnings": []}
    assert (await send(yard, "GET", f"{AGENTS}/codex/overrides/docker")).status == 404


# Why.


@pytest.mark.parametrize(
    ("name", "verdict", "server", "tool", "says"),
    [
        ("mine", "given", "mine", "", "given 'mine'"),
        ("mine__echo", "given", "mine", "echo", "'echo' of 'mine'"),
        ("one__echo", "given", "mine", "echo", "'echo' of 'mine'"),
        ("echo", "given", "mine", "echo", "'echo' of 'mine'"),
        ("gone", "refused", "gone", "", "knows no server"),
        ("local", "failing", "local", "", "no-such-program"),
        ("off", "not-listed", "off", "", "not on the list"),
    ],
)
async def test_the_story_of_a_name(
    yard: Doors, name: str, verdict: str, server: str, tool: str, says: str
) -> None:
    entries = {"mine": {"server": "one"}, "gone": {"server": "won"}, "local": DEFINED["local"]}
    await saved(yard, "codex", **entries)
    await yard.settled()
    story = (await send(yard, "GET", f"/api/v1/why?agent=codex&name={name}")).json()
    found = (story["verdict"], story["server"], story["tool"])
    assert found == (verdict, server, tool), story
    assert says in story["text"]
    assert story["steps"]
    assert verdict == "given" or story["hint"]


async def test_the_story_of_a_refusal_names_the_rule_that_decided(yard: Doors) -> None:
    await saved(yard, "codex", mine={"server": "one"})
    await policy(yard, "local", deny=["m*"])
    story = (await send(yard, "GET", "/api/v1/why?agent=codex&name=one__echo")).json()
    assert (story["verdict"], story["tool"]) == ("refused", "echo")
    assert story["decided"]["rule"] == "deny 'm*'"
    assert "policy show local" in story["hint"]
    await save(yard, "codex", {"enabled": False})
    story = (await send(yard, "GET", "/api/v1/why?agent=codex&name=mine")).json()
    assert story["verdict"] == "disabled" and "toolyard agent enable codex" in story["hint"]


async def test_a_name_nobody_knows_is_answered_with_the_closest(yard: Doors) -> None:
    await saved(yard, "codex", mine={"server": "one"})
    answer = await send(yard, "GET", "/api/v1/why?agent=codex&name=ecko")
    assert answer.status == 404 and "echo" in answer.json()["hint"]


# Checked before it is saved.


async def test_a_list_is_checked_for_an_executor(yard: Doors) -> None:
    async def check(executor: str, said: Any) -> Any:
        return (
            await send(yard, "POST", f"{AGENTS}/codex/validate?executor={executor}", said)
        ).json()

    shared = {"local": {**DEFINED["local"], "mode": "shared"}, "docs": DEFINED["docs"]}
    said = {"enabled": True, "servers": shared}
    assert await check("docker", said) == {"valid": True, "errors": [], "warnings": []}
    await policy(yard, "docker", stdio_proxy=False, allow_http=False)
    found = await check("docker", said)
    assert not found["valid"]
    assert [(e["server"], e["field"]) for e in found["errors"]] == [("local", "mode")]
    assert [(e["server"], e["field"]) for e in found["warnings"]] == [("docs", "type")]
    assert all(e["hint"] for e in (*found["errors"], *found["warnings"]))
    assert (await check("local", said))["valid"]
    assert not (await check("local", {"enabled": True, "servers": {"x": {}}}))["valid"]
    # What would never work is not saved either.
    await policy(yard, "local", stdio_proxy=False)
    refused = await save(yard, "codex", said)
    assert refused.status == 400 and refused.json()["errors"][0]["field"] == "mode"
    path = f"{AGENTS}/codex/overrides/docker"
    refused = await send(yard, "PUT", path, {"servers": {"local": shared["local"]}})
    assert refused.status == 422 and refused.json()["errors"][0]["field"] == "mode"
    assert (await send(yard, "GET", path)).status == 404


# Agents of one's own.


async def test_users_define_agents_and_remove_them(yard: Doors) -> None:
    body = {"title": "My agent", "transports": ["streamable-http"]}
    answer = await send(yard, "PUT", f"{AGENTS}/My_Agent", body)
    assert answer.status == 200 and answer.json()["noticed"]
    row = (await send(yard, "GET", f"{AGENTS}/my-agent")).json()
    assert (row["own"], row["transports"], row["enabled"]) == (True, ["streamable_http"], False)
    await saved(yard, "my-agent", **DEFINED)
    listed = {row["id"]: row for row in (await yard.get(AGENTS))["agents"]}
    assert listed["my-agent"]["servers"] == 2
    assert listed["codex"]["transports"] == ["stdio", "streamable_http"]
    made = await resolve(yard, "agent=my-agent")
    assert {(p["name"], p["transport"], p["via"]) for p in made["servers"]} == {
        ("docs", "streamable_http", "direct"),
        ("local", "streamable_http", "hub"),
    }
    assert (await send(yard, "DELETE", f"{AGENTS}/my-agent")).status == 200
    assert (await send(yard, "GET", f"{AGENTS}/my-agent")).status == 404
    assert (await send(yard, "DELETE", f"{AGENTS}/codex")).status == 409
    bad = await send(yard, "PUT", f"{AGENTS}/x", {"transports": ["pigeon"]})
    assert bad.status == 422 and bad.json()["errors"][0]["field"] == "transports"


async def test_a_damaged_record_is_on_the_picture_and_the_rest_goes_on(home: Path) -> None:
    from tests.features.agents.test_store import damage

    async with open_doors(home) as doors:
        await save(doors, "codex")
        await save(doors, "cursor")
        path = next(home.rglob("toolyard.db"))
        damage(path, "config", "codex", "{")

        async def is_told() -> Any:
            return [p for p in await doors.problems() if p["code"] == "agents-record"]

        (problem,) = await doors.until(is_told)
        assert problem["subject"] == "config codex"
        assert (await send(doors, "GET", f"{SHORT}cursor")).json()["enabled"]


@pytest.mark.parametrize("executor", ["ssh", "remote-docker", "kubernetes"])
async def test_a_loopback_address_is_out_of_reach_from_a_place_that_nobody_named(
    yard: Doors, executor: str
) -> None:
    await saved(yard, "cursor", docs=DEFINED["docs"])
    made = await resolve(yard, f"agent=cursor&executor={executor}")
    assert made["servers"] == []
    assert [refusal["code"] for refusal in made["refusals"]] == ["out-of-reach"]
