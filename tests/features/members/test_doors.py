"""People come in by their own name, and see what their groups are admitted to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.control.company import Agent, make_token, open_yard, put_profile, send
from tests.doors.doors import Doors, call, modern
from tests.features.members.team import Person, admit, change_member, members, open_team
from tests.fixtures.signing_issuer import SigningIssuer, a_key

ORDER = "toolyard:order"
OWN = "toolyard:own"
ROOT = Path(__file__).resolve().parents[3]


async def test_whoever_has_no_token_is_told_where_to_log_in(
    team: Doors, issuer: SigningIssuer
) -> None:
    for path in ("/mcp", "/mcp/p/echoes", "/mcp/s/one"):
        refused = await team.ask("POST", path, b"{}", leave_out=("Authorization",))
        assert refused.status == 401
        address = f"http://{team.host}/.well-known/oauth-protected-resource{path}"
        assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{address}"'
        found = await team.ask("GET", address.removeprefix(f"http://{team.host}"))
        assert found.json() == {
            "resource": f"http://{team.host}{path}",
            "authorization_servers": [issuer.url],
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolyard",
        }


async def test_metadata_is_also_where_clients_look_by_mistake(
    team: Doors, issuer: SigningIssuer
) -> None:
    nobody = {"leave_out": ("Authorization",)}
    root = await team.ask("GET", "/.well-known/oauth-protected-resource", **nobody)
    assert root.json()["resource"] == f"http://{team.host}"
    for place in ("oauth-authorization-server", "openid-configuration"):
        for path in ("", "/mcp"):
            copy = await team.ask("GET", f"/.well-known/{place}{path}", **nobody)
            assert copy.json() == issuer.describe()
    assert (await team.ask("GET", "/.well-known/other", **nobody)).status == 404
    beside = "/.well-known/oauth-protected-resource/api/v1/status"
    assert (await team.ask("GET", beside, **nobody)).status == 404


async def test_a_member_sees_what_their_group_is_admitted_to(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann = Person(team, issuer)
    assert await ann.tools() == ["one__echo", "two__echo"]
    said = await ann.call("one__echo", text="hello")
    assert "hello" in json.dumps(said["result"])
    assert "unknown tool" in (await ann.call("two__tool_0"))["error"]["message"]
    assert {row["server"] for row in await ann.found("tool")} <= {"one", "two"}


async def test_of_several_admissions_a_member_sees_all(team: Doors, issuer: SigningIssuer) -> None:
    ann = Person(team, issuer, groups=["developers", "reviewers", "elsewhere"])
    both = ["one__echo", "two__echo", "two__tool_0", "two__tool_1"]
    assert await ann.tools() == both
    ann.path = "/mcp/p/two"
    assert await ann.tools() == both[1:]
    ann.path = "/mcp/s/two"
    assert await ann.tools() == ["echo", "tool_0", "tool_1"]


async def test_names_hidden_with_the_usual_separator_stay_hidden_at_the_path_of_a_server(
    team: Doors, issuer: SigningIssuer
) -> None:
    await put_profile(team, "careful", hide=["two__tool_0"])
    await admit(team, "careful", "careful")
    cem = Person(team, issuer, "cem", "/mcp/s/two", groups=["careful"])
    assert await cem.tools() == ["echo", "tool_1"]


async def test_a_profile_with_a_separator_of_its_own_hides_the_same_among_others(
    team: Doors, issuer: SigningIssuer
) -> None:
    await put_profile(
        team, "dotted", allow=["two"], hide=["two.tool_0"], settings={"separator": "."}
    )
    await admit(team, "dotted", "dotted", "echoes")
    dan = Person(team, issuer, "dan", groups=["dotted"])
    assert await dan.tools() == ["one__echo", "two__echo", "two__tool_1"]
    dan.path = "/mcp/s/two"
    assert await dan.tools() == ["echo", "tool_1"]


async def test_a_profile_that_one_is_not_admitted_to_is_closed(
    team: Doors, issuer: SigningIssuer
) -> None:
    assert await Person(team, issuer, path="/mcp/p/echoes").tools() == ["one__echo", "two__echo"]
    for path in ("/mcp/p/two", "/mcp/p/nothing", "/mcp/a/codex", "/mcp/a/codex/s/one"):
        refused = await Person(team, issuer, path=path).post(modern("tools/list"))
        assert refused.status == 403, path


async def test_whoever_is_in_no_admitted_group_stays_out(
    team: Doors, issuer: SigningIssuer
) -> None:
    for groups in ([], ["strangers"], None, "strangers", {"developers": True}):
        refused = await Person(team, issuer, "eve", groups=groups).post(modern("tools/list"))
        assert refused.status == 403
        assert "eve@example.com is not admitted" in refused.json()["detail"]
    assert await members(team) == []


async def test_everybody_can_be_admitted(team: Doors, issuer: SigningIssuer) -> None:
    await admit(team, "*", "two")
    assert await Person(team, issuer, "eve", groups=None).tools() == [
        "two__echo",
        "two__tool_0",
        "two__tool_1",
    ]


async def test_the_first_call_makes_a_member(team: Doors, issuer: SigningIssuer) -> None:
    await Person(team, issuer, name="Ann").tools()

    async def is_kept() -> bool:
        return bool([row for row in await members(team) if row["last_used"]])

    await team.until(is_kept)
    (row,) = await members(team)
    assert row["key"] == f"{issuer.url}#ann"
    assert (row["email"], row["name"], row["groups"]) == ("ann@example.com", "Ann", ["developers"])
    assert (row["role"], row["disabled"], row["profiles"]) == ("member", False, ["echoes"])
    for name in ("ann", "ann@example.com", row["key"]):
        assert (await send(team, "GET", f"/api/v1/members/{quote(name, safe='')}")).json() == row
    assert (await send(team, "GET", "/api/v1/members/bob")).status == 404


async def test_an_unverified_email_address_names_nobody(team: Doors, issuer: SigningIssuer) -> None:
    await Person(team, issuer, "eve", email="ann@example.com", email_verified=False).tools()
    (row,) = await members_kept(team)
    assert (row["subject"], row["email"]) == ("eve", "")


async def members_kept(doors: Doors) -> list[dict[str, object]]:
    """The members, once there are some."""

    async def kept() -> list[dict[str, object]]:
        return await members(doors)

    rows: list[dict[str, object]] = await doors.until(kept)
    return rows


async def test_history_says_who_it_was(team: Doors, issuer: SigningIssuer) -> None:
    await Person(team, issuer).call("one__echo", text="x")

    async def callers() -> set[str]:
        rows = (await team.get("/api/v1/history"))["calls"]
        return {row["caller"] for row in rows}

    async def is_told() -> bool:
        return "ann@example.com" in await callers()

    assert await team.until(is_told)


async def test_a_member_may_use_and_not_order(team: Doors, issuer: SigningIssuer) -> None:
    ann = Person(team, issuer, scope=ORDER)
    assert await ann.tools()
    for method, path in (("GET", "/api/v1/status"), ("POST", "/api/v1/call"), ("GET", "/metrics")):
        refused = await ann.order(method, path)
        assert (refused.status, refused.json()["title"]) == (
            403,
            "only keepers may do this; members use the MCP door, and /api/v1/my/",
        )


async def test_a_member_sees_what_is_theirs_with_a_token_that_says_so(
    team: Doors, issuer: SigningIssuer
) -> None:
    refused = await Person(team, issuer).order("GET", "/api/v1/my/self")
    assert refused.status == 403 and f'scope="{OWN}"' in refused.headers["www-authenticate"]
    for subject in ("ann", "bob"):
        person = Person(team, issuer, subject, scope=OWN)
        own = (await person.order("GET", "/api/v1/my/self")).json()
        assert (own["subject"], own["profiles"]) == (subject, ["echoes"])
        assert (await person.order("GET", "/api/v1/members")).status == 403
    owner = await team.ask("GET", "/api/v1/my/self")
    assert owner.status == 404 and "belongs to no member" in owner.json()["title"]


async def test_a_keeper_orders_with_a_token_that_says_so(
    team: Doors, issuer: SigningIssuer
) -> None:
    await Person(team, issuer).tools()
    await members_kept(team)
    assert (await change_member(team, "ann", role="keeper"))["role"] == "keeper"

    refused = await Person(team, issuer).order("GET", "/api/v1/status")
    assert refused.status == 403
    challenge = refused.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge and f'scope="{ORDER}"' in challenge
    assert 'resource_metadata="http' in challenge

    ann = Person(team, issuer, scope=f"openid {ORDER}")
    assert (await ann.order("GET", "/api/v1/status")).status == 200
    assert (await ann.order("PUT", "/api/v1/profiles/mine", {"title": "x"})).status == 200
    await change_member(team, "ann", role="member")
    assert (await ann.order("GET", "/api/v1/status")).status == 403


async def test_scopes_that_are_required_are_asked_for(home: Path, issuer: SigningIssuer) -> None:
    async with open_team(home, issuer, scopes=("mcp", "tools")) as doors:
        refused = await doors.ask("POST", "/mcp", b"{}", leave_out=("Authorization",))
        assert 'scope="mcp tools"' in refused.headers["www-authenticate"]
        few = await Person(doors, issuer, scope="mcp").post(modern("tools/list"))
        assert few.status == 403 and "insufficient_scope" in few.headers["www-authenticate"]
        assert await Person(doors, issuer, scp=["mcp", "tools"]).tools()
        described = await doors.get("/.well-known/oauth-protected-resource/mcp")
        assert described["scopes_supported"] == ["mcp", "tools"]


@pytest.mark.parametrize("change", ["disable", "remove", "admission", "profile"])
async def test_whoever_is_let_in_no_longer_loses_what_they_opened(
    team: Doors, issuer: SigningIssuer, change: str
) -> None:
    ann, bob = Person(team, issuer), Person(team, issuer, "bob", groups=["reviewers"])
    session, other = await ann.initialize(), await bob.initialize()
    await members_kept(team)
    head = {**ann.head, **session, "Accept": "text/event-stream"}
    async with team.connected() as stream:
        await stream.send(team.request("GET", "/mcp", headers=head))
        assert (await stream.head())[0] == 200
        if change == "disable":
            await change_member(team, "ann", disabled=True)
        elif change == "remove":
            assert (await send(team, "DELETE", "/api/v1/members/ann")).status == 200
        elif change == "admission":
            assert (await send(team, "DELETE", "/api/v1/admissions/developers")).status == 200
        else:
            await admit(team, "developers", "two")
        async for _ in stream.chunks():
            pass  # it ends
    answer = await ann.post(call("ping"), session)
    assert answer.status == (404 if change == "profile" else 403)
    assert (await bob.post(call("ping"), other)).status == 200


async def test_a_removed_member_comes_back_by_a_new_login_alone(
    team: Doors, issuer: SigningIssuer
) -> None:
    early = int(issuer.claims()["iat"]) - 5
    ann = Person(team, issuer, iat=early)
    await ann.tools()
    await members_kept(team)
    await change_member(team, "ann", role="keeper")
    assert (await send(team, "DELETE", "/api/v1/members/ann")).status == 200
    assert await members(team) == []
    unseen = Person(team, issuer, iat=early + 2)
    for person in (ann, unseen):
        assert (await person.post(modern("tools/list"))).status == 403

    assert await Person(team, issuer, iat=early + 30).tools()
    (row,) = await members_kept(team)
    assert row["role"] == "member"


async def test_a_newer_token_changes_the_groups_and_an_older_does_not(
    team: Doors, issuer: SigningIssuer
) -> None:
    early = int(issuer.claims()["iat"]) - 100
    old = Person(team, issuer, iat=early, groups=["developers", "reviewers"])
    assert len(await old.tools()) == 4
    new = Person(team, issuer, iat=early + 10, groups=["reviewers"])
    assert len(await new.tools()) == 3
    assert len(await old.tools()) == 3


async def test_members_survive_a_restart(home: Path, issuer: SigningIssuer) -> None:
    async with open_team(home, issuer) as doors:
        await Person(doors, issuer).tools()
        await members_kept(doors)
        await change_member(doors, "ann", disabled=True)
    async with open_team(home, issuer) as doors:
        assert (await Person(doors, issuer).post(modern("tools/list"))).status == 403
    (home / "state" / "members.json").write_text("{")
    async with open_team(home, issuer) as doors:
        for who in ("ann", "bob"):  # it might be anybody who was disabled
            refused = await Person(doors, issuer, who).post(modern("tools/list"))
            assert refused.status == 403
        assert "members-file" in [problem["code"] for problem in await doors.problems()]


async def test_agents_tokens_and_the_hubs_own_work_beside(
    team: Doors, issuer: SigningIssuer
) -> None:
    token = await make_token(team, "ci", servers=["two"])
    assert len(await Agent(team, token=token).tools()) == 3
    assert len(await team.tools()) > 4


async def test_without_an_issuer_nothing_of_it_is_there(home: Path, issuer: SigningIssuer) -> None:
    async with open_yard(home) as doors:
        nobody = {"leave_out": ("Authorization",)}
        refused = await doors.ask("POST", "/mcp", b"{}", **nobody)
        assert refused.headers["www-authenticate"] == "Bearer"
        for path in ("/.well-known/oauth-protected-resource", "/.well-known/openid-configuration"):
            assert (await doors.ask("GET", path, **nobody)).status == 401
        assert (await Person(doors, issuer).post(modern("tools/list"))).status == 401
        assert issuer.asked == []


async def test_new_keys_are_asked_for_once(team: Doors, issuer: SigningIssuer) -> None:
    """The hub has asked when it started; so a key that is new now is not known at once."""
    issuer.keys = [a_key("second")]
    refused = await Person(team, issuer).post(modern("tools/list"))
    assert refused.status == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert issuer.asked.count("/keys") == 1


PROGRAM = """
import asyncio, sys
from pathlib import Path
from tests.doors.doors import open_doors

async def main(home):
    async with open_doors(home) as doors:
        await doors.get("/api/v1/members")
        loaded = [name for name in sys.modules if name.startswith("toolyard.features.members")]
        print(*sorted(name.rpartition(".")[2] for name in loaded), "joserfc" in sys.modules)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_without_an_issuer_nothing_that_verifies_is_loaded(home: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM, str(home)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    words = (
        "declaring directory explaining invitations members model operations seeing sight source"
        " store visible False"
    )
    assert done.stdout.split() == words.split()
