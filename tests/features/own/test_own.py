"""A member sees their own calls and news, and nobody else's."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.control.company import send
from tests.doors.doors import Doors
from tests.features.members.team import Person, admit, change_member
from tests.features.members.test_doors import members_kept
from tests.fixtures.signing_issuer import SigningIssuer

OWN = "toolyard:own"


async def test_a_member_sees_their_own_calls_alone(team: Doors, issuer: SigningIssuer) -> None:
    ann, bob = (Person(team, issuer, name, scope=OWN) for name in ("ann", "bob"))
    await ann.call("one__echo", text="mine")
    await bob.call("two__echo", text="his")
    theirs = {}
    for person in (ann, bob):
        page = (await person.order("GET", "/api/v1/my/calls")).json()
        theirs[person] = [(call["server"], call["caller"]) for call in page["calls"]]
    assert theirs == {
        ann: [("one", "ann@example.com")],
        bob: [("two", "bob@example.com")],
    }
    forged = await bob.order("GET", "/api/v1/my/calls?caller=ann@example.com")
    assert [call["server"] for call in forged.json()["calls"]] == ["two"]
    found = (await ann.order("GET", "/api/v1/my/calls?server=two")).json()
    assert found == {"calls": [], "next": None, "stopped": False}


async def test_whoever_gets_an_address_of_somebody_else_does_not_get_their_calls(
    team: Doors, issuer: SigningIssuer
) -> None:
    old = Person(team, issuer, "old", email="shared@example.com", scope=OWN)
    await old.call("one__echo", text="private")
    await members_kept(team)
    removed = await send(team, "DELETE", f"/api/v1/members/{quote('shared@example.com')}")
    assert removed.status == 200
    new = Person(team, issuer, "new", email="shared@example.com", scope=OWN)
    await new.tools()
    await members_kept(team)
    page = (await new.order("GET", "/api/v1/my/calls")).json()
    assert page["calls"] == []


async def test_a_member_hears_of_their_own_calls_and_changes(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann, bob = (Person(team, issuer, name, scope=OWN) for name in ("ann", "bob"))
    await bob.tools()
    async with team.connected() as raw:
        await raw.send(team.request("GET", "/api/v1/my/events", headers=ann.head))
        assert (await raw.head())[0] == 200
        await bob.call("two__echo", text="his")
        await ann.call("one__echo", text="mine")
        assert await raw.event() == {"calls": 1}
        await admit(team, "developers", "echoes", "two")
        assert await raw.event() == {}
        await members_kept(team)
        await change_member(team, "ann@example.com", role="keeper")
        assert await raw.event() == {}


@pytest.mark.parametrize("path", ["/api/v1/my/calls", "/api/v1/my/events", "/api/v1/my/sessions"])
async def test_the_hubs_owner_has_nothing_of_their_own(team: Doors, path: str) -> None:
    answer = await team.ask("GET", path)
    assert answer.status == 404 and "belongs to no member" in answer.json()["detail"]
