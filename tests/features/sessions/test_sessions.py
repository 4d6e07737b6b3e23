"""Who is connected is seen, and a session can be ended: any by a keeper, a member's own by them."""

from __future__ import annotations

from typing import Any

from tests.control.company import Agent, make_token, send
from tests.doors.doors import Doors, call
from tests.features.members.team import Person
from tests.fixtures.signing_issuer import SigningIssuer

OWN = "toolyard:own"


async def sessions(doors: Doors) -> list[dict[str, Any]]:
    """The sessions, as the hub's owner sees them."""
    rows: list[dict[str, Any]] = (await doors.get("/api/v1/sessions"))["sessions"]
    return rows


async def test_whoever_is_in_is_listed_with_their_name(team: Doors, issuer: SigningIssuer) -> None:
    ann, ci = Person(team, issuer), Agent(team, token=await make_token(team, "ci"))
    head = await ann.initialize()
    await ci.initialize()
    rows = await sessions(team)
    assert [(row["caller"], row["client"]) for row in rows] == [
        ("ann@example.com", "agent"),
        ("ci", "agent"),
    ]
    assert all(head["Mcp-Session-Id"] not in str(row) for row in rows)


async def test_an_ended_session_is_over_for_its_client(team: Doors, issuer: SigningIssuer) -> None:
    ann = Person(team, issuer)
    head = await ann.initialize()
    assert (await ann.post(call("ping"), head)).status == 200
    (row,) = await sessions(team)
    assert (await send(team, "DELETE", f"/api/v1/sessions/{row['id']}")).status == 200
    assert await sessions(team) == []
    assert (await ann.post(call("ping"), head)).status == 404
    assert (await send(team, "DELETE", f"/api/v1/sessions/{row['id']}")).status == 404


async def test_a_member_ends_their_own_sessions_alone(team: Doors, issuer: SigningIssuer) -> None:
    ann, bob = (Person(team, issuer, name, scope=OWN) for name in ("ann", "bob"))
    head = await ann.initialize()
    await bob.initialize()
    mine, his = [
        (await person.order("GET", "/api/v1/my/sessions")).json()["sessions"]
        for person in (ann, bob)
    ]
    assert [row["caller"] for row in mine] == ["ann@example.com"]
    assert [row["caller"] for row in his] == ["bob@example.com"]
    assert (await bob.order("DELETE", f"/api/v1/my/sessions/{mine[0]['id']}")).status == 404
    assert (await ann.post(call("ping"), head)).status == 200
    assert (await ann.order("DELETE", f"/api/v1/my/sessions/{mine[0]['id']}")).status == 200
    assert (await ann.post(call("ping"), head)).status == 404
