"""What the pictures of the README and the tutorial show is there to be seen."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub, stdio_stub
from tests.e2e.talk import talking
from tests.ui.conftest import entered, shots

pytestmark = pytest.mark.ui

SERVERS = ("browser", "database", "files", "git", "issues", "weather")
CLIENTS = ("claude-code", "cursor", "codex")
FRAME = {"width": 1120, "height": 560}


async def keep(page: Any, name: str) -> None:
    """Keep a picture of the page, if pictures are wanted."""
    folder = shots()
    if folder is not None:
        await page.screenshot(path=folder / f"{name}.png", full_page=True)


async def test_a_yard_at_work_shows_servers_clients_and_calls(browser: Any, home: Path) -> None:
    servers = {name: stdio_stub(name, home) for name in SERVERS}
    servers["notes"] = {"command": "/nowhere/at/all"}
    async with AsyncExitStack() as stack:
        hub = stack.enter_context(running_hub(servers, home=home))
        page = await stack.enter_async_context(entered(browser, hub, viewport=FRAME))
        talks = [await stack.enter_async_context(talking(hub, name=client)) for client in CLIENTS]
        await asyncio.gather(
            *(talk.call(f"{each}__echo", {"text": "x"})
              for at, talk in enumerate(talks)
              for number, each in enumerate(SERVERS)
              for _ in range((number * 5 + at * 3) % 11 + 1))
        )  # fmt: skip
        await page.reload()
        await page.wait_for_selector(f"text={len(CLIENTS)} clients in the last hour")
        for server in SERVERS:
            await page.locator(f"[data-server={server}]").locator("text=ready").wait_for()
        await page.wait_for_selector("text=cannot start")
        await keep(page, "guide-yard")


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
            await keep(page, "guide-tool")
