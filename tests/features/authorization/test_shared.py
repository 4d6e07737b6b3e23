"""Hubs that share a database and a key: any of them finishes a login that another began."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.control.company import Agent
from tests.doors.doors import Doors, modern
from tests.features.authorization.people import App, Browser, invite, make_app, words_in
from tests.fixtures.hubs import order, sees, two_hubs
from tests.fixtures.postgres import SharedYard

KEY = ("a-key-of-these-tests-0123456789-abcdef",)
PUBLIC = "https://yard.example"


async def is_let_in(hub: Doors, token: str, *, wanted: bool = True) -> bool:
    """Tell whether a hub lets a token in, or turns it away, as is wanted."""
    status = (await Agent(hub, token=token).post(modern("tools/list"))).status
    return (status not in (401, 403)) == wanted


async def test_every_step_of_a_login_at_another_hub(home: Path, shared_yard: SharedYard) -> None:
    async with two_hubs(home, shared_yard, issuer="own", public=PUBLIC, key=KEY) as hubs:
        here, there = hubs
        await order(here, "PUT", "/profiles/basics", {"allow": ["*"]})
        await order(here, "PUT", "/admissions/developers", {"profiles": ["basics"]})
        await sees(there, "/profiles", lambda answer: answer["profiles"])
        code = await invite(here, "ann@example.com", groups=["developers"])
        await Browser(there).join(code)
        app = await make_app(here)
        wish = app.wish(resource=f"{PUBLIC}/mcp")
        login = await Browser(there).get(wish)
        words = {"email": "ann@example.com", "password": "correct horse battery"}
        consent = await Browser(here).submit(login, **words)
        sent = await Browser(there).submit(consent, decision="allow")
        address = sent.headers["location"]
        assert words_in(address)["iss"] == PUBLIC
        tokens = (await app.redeem(address)).json()

        for hub in hubs:
            assert await hub.until(partial(is_let_in, hub, tokens["access_token"]))
        # Each refresh at the other hub, at once.
        for hub in (there, here, there):
            app.doors = hub
            answer = await app.refresh(tokens["refresh_token"])
            assert answer.status == 200, answer
            spent, tokens = tokens, answer.json()
        # A token that was spent at one hub and comes again at the other ends the login everywhere.
        thief = App(here, app.id)
        assert (await thief.refresh(spent["refresh_token"])).status == 400
        for hub in hubs:
            assert await hub.until(partial(is_let_in, hub, tokens["access_token"], wanted=False))
