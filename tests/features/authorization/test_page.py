"""People log in on the page with the hub itself."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.control.company import put_profile, send
from tests.doors.doors import Answer, Doors
from tests.features.authorization.people import Browser, make_member, open_own
from tests.fixtures.issuer import issuing
from tests.fixtures.naming_issuer import NamingIssuer


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


async def test_the_visitor_of_a_link_logs_in_with_the_hub_itself(
    own: Doors, no_keyring: None
) -> None:
    with issuing(NamingIssuer()) as remote:
        order = {"name": "remote", "entry": {"url": remote.mcp, "login": "member"}}
        assert (await send(own, "POST", "/api/v1/servers", order)).status < 300
        await put_profile(own, "echoes", allow=["*/echo", "remote"])
        key = (await come_in(own)).json()["key"]
        path, head = "/api/v1/my/logins/remote/login", {"Authorization": f"Bearer {key}"}
        link = (await send(own, "POST", path, **head)).json()["url"]
        async with httpx2.AsyncClient(trust_env=False) as browser:
            led = await browser.post(link)
            assert led.status_code == 303, led.text
            person = Browser(own)
            back = await person.agree(led.headers["location"], "ann@example.com")
            led = await browser.get(back)
            assert led.headers["location"].startswith(f"{remote.url}/authorize?"), led.text


async def test_the_page_needs_no_way_back_to_its_public_address(home: Path) -> None:
    # Nobody here knows that name; the hub reaches itself all the same.
    async with open_own(home, public="https://yard.example.com") as doors:
        tab = await come_in(doors)
        assert tab.status == 200, tab
