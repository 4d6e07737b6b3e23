"""Members of hubs that share a database: what one hub is told holds at all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.doors import call, modern
from tests.features.members.team import Person
from tests.fixtures.hubs import order, sees, two_hubs
from tests.fixtures.postgres import SharedYard
from tests.fixtures.signing_issuer import SigningIssuer

KEY = ("a-key-of-these-tests-0123456789-abcdef",)


@pytest.mark.parametrize("change", ["disable", "remove", "admission"])
async def test_a_member_who_is_let_in_no_longer_loses_what_they_opened_elsewhere(
    home: Path, shared_yard: SharedYard, issuer: SigningIssuer, change: str
) -> None:
    async with two_hubs(home, shared_yard, issuer=issuer.url, audience=("team",), key=KEY) as hubs:
        here, there = hubs
        await order(here, "PUT", "/profiles/basics", {"allow": ["*"]})
        await order(here, "PUT", "/admissions/developers", {"profiles": ["basics"]})
        await sees(there, "/profiles", lambda answer: answer["profiles"])

        ann = Person(there, issuer, aud="team")

        async def is_in() -> bool:
            return (await ann.post(modern("tools/list"))).status != 403

        assert await there.until(is_in)
        session = await ann.initialize()
        await sees(here, "/members", lambda answer: answer["members"])
        head = {**ann.head, **session, "Accept": "text/event-stream"}
        async with there.connected() as stream:
            await stream.send(there.request("GET", "/mcp", headers=head))
            assert (await stream.head())[0] == 200
            if change == "disable":
                await order(here, "PUT", "/members/ann", {"disabled": True})
            elif change == "remove":
                await order(here, "DELETE", "/members/ann")
            else:
                await order(here, "DELETE", "/admissions/developers")
            async for _ in stream.chunks():
                pass  # it ends
        for hub in hubs:
            ann.doors = hub
            assert (await ann.post(call("ping"), session)).status == 403


async def test_a_session_goes_on_at_another_hub(
    home: Path, shared_yard: SharedYard, issuer: SigningIssuer
) -> None:
    async with two_hubs(home, shared_yard, issuer=issuer.url, audience=("team",), key=KEY) as hubs:
        await order(hubs[0], "PUT", "/profiles/basics", {"allow": ["*"]})
        await order(hubs[0], "PUT", "/admissions/developers", {"profiles": ["basics"]})
        await sees(hubs[1], "/profiles", lambda answer: answer["profiles"])
        ann = Person(hubs[0], issuer, aud="team")
        session = await ann.initialize()
        ann.doors = hubs[1]

        async def is_in() -> bool:
            return (await ann.post(call("ping"), session)).status == 200

        assert await hubs[1].until(is_in)
        bob = Person(hubs[1], issuer, "bob", aud="team")
        assert (await bob.post(call("ping"), session)).status == 404
