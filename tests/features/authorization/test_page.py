"""People log in on the page with the hub itself."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

from tests.control.company import send
from tests.doors.doors import Answer, Doors
from tests.features.authorization.people import make_member, open_own


async def knock(doors: Doors, path: str, secret: str) -> Answer:
    """Come to the page's entrance with a secret."""
    return await doors.ask("POST", path, b"", {"Authorization": f"Bearer {secret}"})


async def come_in(doors: Doors) -> Answer:
    """Log in as Ann, who is a member; what the tab gets."""
    browser = await make_member(doors)
    tie = secrets.token_urlsafe(32)
    begun = await knock(doors, "/ui/login/begin", tie)
    assert begun.status == 200, begun
    back = urlsplit(await browser.agree(begun.json()["url"], "ann@example.com"))
    assert back.path == "/ui/login"
    return await knock(doors, f"/ui/login/finish?{back.query}", tie)


async def test_the_page_is_a_client_of_the_hub_itself(own: Doors) -> None:
    tab = await come_in(own)
    assert tab.status == 200, tab
    for key in (
        tab.json()["key"],
        (await knock(own, "/ui/login/renew", tab.json()["renewal"])).json()["key"],
    ):
        answer = await send(own, "GET", "/api/v1/my/self", Authorization=f"Bearer {key}")
        assert answer.status == 200 and answer.json()["email"] == "ann@example.com"


async def test_the_page_needs_no_way_back_to_its_public_address(home: Path) -> None:
    # Nobody here knows that name; the hub reaches itself all the same.
    async with open_own(home, public="https://yard.example.com") as doors:
        tab = await come_in(doors)
        assert tab.status == 200, tab
