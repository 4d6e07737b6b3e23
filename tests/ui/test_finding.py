"""Whatever there is can be found by a few letters, and where one is can be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub
from tests.ui.conftest import entered, kitchen
from tests.ui.orders import order

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = pytest.mark.ui
TURNED = "safe\u202egnp.exe"


async def find(page: Any, words: str, name: str, kind: str) -> None:
    """Choose what the finder lists under this name and kind."""
    await page.keyboard.press("Control+k")
    await page.fill(".finder input", words)
    row = page.locator(".finder li").filter(has=page.get_by_text(name, exact=True))
    await row.filter(has=page.get_by_text(kind, exact=True)).first.click()
    await page.wait_for_selector(".finder", state="detached")


async def test_any_server_tool_agent_or_action_is_found(browser: Any, home: Path) -> None:
    (home / ".cursor").mkdir()
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/profiles/work", {"allow": ["kitchen/cook"]})
            await page.wait_for_selector("[data-server=kitchen]")
            places = [
                ("kitch", "kitchen", "server", "/servers/kitchen"),
                ("cook", "cook", "tool", "/servers/kitchen/tools/cook"),
                ("codex", "Codex", "agent", "/agents/codex"),
                ("work", "work", "profile", "/profiles/work"),
                ("docker", "docker", "policy", "/policies/docker"),
                ("server add", "add a server", "action", "/add"),
                ("activ", "Activity", "page", "/activity"),
                ("exec", "Executors", "page", "/executors"),
            ]
            for words, name, kind, path in places:
                await find(page, words, name, kind)
                await page.wait_for_url(f"{hub.url}/ui{path}")

            await find(page, "agent add", "add an agent", "action")
            await page.wait_for_selector("#new-agent[open]")
            await find(page, "connect curs", "connect Cursor", "action")
            await page.wait_for_selector("[role=region][aria-label='Connect Cursor'] .after")
            await find(page, "enable codex", "enable agent Codex", "action")
            await page.wait_for_selector("#said >> text=Codex is given its servers")
            assert (await order(page, "GET", "/agents/codex"))["enabled"] is True
            await find(page, "verify", "verify kitchen", "action")
            await page.wait_for_selector("#changes >> text=answered after")
            await find(page, "disable kitchen", "disable kitchen", "action")
            await page.wait_for_selector(".light.disabled")
            await find(page, "enable kitchen", "enable kitchen", "action")
            await page.wait_for_selector(".light.disabled", state="detached")


async def test_the_word_of_a_page_is_marked_also_below_it(browser: Any, hub: RunningHub) -> None:
    async with entered(browser, hub) as page:
        marks = {
            "": ("Servers", "page"),
            "servers/kitchen": ("Servers", "true"),
            "catalog/github": ("Servers", "true"),
            "agents/codex": ("Agents", "true"),
            "policies": ("Agents", "true"),
            "activity/calls/1": ("Activity", "true"),
        }
        for path, (word, mark) in marks.items():
            await page.goto(f"{hub.url}/ui/{path}")
            marked = page.locator("header [aria-current]")
            await expect(marked).to_have_text(word)
            await expect(marked).to_have_attribute("aria-current", mark)


async def test_a_question_hides_nothing_of_a_name(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            body = {"title": TURNED, "transports": ["stdio"]}
            await order(page, "PUT", "/agents/mine", body)
            await page.goto(f"{hub.url}/ui/agents")
            await page.click("button:has-text('Forget')")
            await page.wait_for_selector("dialog >> text=safe⟨U+202E⟩gnp.exe")
            label = await page.get_attribute("dialog", "aria-label")
            assert label is not None and "\u202e" not in label
            await page.click("text=Leave it")
            label = await page.get_attribute("[id=on-mine]", "aria-label")
            assert label == "Give safe⟨U+202E⟩gnp.exe its servers"


async def test_pages_of_one_entry_are_reached_from_each_other(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        entries = page.locator("header nav a")
        names = ["Servers", "Tools", "Clients", "Agents", "Activity", "Access", "Settings"]
        await expect(entries).to_have_text(names)
        await entries.filter(has_text="Agents").click()
        for tab in ("Profiles", "Policies", "Executors", "Agents"):
            await page.click(f".tabs >> text={tab}")
            await page.wait_for_selector(f"h1:has-text('{tab}')")
            await expect(page.locator(".tabs [aria-current=page]")).to_have_text(tab)
