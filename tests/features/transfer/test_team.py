"""Admissions and members in a document: what keepers set, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.doors import Doors, Json, call, modern
from tests.features.authorization.people import Browser, invite, open_own
from tests.features.members.team import Person, change_member, members, open_team
from tests.features.members.test_doors import members_kept
from tests.features.transfer.test_hub import apply, export, made
from tests.features.transfer.yards import named, yard_in
from tests.fixtures.signing_issuer import SigningIssuer, signing
from toolyard.core.fields import FaultsError

TEAM: Json = {
    "version": 1,
    "profiles": {"code": {"allow": ["git"]}},
    "admissions": {"developers": {"profiles": ["code"], "tier": "write", "instances": 2}},
    "members": {"https://login.example.com#ann": {"role": "keeper"}},
}


@pytest.fixture
def issuer() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


def test_what_changed_is_told_and_applied_once(home: Path) -> None:
    yard = yard_in(home / "a")
    yard.apply(TEAM)
    assert yard.apply(TEAM).changes == []
    changed = {**TEAM, "admissions": {"developers": {"profiles": ["code"]}}}
    (change,) = yard.apply(changed).changes
    assert change.name == "developers" and change.members == ["tier", "instances"]
    less = {"version": 1, "admissions": {}, "members": {}}
    assert yard.apply(less).changes == []
    assert named(yard.apply(less, prune=True)) == [
        "removed admissions/developers",
        "removed members/https://login.example.com#ann",
    ]
    assert yard.export()["members"] == {} and yard.export()["admissions"] == {}


@pytest.mark.parametrize(
    ("section", "body", "fault"),
    [
        ("admissions", {"developers": {"profiles": ["none"]}}, "there is no profile 'none'"),
        ("admissions", {"developers": {"profiles": []}}, "at least one profile"),
        ("admissions", {"developers": {"profiles": ["code"], "tier": "all"}}, "tier"),
        ("admissions", {"developers": {"profiles": ["code"], "teir": "read"}}, "no 'teir'"),
        ("members", {"https://a.example#x": {}}, "says nothing"),
        ("members", {"https://a.example#x": {"role": "king"}}, "king"),
        ("members", {"https://a.example#": {"role": "keeper"}}, "subject"),
        ("members", {"own#x": {"role": "keeper"}}, "no issuer of others"),
        ("members", {"https://a.example#x": {"groups": ["g"]}}, "no 'groups'"),
        ("members", {"ann@example.com": {"password": "x"}}, "no 'password'"),
        ("members", {"Ann@example.com": {}}, "lower case"),
        ("members", {"ann": {}}, "no email address"),
    ],
)
def test_faults_are_named_before_anything_is_done(
    home: Path, section: str, body: Json, fault: str
) -> None:
    yard = yard_in(home / "a")
    with pytest.raises(FaultsError, match=fault):
        yard.apply({**TEAM, section: body})
    assert not any(bodies for name, bodies in yard.export().items() if name != "version")


def test_people_who_log_in_with_the_hub_need_one_that_runs(home: Path) -> None:
    document = {**TEAM, "members": {"ann@example.com": {"groups": ["developers"]}}}
    failed = yard_in(home / "a").apply(document).failed
    assert failed is not None and failed.section == "members" and "--issuer own" in failed.hint


async def test_members_of_an_issuer_are_there_as_far_as_a_keeper_set_something(
    home: Path, issuer: SigningIssuer
) -> None:
    async with open_team(home, issuer) as doors:
        await Person(doors, issuer).tools()
        await Person(doors, issuer, "bob", groups=["reviewers"]).tools()

        async def are_kept() -> bool:
            return len(await members(doors)) == 2

        await doors.until(are_kept)
        assert (await export(doors))["members"] == {}
        await change_member(doors, "ann", role="keeper")
        await change_member(doors, "bob", disabled=True)
        assert (await export(doors))["members"] == {
            f"{issuer.url}#ann": {"role": "keeper"},
            f"{issuer.url}#bob": {"disabled": True},
        }
        # Whoever only logged in is not removed by a document that does not name them.
        await Person(doors, issuer, "eve").tools()
        await made(doors, {"version": 1, "members": {}}, "?prune=true")
        assert [row["subject"] for row in await members(doors)] in ([], ["eve"])
        assert await Person(doors, issuer, "eve").tools()


async def test_whoever_a_document_removes_loses_everything_at_once(
    home: Path, issuer: SigningIssuer
) -> None:
    async with open_team(home, issuer) as doors:
        ann = Person(doors, issuer, iat=int(issuer.claims()["iat"]) - 5)
        session = await ann.initialize()
        await members_kept(doors)
        await change_member(doors, "ann", role="keeper")
        document = await export(doors)
        head = {**ann.head, **session, "Accept": "text/event-stream"}
        async with doors.connected() as stream:
            await stream.send(doors.request("GET", "/mcp", headers=head))
            assert (await stream.head())[0] == 200
            await made(doors, {**document, "members": {}}, "?prune=true")
            async for _ in stream.chunks():
                pass  # it ends
        assert (await ann.post(call("ping"), session)).status == 403
        await made(doors, document)
        assert (await ann.post(modern("tools/list"))).status == 403  # from before the removal


async def test_people_who_log_in_with_the_hub_are_carried_over_without_a_password(
    home: Path, issuer: SigningIssuer
) -> None:
    for name in ("a", "b"):
        (home / name).mkdir()
    async with open_own(home / "a") as doors:
        await Browser(doors).join(await invite(doors, "ann@example.com", groups=["developers"]))
        await invite(doors, "kim@example.com", role="keeper")
        await change_member(doors, "kim@example.com", disabled=True)
        document = await export(doors)
    assert document["members"] == {
        "ann@example.com": {"groups": ["developers"]},
        "kim@example.com": {"groups": [], "role": "keeper", "disabled": True},
    }
    for word in ("password", "invit", "subject", "used_at"):
        assert word not in json.dumps(document)
    async with open_own(home / "b") as doors:
        applied = await made(doors, document, "?prune=true")
        assert any("toolyard member reset ann@example.com" in note for note in applied["notes"])
        assert await export(doors) == document
        less = {"ann@example.com": {"groups": ["reviewers"]}}
        await made(doors, {"version": 1, "members": less}, "?prune=true")
        assert (await export(doors))["members"] == less
        assert await is_out(doors, "kim@example.com")


async def is_out(doors: Doors, email: str) -> bool:
    """Tell whether somebody is no member any more."""
    return email not in [row["email"] for row in await members(doors)]


async def test_a_dry_run_changes_nothing(home: Path, issuer: SigningIssuer) -> None:
    async with open_team(home, issuer) as doors:
        before = await export(doors)
        answer = await apply(doors, TEAM, "?dry_run=true&prune=true")
        assert answer.status == 200 and answer.json()["changes"]
        assert await export(doors) == before
