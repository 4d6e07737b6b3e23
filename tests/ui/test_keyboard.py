"""The page by the keyboard alone: the focus is never lost, and nothing that was typed is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub, stdio_stub
from tests.ui.conftest import entered
from tests.ui.orders import order

pytestmark = pytest.mark.ui
expect = pytest.importorskip("playwright.async_api").expect
QUESTION = "dialog[aria-label='Leave without saving your changes?']"


async def press(page: Any, *keys: str) -> None:
    """Press keys, one after the other, wherever the focus is."""
    for key in keys:
        await page.keyboard.press(key)


async def test_the_first_tab_leads_past_the_navigation_and_changes_nothing(
    browser: Any, home: Path
) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.fill("#filter", "one")
            await page.evaluate("document.activeElement.blur()")
            await page.locator(".skip").first.focus()
            address = page.url
            await press(page, "Enter")
            await expect(page.locator("#main")).to_be_focused()
            await press(page, "Tab")
            assert await page.evaluate("document.activeElement.closest('main') !== null")
            assert (page.url, await page.input_value("#filter")) == (address, "one")


async def test_a_menu_is_walked_by_arrows_and_gives_the_focus_back(
    browser: Any, home: Path
) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one")
            menu, word = page.locator("details.menu"), page.locator("details.menu summary")
            await word.focus()
            await press(page, "ArrowDown")
            await expect(menu.get_by_text("Duplicate")).to_be_focused()
            await press(page, "ArrowUp")
            await expect(menu.get_by_text("Remove")).to_be_focused()
            await press(page, "Home", "ArrowDown")
            await expect(menu.get_by_text("Disable")).to_be_focused()
            await press(page, "Escape")
            await expect(word).to_be_focused()
            await expect(menu).not_to_have_attribute("open", "")
            await press(page, "Enter", "End", "Tab")
            await expect(menu).not_to_have_attribute("open", "")


async def test_what_was_removed_can_be_put_back_by_the_next_key(browser: Any, home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one")
            await page.locator("details.menu summary").focus()
            await press(page, "ArrowDown", "End", "Enter")
            await expect(page.locator("#said button")).to_be_focused()
            row = page.locator("[data-server=one]")
            await row.wait_for(state="detached")
            await press(page, "Enter")
            await row.wait_for()


async def test_the_focus_goes_to_the_next_row_when_one_is_removed(browser: Any, home: Path) -> None:
    with running_hub({}, home=home) as hub:
        async with entered(browser, hub) as page:
            for name in ("first", "second", "third"):
                await order(page, "POST", "/tokens", {"name": name})
            await page.goto(f"{hub.url}/ui/access")
            for name, following in (("second", "third"), ("third", "first")):
                row = page.locator("tbody tr", has_text=name)
                await row.get_by_role("button", name="Revoke").focus()
                await press(page, "Enter")
                await page.locator("dialog button.danger").focus()
                await press(page, "Enter")
                await row.wait_for(state="detached")
                near = page.locator("tbody tr", has_text=following)
                await expect(near.get_by_role("button", name="Revoke")).to_be_focused()
            await press(page, "Enter")
            await page.click("dialog button.danger")
            await page.locator("tbody tr", has_text="first").wait_for(state="detached")
            assert await page.evaluate("document.activeElement.closest('main') !== null")


async def test_a_button_that_is_disabled_while_it_works_has_the_focus_afterwards(
    browser: Any, home: Path
) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one")
            start = page.get_by_role("button", name="Start", exact=True)
            if await start.count():
                await start.click()
            verify = page.get_by_role("button", name="Verify")
            await verify.focus()
            await press(page, "Enter")
            await page.wait_for_selector("#said >> text=verified")
            await expect(verify).to_be_focused()


async def test_leaving_a_form_asks_before_what_was_typed_is_lost(browser: Any, home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one")
            await page.click("a:has-text('Edit')")
            await page.fill("#entry-env", "MODE=slow")
            for leave in (page.click("header nav >> text=Tools"), page.go_back()):
                await leave
                await page.locator(QUESTION).get_by_text("Keep editing").click()
                await expect(page.locator("#entry-env")).to_have_value("MODE=slow")
                assert page.url.endswith("/ui/servers/one/edit")
            await page.click("header nav >> text=Tools")
            await page.locator(QUESTION).get_by_text("Discard changes").click()
            await page.wait_for_url("**/ui/tools")
            await page.go_back()
            await expect(page.locator("#entry-env")).to_have_value("")


async def test_cancelling_and_saving_a_form_ask_nothing(browser: Any, home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            for button in ("Cancel", "Save"):
                await page.goto(f"{hub.url}/ui/servers/one/edit")
                await page.fill("#entry-env", "MODE=slow")
                await page.get_by_role("button", name=button, exact=True).click()
                await page.wait_for_url(lambda url: "/edit" not in url)
