"""Members use servers with secrets of their own, each in a process of their own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import entry, put_profile, send
from tests.doors.doors import Doors, open_doors
from tests.features.members.team import Person, admit, change_member
from tests.fixtures.signing_issuer import SigningIssuer, signing

OWN = "toolyard:own"
ANNS, BOBS = "secret-of-ann-4711", "secret-of-bob-0815"
KEY = ("only-for-these-tests-" * 2,)


@pytest.fixture
def issuer() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


def server(**changes: Any) -> dict[str, Any]:
    """A server that tells its environment, with a secret of whoever calls."""
    env = {"WHOSE": "${member:whose}"}
    return {**entry("mine", "--only", "env,echo", "--tools-only"), "env": env, **changes}


@asynccontextmanager
async def open_mine(home: Path, issuer: SigningIssuer, **changes: Any) -> AsyncIterator[Doors]:
    """A hub whose developers are admitted to that server."""
    changes = {"key": KEY, "issuer": issuer.url, **changes}
    async with open_doors(home, {"mine": server()}, **changes) as doors:
        await put_profile(doors, "mine", allow=["mine"])
        await admit(doors, "developers", "mine")
        yield doors


async def keep(person: Person, value: str, name: str = "whose") -> None:
    """Have a member keep a secret of their own."""
    answer = await person.order("PUT", f"/api/v1/my/secrets/{name}", {"value": value})
    assert answer.status == 200, answer


async def whose(person: Person) -> str:
    """The secret that the server of a member got."""
    said = await person.call("mine__env", name="WHOSE")
    return str(said["result"]["content"][0]["text"])


async def is_listed(doors: Doors) -> None:
    """Wait until it is known what the server offers."""

    async def listed() -> bool:
        return "mine__env" in await doors.tools()

    await doors.until(listed)


async def processes(doors: Doors) -> list[int]:
    """The processes of the server that run."""
    rows = (await doors.get("/api/v1/instances"))["instances"]
    return [row["pid"] for row in rows if row["pid"]]


@asynccontextmanager
async def two_members(home: Path, issuer: SigningIssuer) -> AsyncIterator[tuple[Person, Person]]:
    """Two members who have each called with a secret of their own."""
    async with open_mine(home, issuer) as doors:
        ann, bob = Person(doors, issuer, scope=OWN), Person(doors, issuer, "bob", scope=OWN)
        await keep(ann, ANNS)
        await is_listed(doors)
        await keep(bob, BOBS)
        assert (await whose(ann), await whose(bob)) == (ANNS, BOBS)
        yield ann, bob


async def test_each_member_is_served_with_their_own_secret(
    home: Path, issuer: SigningIssuer
) -> None:
    async with two_members(home, issuer) as (ann, bob):
        for _ in range(3):
            assert (await whose(ann), await whose(bob)) == (ANNS, BOBS)
        pids = await processes(ann.doors)
        assert len(pids) == 2
        for pid in pids:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert (ANNS.encode() in environment) is not (BOBS.encode() in environment)
        kept = (home / "state" / "member-secrets.json").read_text()
        assert ANNS not in kept
        assert BOBS not in kept


async def test_nobody_shares_the_process_of_a_member_who_has_no_secret(
    home: Path, issuer: SigningIssuer
) -> None:
    async with two_members(home, issuer) as (ann, _bob):
        cem = Person(ann.doors, issuer, "cem", scope=OWN)
        refused = await cem.call("mine__env", name="WHOSE")
        assert "'mine' needs your secret 'whose'" in json.dumps(refused)
        owner = await ann.doors.run("mine__env", name="WHOSE")
        assert "the hub's owner has no secret 'whose'" in owner["error"]["message"]
        assert ANNS not in json.dumps([refused, owner])
        assert len(await processes(ann.doors)) == 2


async def test_the_owner_uses_what_the_keyring_has_under_that_name(
    home: Path, issuer: SigningIssuer, a_keyring: object
) -> None:
    async with two_members(home, issuer) as (ann, bob):
        answer = await send(ann.doors, "PUT", "/api/v1/secrets/whose", {"value": "the-owners-own"})
        assert answer.status == 200, answer
        assert await ann.doors.text("mine__env", name="WHOSE") == "the-owners-own"
        assert (await whose(ann), await whose(bob)) == (ANNS, BOBS)


async def test_a_new_value_starts_the_server_of_that_member_anew(
    home: Path, issuer: SigningIssuer
) -> None:
    async with two_members(home, issuer) as (ann, bob):
        before = await processes(ann.doors)
        await keep(ann, "another-one-of-ann")

        async def is_new() -> bool:
            return await whose(ann) == "another-one-of-ann"

        await ann.doors.until(is_new)
        assert await whose(bob) == BOBS
        assert len({*before} & {*await processes(ann.doors)}) == 1


async def test_members_see_the_names_of_their_own_secrets_alone(
    home: Path, issuer: SigningIssuer
) -> None:
    async with two_members(home, issuer) as (ann, bob):
        await keep(bob, "more-of-bob", "other")
        rows = (await ann.order("GET", "/api/v1/my/secrets")).json()["secrets"]
        assert [(row["name"], row["is_set"], row["used_by"]) for row in rows] == [
            ("whose", True, ["mine"])
        ]
        assert (await ann.order("DELETE", "/api/v1/my/secrets/other")).status == 404
        assert (await ann.order("GET", "/api/v1/member-secrets?member=bob")).status == 403
        theirs = await send(ann.doors, "GET", "/api/v1/member-secrets?member=bob")
        assert {row["name"] for row in theirs.json()["secrets"]} == {"whose", "other"}
        assert BOBS not in theirs.body.decode()


@pytest.mark.parametrize("change", ["remove", "disable"])
async def test_a_member_who_is_gone_leaves_neither_process_nor_secret(
    home: Path, issuer: SigningIssuer, change: str
) -> None:
    async with two_members(home, issuer) as (ann, bob):
        doors = ann.doors
        (anns,) = [
            pid
            for pid in await processes(doors)
            if ANNS.encode() in Path(f"/proc/{pid}/environ").read_bytes()
        ]

        async def is_written() -> bool:
            return len((await doors.get("/api/v1/members"))["members"]) == 2

        await doors.until(is_written)
        if change == "disable":
            await change_member(doors, "ann", disabled=True)
        else:
            assert (await send(doors, "DELETE", "/api/v1/members/ann")).status == 200

        async def is_over() -> bool:
            kept = json.loads((home / "state" / "member-secrets.json").read_text())
            return len(kept) == 1 and anns not in await processes(doors)

        await doors.until(is_over)
        assert await whose(bob) == BOBS
        if change == "disable":
            await change_member(doors, "ann", disabled=False)
            assert "needs your secret" in json.dumps(await ann.call("mine__env", name="WHOSE"))
