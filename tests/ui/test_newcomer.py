"""From the printed link to a called tool, and what a person meets on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub, stdio_stub
from tests.ui.conftest import PHONE, entered, kitchen

pytestmark = pytest.mark.ui


async def test_a_newcomer_gets_from_the_printed_link_to_a_called_tool(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        assert await page.title() == "Servers · Toolyard"
        await page.click("th >> text=kitchen")
        await page.click("section >> text=cook")
        await page.fill("[id='f.dish']", "soup")
        await page.fill("[id='f.table']", "7")
        await page.click("text=Call it")
        result = page.locator("section[aria-label=Result]")
        await result.locator("text=minutes").first.wait_for()
        assert await result.locator("img").count() == 1
        assert await result.locator("audio").count() == 1
        assert await result.locator("strong >> text=the bill").count() == 1
        await page.go_back()
        await page.wait_for_selector("h1:has-text('kitchen')")
        await page.go_back()
        await page.wait_for_selector("h1:has-text('Servers')")


async def test_the_finder_leads_to_a_tool_by_keyboard_alone(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home), "one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.wait_for_selector("[data-server=kitchen]")
            await page.keyboard.press("/")
            await page.keyboard.type("coo")
            await page.wait_for_selector("[role=option]:has-text('cook')")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("h1:has-text('cook')")
            assert page.url.endswith("/ui/servers/kitchen/tools/cook")
            await page.keyboard.press("Control+k")
            await page.wait_for_selector(".finder")
            await page.keyboard.press("Escape")
            await page.wait_for_selector(".finder", state="detached")


async def test_a_yard_without_servers_of_your_own_says_what_to_do(browser: Any) -> None:
    with running_hub({}) as hub:
        async with entered(browser, hub, viewport=PHONE) as page:
            await page.wait_for_selector("text=No servers of your own yet")
            assert await page.locator("[data-server=example]").count() == 1
            await page.click(".empty >> text=Add a server")
            await page.click(".tabs >> text=Catalog")
            await page.click(".tabs >> text=Form")
            await page.wait_for_selector("#entry-command")


async def test_the_theme_that_was_chosen_stays(browser: Any, hub: RunningHub) -> None:
    async with entered(browser, hub, color_scheme="light") as page:
        await page.click("button.theme")
        await page.reload()
        await page.wait_for_selector(":root[data-theme=dark]")
