"""A member answers for their own calls, and for no one else's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.doors.doors import Doors
from tests.features.members.team import Person, open_team
from tests.features.rules.calling import Modern, text_of, waiting
from tests.fixtures.signing_issuer import SigningIssuer, signing

OWN = "/api/v1/my/waiting-calls"
ECHO = {"name": "one__echo", "arguments": {"text": "hello"}}


@pytest.fixture
def people() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


@pytest_asyncio.fixture
async def team(home: Path, people: SigningIssuer) -> AsyncIterator[Doors]:
    rules = {"echoes": {"tools": ["*/echo"], "members": ["!carl@example.com"]}}
    (home / "rules.json").write_text(json.dumps(rules))
    async with open_team(home, people) as doors:
        yield doors


async def test_a_yes_of_another_member_is_none(team: Doors, people: SigningIssuer) -> None:
    ann, bob = (Person(team, people, name, scope="toolyard:own") for name in ("ann", "bob"))
    again = await Modern(ann).asked(ECHO)
    assert (await Modern(bob).call(ECHO, again))["resultType"] == "input_required"
    mute = Modern(ann, able={})
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(mute.call(ECHO))
        rows = await waiting(team, 3)
        (row,) = [row for row in rows if not row["in_client"]]
        assert row["caller"] == "ann@example.com"
        listed = (await bob.order("GET", OWN)).json()["calls"]
        assert row["id"] not in [other["id"] for other in listed]
        assert (await bob.order("POST", f"{OWN}/{row['id']}", {"answer": "yes"})).status == 404
        everywhere = f"/api/v1/waiting-calls/{row['id']}"
        assert (await ann.order("POST", everywhere, {"answer": "yes"})).status == 403
        assert not calling.done()
        assert row in (await ann.order("GET", OWN)).json()["calls"]
        assert (await ann.order("POST", f"{OWN}/{row['id']}", {"answer": "yes"})).status == 200
    assert text_of(calling.result()) == "hello"
    assert text_of(await Modern(ann).call(ECHO, again)) == "hello"


async def test_a_rule_is_about_the_members_it_names(team: Doors, people: SigningIssuer) -> None:
    carl = Person(team, people, "carl", scope="toolyard:own")
    assert text_of(await Modern(carl).call(ECHO)) == "hello"


async def test_a_member_who_listens_later_is_told_that_a_call_of_theirs_waits(
    team: Doors, people: SigningIssuer
) -> None:
    ann = Person(team, people, "ann", scope="toolyard:own")
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(Modern(ann, able={}).call(ECHO))
        (row,) = await waiting(team)
        async with team.connected() as raw:
            await raw.send(team.request("GET", "/api/v1/my/events", headers=ann.head))
            assert (await raw.head())[0] == 200
            assert await raw.event() == {"calls": 1}
        await ann.order("POST", f"{OWN}/{row['id']}", {"answer": "no"})
    assert "a person said no" in text_of(calling.result())
