"""Tokens that members have: never more than the member, and never longer."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import Agent, entry, put_profile, send, servers
from tests.doors.doors import PATIENCE, Doors, Json, call, mirrored, modern
from tests.features.members.team import Person, admit, change_member, open_team
from tests.features.members.test_doors import OWN, members_kept
from tests.features.tokens.test_doors import hinted_server
from tests.fixtures.signing_issuer import SigningIssuer
from tests.fixtures.stub_run import wait_recorded

TOKENS = "/api/v1/my/tokens"


async def own_token(person: Person, name: str = "laptop", **limits: Any) -> str:
    """A token that a member makes for themselves."""
    made = await person.order("POST", TOKENS, {"name": name, **limits})
    assert made.status == 201, made
    token: str = made.json()["token"]
    return token


async def names_of(person: Person) -> list[str]:
    """The tokens of a member, as they see them."""
    rows = (await person.order("GET", TOKENS)).json()["tokens"]
    return [row["name"] for row in rows]


async def test_a_members_token_shows_what_the_member_sees_now(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann = Person(team, issuer, scope=OWN)
    laptop = Agent(team, token=await own_token(ann))
    narrow = Agent(team, token=await own_token(ann, "narrow", servers=["one"]))
    assert await laptop.tools() == await ann.tools() == ["one__echo", "two__echo"]
    assert await narrow.tools() == ["one__echo"]
    await admit(team, "developers", "two")
    assert await laptop.tools() == await ann.tools() == ["two__echo", "two__tool_0", "two__tool_1"]
    assert await narrow.tools() == []
    for path in ("/mcp/p/echoes", "/mcp/a/codex"):
        assert (await team.ask("GET", path, headers=laptop.head)).status == 403


async def test_a_members_token_orders_nothing_and_makes_no_other(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann = Person(team, issuer, scope=OWN)
    await ann.tools()
    await members_kept(team)
    await change_member(team, "ann", role="keeper")
    head = {"Authorization": f"Bearer {await own_token(ann)}"}
    for path in (TOKENS, "/api/v1/status", "/api/v1/my/self"):
        assert (await team.ask("GET", path, headers=head)).status == 403


async def test_each_member_sees_and_revokes_their_own_tokens_alone(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann, bob = Person(team, issuer, scope=OWN), Person(team, issuer, "bob", scope=OWN)
    laptop = Agent(team, token=await own_token(ann))
    await own_token(bob)
    assert (await bob.order("POST", TOKENS, {"name": "laptop"})).status == 409
    await own_token(bob, "phone")
    assert (await names_of(ann), await names_of(bob)) == (["laptop"], ["laptop", "phone"])
    assert (await bob.order("DELETE", f"{TOKENS}/laptop")).status == 200
    assert (await bob.order("DELETE", f"{TOKENS}/laptop")).status == 404
    assert await laptop.tools()
    for limits in ({"days": 0}, {"days": 366}, {"agent": "codex"}, {"member": "ann"}):
        assert (await bob.order("POST", TOKENS, {"name": "x", **limits})).status == 422


async def test_a_keeper_makes_sees_and_revokes_tokens_of_members(
    team: Doors, issuer: SigningIssuer
) -> None:
    await Person(team, issuer).tools()
    await members_kept(team)
    order = {"name": "ci", "member": "ann@example.com", "tier": "read", "days": 3}
    made = await send(team, "POST", "/api/v1/tokens", order)
    assert made.status == 201
    assert await Agent(team, token=made.json()["token"]).tools() == []  # none says that it reads
    (row,) = (await team.get("/api/v1/tokens"))["tokens"]
    assert (row["name"], row["member"], row["tier"]) == ("ci", "ann@example.com", "read")
    assert (await send(team, "DELETE", "/api/v1/tokens/ci")).status == 404
    assert (await send(team, "DELETE", "/api/v1/tokens/ci?member=ann@example.com")).status == 200
    unknown = await send(team, "POST", "/api/v1/tokens", {"name": "ci", "member": "eve"})
    assert unknown.status == 404


async def test_one_member_has_so_many_tokens_and_no_more(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann, bob = Person(team, issuer, scope=OWN), Person(team, issuer, "bob", scope=OWN)
    for number in range(20):
        await own_token(ann, f"t{number}")
    refused = await ann.order("POST", TOKENS, {"name": "more"})
    assert refused.status == 422 and "20 tokens already" in refused.json()["title"]
    await own_token(bob)


@pytest.mark.parametrize("change", ["revoke", "disable", "remove"])
async def test_what_a_members_token_opened_ends(
    team: Doors, issuer: SigningIssuer, change: str
) -> None:
    ann = Person(team, issuer, scope=OWN)
    laptop = Agent(team, token=await own_token(ann))
    session = await laptop.initialize()
    await members_kept(team)
    head = {**laptop.head, **session, "Accept": "text/event-stream"}
    async with team.connected() as stream, asyncio.timeout(PATIENCE):
        await stream.send(team.request("GET", "/mcp", headers=head))
        assert (await stream.head())[0] == 200
        if change == "revoke":
            assert (await ann.order("DELETE", f"{TOKENS}/laptop")).status == 200
        elif change == "disable":
            await change_member(team, "ann", disabled=True)
        else:
            assert (await send(team, "DELETE", "/api/v1/members/ann")).status == 200
        async for _ in stream.chunks():
            pass  # it ends
    assert (await laptop.post(modern("tools/list"))).status == 401


async def test_tokens_from_before_a_removal_count_no_more_for_who_comes_back(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann = Person(team, issuer, scope=OWN, iat=int(time.time()) - 5)
    laptop = Agent(team, token=await own_token(ann))
    assert await laptop.tools()
    await members_kept(team)
    assert (await send(team, "DELETE", "/api/v1/members/ann")).status == 200
    again = Person(team, issuer, scope=OWN, iat=int(time.time()) + 30)
    assert await again.tools()
    assert (await laptop.post(modern("tools/list"))).status == 401


# The limits of admissions.


async def test_an_admission_is_for_tools_up_to_a_tier(home: Path, issuer: SigningIssuer) -> None:
    yard = {**servers(), "h": hinted_server(home)}
    async with open_team(home, issuer, yard) as doors:
        await put_profile(doors, "hints", allow=["h"])
        order = {"profiles": ["hints"], "tier": "read"}
        assert (await send(doors, "PUT", "/api/v1/admissions/guests", order)).status == 200
        guest = Person(doors, issuer, "gus", groups=["guests"])
        assert await guest.tools() == ["h__look"]
        assert await Person(doors, issuer, "gus", "/mcp/p/hints", groups=["guests"]).tools() == [
            "h__look"
        ]
        assert "unknown tool" in (await guest.call("h__put"))["error"]["message"]
        both = Person(doors, issuer, "bea", groups=["guests", "reviewers"])
        assert await both.tools() == ["h__look", "two__echo", "two__tool_0", "two__tool_1"]
        more = {"profiles": ["hints"], "tier": "write"}
        await send(doors, "PUT", "/api/v1/admissions/helpers", more)
        helper = Person(doors, issuer, "hal", groups=["guests", "helpers"])
        assert await helper.tools() == ["h__look", "h__put"]


async def test_a_profile_whose_tier_hides_a_tool_does_not_name_it(
    home: Path, issuer: SigningIssuer
) -> None:
    async with open_team(home, issuer, {**servers(), "h": hinted_server(home)}) as doors:
        names = {"look": "peek", "put": "shove"}
        await put_profile(
            doors, "a-limited", allow=["h"], rename={f"h/{k}": v for k, v in names.items()}
        )
        await put_profile(doors, "b-whole", allow=["h"], rename={"h/put": "store"})
        for group, profile, tier in (
            ("guests", "a-limited", "read"),
            ("staff", "b-whole", "write"),
        ):
            order = {"profiles": [profile], "tier": tier}
            assert (await send(doors, "PUT", f"/api/v1/admissions/{group}", order)).status == 200
        both = Person(doors, issuer, "bea", groups=["guests", "staff"])
        assert await both.tools() == ["peek", "store"]


async def test_an_admission_limits_the_sessions_of_each_member(
    team: Doors, issuer: SigningIssuer
) -> None:
    order = {"profiles": ["echoes"], "sessions": 2}
    assert (await send(team, "PUT", "/api/v1/admissions/developers", order)).status == 200
    ann, bob = Person(team, issuer, scope=OWN), Person(team, issuer, "bob")
    laptop = Agent(team, token=await own_token(ann))
    first, second, other = (
        await ann.initialize(),
        await laptop.initialize(),
        await bob.initialize(),
    )
    await ann.initialize()
    assert (await ann.post(call("ping"), first)).status == 404  # the one that was silent longest
    assert (await laptop.post(call("ping"), second)).status == 200
    assert (await bob.post(call("ping"), other)).status == 200


# The end of what is under way.


async def test_a_modern_call_of_a_removed_member_is_cancelled(
    home: Path, issuer: SigningIssuer
) -> None:
    record = home / "record"
    slow: Json = {"slow": entry("slow", "--only", "progress", "--record", str(record))}
    async with open_team(home, issuer, slow) as doors:
        await put_profile(doors, "slow", allow=["slow"])
        await admit(doors, "developers", "slow")
        ann = Person(doors, issuer)
        await ann.tools()
        await members_kept(doors)
        arguments = {"n": 1_000_000, "ms": 50}
        message = modern("tools/call", {"name": "slow__progress", "arguments": arguments})
        message["params"]["_meta"]["progressToken"] = 1
        body, head = json.dumps(message).encode(), {**ann.head, **mirrored(message)}
        async with doors.connected() as stream:
            await stream.send(doors.request("POST", "/mcp", body, head))
            assert (await stream.head())[0] == 200
            assert (await stream.event())["method"] == "notifications/progress"
            assert (await send(doors, "DELETE", "/api/v1/members/ann")).status == 200
            async with asyncio.timeout(PATIENCE):
                chunks = [chunk async for chunk in stream.chunks()]
        assert b"the request was cancelled" in chunks[-1]
        await wait_recorded(record, "cancelled")


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_stream_ends_with_the_token_it_was_opened_with(
    team: Doors, issuer: SigningIssuer, era: str
) -> None:
    # A token is good for a minute longer than it says, since clocks differ.
    ann = Person(team, issuer, exp=int(time.time()) - 55)
    async with team.connected() as stream, asyncio.timeout(PATIENCE):
        if era == "legacy":
            head = {**ann.head, **await ann.initialize(), "Accept": "text/event-stream"}
            await stream.send(team.request("GET", "/mcp", headers=head))
        else:
            message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            head = {**ann.head, **mirrored(message), "Accept": "text/event-stream"}
            body = json.dumps(message).encode()
            await stream.send(team.request("POST", "/mcp", body, head))
        assert (await stream.head())[0] == 200
        async for _ in stream.chunks():
            pass  # it ends
    assert (await ann.post(modern("tools/list"))).status == 401
