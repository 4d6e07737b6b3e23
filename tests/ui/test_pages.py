"""Every page opens, at a desk and on a phone, in light and dark; all can be read and reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub
from tests.ui.conftest import DESK, PHONE, entered, kitchen, shots
from tests.ui.orders import order
from tests.ui.test_looks import AXE, SERIOUS

pytestmark = pytest.mark.ui
PAGES = {
    "tools": "Tools",
    "agents": "Agents",
    "agents/codex": "Codex",
    "policies": "Policies",
    "policies/docker": "docker",
    "executors": "Executors",
    "add": "Add a server",
    "add/json": "Add a server",
    "servers/kitchen/edit": "Edit kitchen",
    "clients": "Clients",
    "catalog": "Add a server",
    "catalog/github": "GitHub",
    "activity": "Activity",
    "activity/calls": "Calls",
    "activity/calls/1": "cook",
    "profiles": "Profiles",
    "profiles/work": "work",
    "apps": "Apps",
    "access": "Tokens",
    "access/secrets": "Secrets",
    "access/logins": "Logins",
    "settings": "Settings",
    "settings/clients": "Client quirks",
    "settings/doctor": "Doctor",
}
LOOKS = [("desk", "light"), ("desk", "dark"), ("phone", "light"), ("phone", "dark")]


@pytest.mark.parametrize(("size", "scheme"), LOOKS if shots() else [LOOKS[0], LOOKS[3]])
async def test_no_page_is_cut_off_or_inaccessible(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    look = {"viewport": DESK if size == "desk" else PHONE, "color_scheme": scheme}
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub, **look) as page:
            servers = {"kitchen": {"server": "kitchen"}, "notes": {"command": "n" * 200}}
            config = {"enabled": True, "servers": servers}
            await order(page, "PUT", "/agents/codex/config", config)
            await order(page, "PUT", "/profiles/work", {"allow": ["kitchen/cook"]})
            call = {"server": "kitchen", "tool": "cook", "arguments": {"dish": "soup", "table": 1}}
            await order(page, "POST", "/call", call)
            for path, title in PAGES.items():
                await page.goto(f"{hub.url}/ui/{path}")
                await page.wait_for_selector(f"h1:has-text('{title}')")
                await page.wait_for_selector(".skeleton", state="detached")
                wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{path} is {wide} pixels too wide"
                if AXE.exists():
                    await page.evaluate(AXE.read_text())
                    assert await page.evaluate(SERIOUS) == [], path
                if folder := shots():
                    name = f"{path.replace('/', '-')}-{size}-{scheme}.png"
                    await page.screenshot(path=folder / name, full_page=True)


async def test_what_is_not_there_says_where_to_go(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            for path in (
                "agents/nobody",
                "policies/nowhere",
                "catalog/nothing",
                "activity/calls/99",
            ):
                await page.goto(f"{hub.url}/ui/{path}")
                await page.wait_for_selector(".empty a[href^='/ui/']")
