"""What a member sees, and which rule decided: never another answer than a call would get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.control.company import open_yard, put_profile, send, servers
from tests.doors.doors import Doors, Json
from tests.features.members.team import Person, admit, change_member, open_team
from tests.features.members.test_doors import OWN, members_kept
from tests.features.members.test_instances import pid_of, team_with_folders, window
from tests.features.secrets.test_members import KEY, open_mine
from tests.features.tokens.test_doors import hinted_server
from tests.fixtures.signing_issuer import SigningIssuer


async def why(doors: Doors, name: str, member: str = "ann") -> Json:
    """Ask why a member gets something."""
    story: Json = await doors.get(f"/api/v1/why/member?name={name}&member={member}")
    (decided,) = [step for step in story["steps"] if step["decides"]]
    assert decided == story["decided"]
    return story


async def sees(doors: Doors, member: str = "ann") -> Json:
    """Ask for all that a member gets."""
    sight: Json = await doors.get(f"/api/v1/resolve/member?member={member}")
    return sight


async def is_member(doors: Doors, issuer: SigningIssuer, who: str = "ann", **claims: Any) -> Person:
    """Have somebody come in."""
    person = Person(doors, issuer, who, **claims)
    await person.tools()
    return person


async def test_the_admission_that_shows_a_tool_is_named(team: Doors, issuer: SigningIssuer) -> None:
    await is_member(team, issuer)
    story = await why(team, "one__echo")
    assert story["verdict"] == "given" and story["tool"] == "echo" and story["server"] == "one"
    assert story["decided"]["rule"] == "admission of 'developers', profile 'echoes'"
    assert [step["stage"] for step in story["steps"]] == ["member", "admission", "profile"]
    assert (await why(team, "one/echo"))["verdict"] == "given"
    assert (await why(team, "echo"))["also"] == ["two"]
    assert (await why(team, "two"))["verdict"] == "given"


async def test_the_profile_that_hides_a_tool_is_named(team: Doors, issuer: SigningIssuer) -> None:
    await is_member(team, issuer)
    await is_member(team, issuer, "rita", groups=["reviewers"])
    story = await why(team, "one__env")
    assert story["verdict"] == "not-shown" and "profile 'echoes'" in story["decided"]["rule"]
    assert "leaves out 'env' of 'one'" in story["decided"]["text"]
    story = await why(team, "one__echo", "rita")
    assert story["verdict"] == "not-shown" and "shows nothing of 'one'" in story["decided"]["text"]
    assert (await why(team, "one", "rita"))["text"].endswith("shows 'one'")


async def test_the_answer_is_that_of_the_door_for_every_tool(
    home: Path, issuer: SigningIssuer
) -> None:
    yard = {**servers(), "h": hinted_server(home)}
    async with open_team(home, issuer, yard) as doors:
        await put_profile(doors, "hints", allow=["h"])
        order = {"profiles": ["hints"], "tier": "read"}
        assert (await send(doors, "PUT", "/api/v1/admissions/guests", order)).status == 200
        everything = [tool["name"] for tool in (await doors.get("/api/v1/tools"))["tools"]]
        groups = (["developers"], ["reviewers"], ["guests"], ["developers", "guests"])
        for number, mine in enumerate(groups):
            who = await is_member(doors, issuer, f"p{number}", groups=mine)
            given = [
                name
                for name in everything
                if (await why(doors, name, f"p{number}"))["verdict"] == "given"
            ]
            assert sorted(given) == sorted(await who.tools())
            sight = await sees(doors, f"p{number}")
            tools = [tool["name"] for server in sight["servers"] for tool in server["tools"]]
            assert sorted(tools) == sorted(given)


async def test_a_tier_is_named_with_whoever_says_what_the_tool_does(
    home: Path, issuer: SigningIssuer
) -> None:
    async with open_team(home, issuer, {**servers(), "h": hinted_server(home)}) as doors:
        await put_profile(doors, "hints", allow=["h"])
        order = {"profiles": ["hints"], "tier": "read"}
        assert (await send(doors, "PUT", "/api/v1/admissions/developers", order)).status == 200
        await is_member(doors, issuer)
        said = {}
        for tool in ("put", "wipe"):
            story = await why(doors, f"h__{tool}")
            assert story["verdict"] == "tier" and story["decided"]["stage"] == "tier"
            assert "admission of 'developers'" in story["decided"]["rule"]
            said[tool] = story["text"]
        assert said["put"].endswith("'put' counts as write, as its server says")
        assert said["wipe"].endswith("neither a mark nor its server says what it does")
        mark = {"server": "h", "tool": "look", "tier": "destroy"}
        assert (await send(doors, "POST", "/api/v1/marks", mark)).status == 200
        assert (await why(doors, "h__look"))["text"].endswith("as its mark says")


async def test_whoever_is_not_let_in_is_told_apart(team: Doors, issuer: SigningIssuer) -> None:
    assert (await why(team, "one__echo", "eve"))["verdict"] == "not-a-member"
    await is_member(team, issuer)
    await members_kept(team)
    await change_member(team, "ann", disabled=True)
    story = await why(team, "one__echo")
    assert story["verdict"] == "disabled" and "--enable" in story["hint"]
    await change_member(team, "ann", disabled=False)
    await send(team, "DELETE", "/api/v1/admissions/developers")
    story = await why(team, "one__echo")
    assert story["verdict"] == "not-admitted" and "developers" in story["text"]
    assert (await sees(team))["verdict"] == "not-admitted"
    await send(team, "DELETE", "/api/v1/members/ann")
    assert (await why(team, "one__echo"))["verdict"] == "removed"


async def test_a_keeper_without_an_admission_sees_no_server(
    team: Doors, issuer: SigningIssuer
) -> None:
    await is_member(team, issuer)
    await members_kept(team)
    await change_member(team, "ann", role="keeper")
    await send(team, "DELETE", "/api/v1/admissions/developers")
    assert (await why(team, "one__echo"))["verdict"] == "not-admitted"
    assert (await sees(team))["servers"] == []
    assert (await why(team, "toolyard_status"))["verdict"] == "given"


async def test_a_profile_that_is_gone_shows_nothing(team: Doors, issuer: SigningIssuer) -> None:
    await is_member(team, issuer)
    await admit(team, "developers", "echoes", "two")
    assert (await send(team, "DELETE", "/api/v1/profiles/two")).status == 200
    story = await why(team, "two__tool_0")
    assert story["verdict"] == "not-shown"
    assert "there is no such profile" in [step["text"] for step in story["steps"]]


async def test_a_server_that_is_disabled_is_so_for_everybody(
    team: Doors, issuer: SigningIssuer
) -> None:
    await is_member(team, issuer)
    assert (await send(team, "POST", "/api/v1/servers/one/disable")).status == 200
    assert (await why(team, "one"))["verdict"] == "off"


async def test_a_credential_that_is_missing_is_named(home: Path, issuer: SigningIssuer) -> None:
    async with open_mine(home, issuer, key=KEY) as doors:
        ann = await is_member(doors, issuer, scope=OWN)
        story = await why(doors, "mine")
        assert story["verdict"] == "needs-credential" and "the secret 'whose'" in story["text"]
        (server,) = (await sees(doors))["servers"]
        assert server["missing"] == ["whose"]
        body = {"value": "of-ann-4711-and-nobody-else"}
        assert (await ann.order("PUT", "/api/v1/my/secrets/whose", body)).status == 200

        async def is_given() -> bool:
            return bool((await why(doors, "mine"))["verdict"] == "given")

        await doors.until(is_given)


async def test_the_limit_of_running_servers_is_named(home: Path, issuer: SigningIssuer) -> None:
    async with (
        team_with_folders(home, issuer, {"budget": "refuse"}, instances=1) as doors,
        window(doors, issuer, "ann", "first") as first,
    ):
        assert (await why(doors, "fs__folders"))["verdict"] == "given"
        await pid_of(first)
        story = await why(doors, "fs__folders")
        assert story["verdict"] == "limit" and story["decided"]["stage"] == "instances"
        assert "the limit of the admission" in story["hint"]


async def test_a_name_that_nobody_knows(team: Doors, issuer: SigningIssuer) -> None:
    await is_member(team, issuer)
    answer = await send(team, "GET", "/api/v1/why/member?name=one__ecko&member=ann")
    assert answer.status == 404 and "echo" in answer.json()["hint"]


async def test_without_an_issuer_nobody_sees_anything(home: Path) -> None:
    async with open_yard(home) as doors:
        assert (await why(doors, "one__echo"))["verdict"] == "no-issuer"
        assert (await sees(doors))["verdict"] == "no-issuer"
