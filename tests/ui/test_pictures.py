"""The pictures of the README and the guides: what they show is there to be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub
from tests.ui.conftest import PHONE, entered
from tests.ui.gallery import gallery
from tests.ui.looks import keep

pytestmark = pytest.mark.ui
WIDTH = 1280
FRAME = {"width": WIDTH, "height": 720}


async def test_a_yard_at_work_says_what_needs_a_person(browser: Any, home: Path) -> None:
    with gallery(home) as hub:
        async with entered(browser, hub, viewport=FRAME) as page:
            await page.wait_for_selector("[data-server=git][data-light=waiting]")
            await page.wait_for_selector("[data-server=database][data-light=failing] .why")
            await page.wait_for_selector("text=4 clients in the last hour")
            await keep(page, "guide-yard")

            await page.goto(f"{hub.url}/ui/activity")
            await page.locator("figure canvas").last.wait_for()
            await page.wait_for_selector(".flow .from >> text=claude-code")
            await keep(page, "guide-activity")

            # What follows names files of this machine, so it is left out.
            await page.set_viewport_size({"width": WIDTH, "height": 440})
            await page.goto(f"{hub.url}/ui/servers/git")
            await page.wait_for_selector("#changes pre.after")
            await keep(page, "guide-approve", whole=False)

            await page.set_viewport_size({"width": WIDTH, "height": 600})
            await page.goto(f"{hub.url}/ui/agents/codex")
            await page.wait_for_selector("text=A run gets 2 servers")
            await keep(page, "guide-agent", whole=False)
        async with entered(browser, hub, viewport=PHONE, color_scheme="dark") as page:
            await page.wait_for_selector("[data-server=git][data-light=waiting]")
            await page.wait_for_selector("text=4 clients in the last hour")
            await keep(page, "guide-phone", whole=False)


async def test_the_example_is_called_as_the_tutorial_says(browser: Any, home: Path) -> None:
    with running_hub({}, home=home) as hub:
        async with entered(browser, hub, viewport=FRAME) as page:
            await page.goto(f"{hub.url}/ui/servers/example/tools/convert_units")
            await page.fill("[id='f.value']", "26.2")
            await page.fill("[id='f.from_unit']", "mi")
            await page.fill("[id='f.to_unit']", "km")
            await page.click("text=Call it")
            result = page.locator("section[aria-label=Result]")
            await result.locator("text=42.16").first.wait_for()
            await page.evaluate("document.activeElement.blur()")
            await keep(page, "guide-tool")
