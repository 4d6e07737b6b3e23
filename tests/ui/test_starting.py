"""Whatever goes wrong while the page starts, it shows a heading, says what it is, and can go on."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.e2e.hub import RunningHub
from tests.ui.conftest import PATIENCE_MS, entered, page_link

pytestmark = pytest.mark.ui
expect = pytest.importorskip("playwright.async_api").expect
SHOWN = "[data-server=kitchen]"
LATE = "document.getAnimations().forEach(animation => animation.finish())"
"""Let the time pass after which something is late."""
BUSY = {"title": "busy", "status": 503, "detail": "the hub is busy with a test", "hint": ""}
BROKEN = """export const open = () => () => { throw new Error("no such bone"); };"""


@asynccontextmanager
async def newcomer(browser: Any) -> AsyncIterator[Any]:
    """A page that has been nowhere yet."""
    context = await browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield await context.new_page()
    finally:
        await context.close()


def refuse(**problem: Any) -> Callable[[Any], Any]:
    """Answer a request with a problem in the place of the hub."""

    async def answer(route: Any) -> None:
        await route.fulfill(
            status=problem["status"],
            content_type="application/problem+json",
            body=json.dumps(problem),
        )

    return answer


async def keep_waiting(_route: Any) -> None:
    """Never answer a request."""


async def drop(route: Any) -> None:
    """Lose a request on its way."""
    await route.abort("connectionreset")


async def test_a_part_that_cannot_be_fetched_is_told_of_at_once(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.route("**/lib/finder.js", drop)
        await page.goto(page_link(hub))
        await expect(page.locator("h1")).to_have_text("The page has not loaded")
        await expect(page.locator("h1")).to_be_visible()
        await page.unroute("**/lib/finder.js")
        await page.click("text=Load it again")
        await page.wait_for_selector(SHOWN)


async def test_a_link_that_nobody_answers_is_tried_until_somebody_does(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.route("**/open?*", drop_posts)
        await page.goto(page_link(hub))
        await page.wait_for_selector("h1")
        await page.wait_for_selector("text=The hub does not answer")
        await page.unroute("**/open?*")
        await page.wait_for_selector(SHOWN)
        assert page.url == f"{hub.url}/ui"


async def drop_posts(route: Any) -> None:
    """Lose the code, but not the page that sends it."""
    await (drop(route) if route.request.method == "POST" else route.continue_())


async def test_a_code_whose_answer_never_comes_is_sent_again(browser: Any, hub: RunningHub) -> None:
    held: list[Any] = []

    async def hold_first_post(route: Any) -> None:
        if route.request.method == "POST" and not held:
            held.append(route)
        else:
            await route.continue_()

    async with newcomer(browser) as page:
        await page.clock.install()
        await page.route("**/open?*", hold_first_post)
        async with page.expect_request(lambda sent: sent.method == "POST"):
            await page.goto(page_link(hub))
        await page.evaluate(LATE)
        await page.wait_for_selector("h1:has-text('The page has not loaded')")
        await page.clock.fast_forward("00:20")
        await page.wait_for_selector(SHOWN)


async def test_a_link_whose_answer_was_lost_says_that_a_new_one_is_needed(
    browser: Any, hub: RunningHub
) -> None:
    lost: list[Any] = []

    async def lose_first_answer(route: Any) -> None:
        if route.request.method != "POST" or lost:
            await route.continue_()
            return
        lost.append(await route.fetch())
        await drop(route)

    async with newcomer(browser) as page:
        await page.route("**/open?*", lose_first_answer)
        await page.goto(page_link(hub))
        await page.wait_for_selector("h1:has-text('This browser is not let in')")
        await page.wait_for_selector("text=The hub's answer to this link did not arrive")
        await page.wait_for_selector("code:has-text('toolyard status')")
        assert lost[0].ok


async def test_a_used_link_says_so_under_a_heading(browser: Any, hub: RunningHub) -> None:
    link = page_link(hub)
    async with newcomer(browser) as page:
        await page.goto(link)
        await page.wait_for_selector(SHOWN)
    async with newcomer(browser) as page:
        await page.goto(link)
        await page.wait_for_selector("h1:has-text('This browser is not let in')")
        await page.wait_for_selector("text=This link was used already, or is too old.")
        await page.wait_for_selector("code:has-text('toolyard status')")


async def test_a_hub_that_cannot_say_how_it_is_is_quoted_and_asked_again(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.route("**/api/v1/status", refuse(**BUSY))
        await page.goto(page_link(hub))
        await page.wait_for_selector("h1:has-text('Servers')")
        await page.wait_for_selector("text=the hub is busy with a test")
        await page.unroute("**/api/v1/status")
        again = page.locator("button", has_text="Try now")
        # It tries by itself, too, and takes the button away if it is first.
        await again.evaluate_all("buttons => buttons.forEach(button => button.click())")
        await page.wait_for_selector(SHOWN)


@pytest.mark.parametrize("path", ["status", "events"])
async def test_a_question_that_is_never_answered_is_asked_again(
    browser: Any, hub: RunningHub, path: str
) -> None:
    async with newcomer(browser) as page:
        await page.clock.install()
        await page.route(f"**/api/v1/{path}", keep_waiting)
        async with page.expect_request(f"**/api/v1/{path}"):
            await page.goto(page_link(hub))
        await page.wait_for_selector("h1:has-text('Servers')")
        await page.clock.fast_forward("00:20")
        await page.wait_for_selector(".live.lost")
        await page.unroute(f"**/api/v1/{path}")
        await page.clock.fast_forward("00:20")
        await page.wait_for_selector(f"{SHOWN}")
        await page.wait_for_selector(".live.live")


async def test_a_page_without_its_answer_has_a_heading_and_a_way_on(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.goto(page_link(hub))
        await page.wait_for_selector(SHOWN)
        await page.route("**/api/v1/clients", refuse(**BUSY))
        await page.goto(f"{hub.url}/ui/clients")
        await page.wait_for_selector("h1:has-text('Clients')")
        await page.wait_for_selector("#said >> text=the hub is busy with a test")
        await page.evaluate(LATE)
        await page.unroute("**/api/v1/clients")
        await page.click("text=Load it again")
        await page.wait_for_selector("text=On this machine")


async def test_what_was_missed_while_the_hub_was_away_is_asked_for_again(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.goto(page_link(hub))
        await page.wait_for_selector(SHOWN)
        await page.route("**/api/v1/**", drop)
        await page.goto(f"{hub.url}/ui/clients")
        await page.wait_for_selector("h1:has-text('Clients')")
        await page.wait_for_selector("text=The hub does not answer")
        await page.unroute("**/api/v1/**")
        await page.wait_for_selector("text=On this machine")


async def test_a_page_that_breaks_is_told_of_and_the_others_go_on(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        broken = {"content_type": "text/javascript", "body": BROKEN}
        await page.route("**/pages/doctor.js", lambda route: route.fulfill(**broken))
        async with page.expect_event("pageerror"):
            await page.goto(page_link(hub))
            await page.wait_for_selector(SHOWN)
            await page.goto(f"{hub.url}/ui/settings/doctor")
        await page.wait_for_selector("h1:has-text('Doctor')")
        await page.wait_for_selector("text=no such bone")
        await page.click("header nav >> text=Servers")
        await page.wait_for_selector(SHOWN)


@asynccontextmanager
async def withheld(page: Any, pattern: str) -> AsyncIterator[None]:
    """Let what is fetched by this pattern wait until the end of the block."""
    released = asyncio.Event()

    async def wait(route: Any) -> None:
        await released.wait()
        await route.continue_()

    await page.route(pattern, wait)
    try:
        yield
    finally:
        released.set()


async def test_a_page_stays_until_the_code_of_the_next_one_is_there(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        await page.wait_for_selector(SHOWN)
        async with withheld(page, "**/pages/clients.js"):
            await page.click("header nav >> text=Clients")
            await page.wait_for_selector("main[aria-busy=true]")
            await expect(page.locator(SHOWN)).to_be_visible()
            assert page.url == f"{hub.url}/ui"
        await page.wait_for_selector("text=On this machine")
        assert page.url == f"{hub.url}/ui/clients"
        await expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
        await expect(page.locator("main")).to_be_focused()


async def test_of_two_pages_on_their_way_the_last_one_is_shown(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        await page.wait_for_selector(SHOWN)
        async with withheld(page, "**/pages/clients.js"):
            await page.click("header nav >> text=Clients")
            await page.wait_for_selector("main[aria-busy=true]")
            await page.click("header nav >> text=Tools")
            await page.wait_for_selector("h1:has-text('Tools')")
        # Loaded by now, or else at once: a module is never fetched twice.
        await page.evaluate("() => import('/ui/assets/pages/clients.js')")
        await expect(page.locator("h1")).to_have_text("Tools")
        assert page.url == f"{hub.url}/ui/tools"


async def test_a_page_whose_code_does_not_come_says_so_and_is_loaded_again(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.goto(page_link(hub))
        await page.wait_for_selector(SHOWN)
        await page.route(re.compile("pages/clients.js|/ui/clients$"), drop)
        await page.click("header nav >> text=Clients")
        await expect(page.locator("h1")).to_have_text("Clients")
        await page.wait_for_selector("text=The code of this page could not be loaded.")
        again = page.locator("main button")
        await expect(again).to_have_text(["Load it again"])
        await again.click()
        await page.wait_for_selector("#said >> text=The hub still does not answer.")
        await page.unroute_all()
        await again.click()
        await page.wait_for_selector("text=On this machine")


async def test_a_page_whose_code_did_not_come_is_shown_once_the_hub_is_back(
    browser: Any, hub: RunningHub
) -> None:
    async with newcomer(browser) as page:
        await page.goto(page_link(hub))
        await page.wait_for_selector(SHOWN)
        await page.route(re.compile("/api/v1/|pages/clients.js"), drop)
        await page.goto(f"{hub.url}/ui")
        await page.wait_for_selector("text=The hub does not answer")
        await page.click("header nav >> text=Clients")
        await expect(page.locator("h1")).to_have_text("Clients")
        await page.unroute_all()
        await page.wait_for_selector("text=On this machine")


async def test_a_browser_that_keeps_nothing_is_let_in_for_as_long_as_the_page_is_open(
    browser: Any, hub: RunningHub
) -> None:
    shut = """Object.defineProperty(window, "localStorage", {get() { throw new Error("shut"); }})"""
    async with newcomer(browser) as page:
        await page.add_init_script(shut)
        await page.goto(page_link(hub))
        await page.wait_for_selector(SHOWN)
        await page.click("header nav >> text=Settings")
        await page.wait_for_selector("h1:has-text('Settings')")
