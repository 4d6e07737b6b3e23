"""People accept an invitation, log in and agree in a real browser, without JavaScript."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import Doors
from tests.features.authorization.people import PASSWORD, App, invite, make_app, open_own, words_in
from tests.ui.conftest import CHROMIUM, DESK, FLAGS, PHONE, playwright

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


@pytest.mark.parametrize(("name", "size"), [("desk", DESK), ("phone", PHONE)])
async def test_a_browser_goes_all_the_way_to_the_client(
    home: Path, name: str, size: dict[str, int]
) -> None:
    if CHROMIUM is None:
        pytest.skip("there is no browser")
    async with open_own(home) as doors, playwright.async_playwright() as driver:
        waiting = Waiting()
        server = await asyncio.start_server(waiting.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        app = await make_app(doors, f"http://127.0.0.1:{port}/back")
        code = await invite(doors, f"{name}@example.com", groups=["developers"])
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = await browser.new_context(viewport=size, java_script_enabled=False)
        page = await context.new_page()
        await go_through(page, doors, app, code, name)
        async with asyncio.timeout(60):
            address = await waiting.came
        assert await context.cookies() == []
        assert words_in(address)["state"] == app.state
        assert (await app.redeem(address)).status == 200
        await browser.close()
        server.close()
        await server.wait_closed()
