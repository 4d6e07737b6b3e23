"""How the hub is set up: each setting with its origin, what clients can take, what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub
from tests.e2e.talk import talking
from tests.ui.conftest import entered, kitchen

pytestmark = pytest.mark.ui


async def test_a_setting_says_where_its_value_comes_from(browser: Any, home: Path) -> None:
    days = {"TOOLYARD_HISTORY_DAYS": "7"}
    with running_hub({"kitchen": kitchen(home)}, home=home, env=days) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/settings")
            row = page.locator("tr", has=page.locator("th:has-text('history_days')"))
            assert "TOOLYARD_HISTORY_DAYS" in await row.inner_text()
            assert await row.locator("td").first.inner_text() == "7 days"
            await page.fill("#find-setting", "history_rows")
            await row.wait_for(state="detached")
            await page.fill("#find-setting", "")
            await page.check("#changed-only")
            await row.wait_for()
            await page.locator("th", has_text="history_rows").wait_for(state="detached")
            await page.wait_for_selector(
                "section[aria-label='Catalog sources'] >> text=Bundled with Toolyard"
            )


async def test_the_limit_of_a_client_is_set_and_lifted_again(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with talking(hub, name="cursor-vscode"), entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/settings/clients")
            card = page.locator("li.card", has_text="Cursor").first
            await card.locator("text=session").wait_for()
            await card.locator("text=Edit").click()
            await page.fill("#quirk-most_tools", "3")
            await page.click("text=Save")
            await page.wait_for_selector("#said .bad")
            await page.fill("#quirk-most_tools", "12")
            await page.click("text=Save")
            await card.locator("text=changed by you").wait_for()
            await card.locator("text=12 tools").wait_for()
            await card.locator("text=Edit").click()
            await page.click("text=Remove what I set")
            await card.locator("text=changed by you").wait_for(state="detached")
            rows = json.loads(hub.get("/api/v1/passports")[1])["passports"]
            assert [row["name"] for row in rows if row["overridden"]] == []


async def test_the_doctor_is_a_part_of_the_settings(browser: Any, home: Path) -> None:
    with running_hub({"broken": {"command": "/nowhere/at/all"}}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/settings")
            await page.click(".tabs >> text=Doctor")
            await page.wait_for_selector("text=1 problem")
            await page.wait_for_selector(".problems >> text=broken")
