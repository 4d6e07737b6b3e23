"""People accept an invitation, log in and agree in a real browser, without JavaScript."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import send
from tests.doors.doors import Doors
from tests.features.authorization.people import PASSWORD, App, invite, make_app, open_own, words_in
from tests.ui.conftest import DESK, PHONE
from tests.ui.looks import check_look, keep

pytestmark = pytest.mark.ui
SHOTS = os.environ.get("TOOLYARD_SHOTS", "")


class Waiting:
    """A client that waits on the loopback until the browser comes back."""

    def __init__(self) -> None:
        self.came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readline()).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nback")
        await writer.drain()
        writer.close()
        if "code=" in target and not self.came.done():
            self.came.set_result(target)


async def shoot(page: Any, name: str) -> None:
    """Keep a picture, and see that nothing is wider than the window."""
    wide = await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not wide, name
    if SHOTS:
        await page.screenshot(path=str(Path(SHOTS, f"{name}.png")), full_page=True)


async def go_through(page: Any, doors: Doors, app: App, code: str, name: str) -> None:
    """Set a password, log in, and agree."""
    hub = f"http://{doors.host}"
    await page.goto(f"{hub}/invitation?code={code}")
    await shoot(page, f"login-invitation-{name}")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_label("The same again").fill(PASSWORD)
    await page.get_by_role("button", name="Set the password").click()
    await page.get_by_role("heading", name="The password is set").wait_for()
    await page.goto(hub + app.wish())
    await page.get_by_label("Email address").fill(f"{name}@example.com")
    await page.get_by_label("Password").fill("not the password")
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("alert").wait_for()
    await shoot(page, f"login-refused-{name}")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("heading", name="Let An app use your tools?").wait_for()
    assert await page.get_by_text("may destroy").count()
    await shoot(page, f"login-consent-{name}")
    await page.get_by_role("button", name="Allow").click()
    await page.get_by_text("back", exact=True).wait_for()


async def log_out(browser: Any, doors: Doors, name: str, size: dict[str, int]) -> None:
    """See which client a member has logged in with, as the hub's owner, and log it out."""
    link = (await send(doors, "POST", "/api/v1/link", Content_Length="0")).json()["link"]
    scheme = "dark" if name == "phone" else "light"
    context = await browser.new_context(viewport=size, color_scheme=scheme)
    page = await context.new_page()
    await page.goto(link)
    await page.wait_for_url("**/ui")
    await page.goto(f"http://{doors.host}/ui/access/sessions")
    row = page.locator("section[aria-label='Logged in'] tr", has_text="An app")
    await row.locator(f"text={name}@example.com").wait_for()
    await keep(page, f"login-clients-{name}")
    await check_look(page, "access/sessions")
    await row.locator("button:has-text('Log out')").click()
    await page.click("dialog button.danger")
    await row.wait_for(state="detached")
    await context.close()


@pytest.mark.parametrize(("name", "size"), [("desk", DESK), ("phone", PHONE)])
async def test_a_browser_goes_all_the_way_to_the_client(
    browser: Any, home: Path, name: str, size: dict[str, int]
) -> None:
    async with open_own(home) as doors:
        waiting = Waiting()
        server = await asyncio.start_server(waiting.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        app = await make_app(doors, f"http://127.0.0.1:{port}/back")
        code = await invite(doors, f"{name}@example.com", groups=["developers"])
        context = await browser.new_context(viewport=size, java_script_enabled=False)
        page = await context.new_page()
        await go_through(page, doors, app, code, name)
        async with asyncio.timeout(60):
            address = await waiting.came
        assert await context.cookies() == []
        assert words_in(address)["state"] == app.state
        tokens = (await app.redeem(address)).json()
        await context.close()
        await log_out(browser, doors, name, size)
        assert (await app.refresh(tokens["refresh_token"])).status == 400
        server.close()
        await server.wait_closed()
