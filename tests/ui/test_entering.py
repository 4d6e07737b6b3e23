"""Who gets in by the printed link, and who does not although the browser speaks to them too."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from tests.e2e.hub import RunningHub
from tests.ui.conftest import entered
from tests.ui.test_trust import foreign

pytestmark = pytest.mark.ui
SHOWN = "[data-server=kitchen]"
SHUT = "text=This browser is not let in"


def ask(hub: RunningHub, headers: dict[str, str]) -> int:
    """The status the yard is refused or given with."""
    connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", "/api/v1/status", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def printed_link(hub: RunningHub) -> str:
    """The link that `toolyard status` prints for people."""
    return next(word for word in hub.run("status").split() if "/open?code=" in word)


async def test_whoever_lets_himself_in_stays_in_over_a_reload_and_in_other_tabs(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        await page.wait_for_selector(SHOWN)
        assert page.url == f"{hub.url}/ui"
        await page.reload()
        await page.wait_for_selector(SHOWN)
        await page.wait_for_selector(".live.live")
        other = await page.context.new_page()
        await other.goto(f"{hub.url}/ui/servers/kitchen")
        await other.wait_for_selector("text=Tools (1)")
        await other.goto(f"{hub.url}/")
        await other.wait_for_selector(SHOWN)


async def test_whoever_has_no_key_is_told_how_to_get_in(browser: Any, hub: RunningHub) -> None:
    used = printed_link(hub)
    async with entered(browser, hub) as page:
        await page.goto(used)
        await page.wait_for_selector(SHOWN)
    context = await browser.new_context()
    stranger = await context.new_page()
    for address in (f"{hub.url}/ui/servers/kitchen", used):
        await stranger.goto(address)
        await stranger.wait_for_selector(SHUT)
        assert "kitchen" not in await stranger.inner_text("main")
    fresh = await context.new_page()
    await fresh.goto(printed_link(hub))
    await stranger.wait_for_selector(SHOWN)
    await context.close()


async def test_a_listener_on_another_port_gets_nothing_that_lets_it_in(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page, foreign() as (address, heard):
        await page.wait_for_selector(SHOWN)
        other = await page.context.new_page()
        await other.goto(address)
        await other.evaluate("fetch('/again', {credentials: 'include'})")
        assert await other.evaluate("JSON.stringify({...localStorage, ...sessionStorage})") == "{}"
        assert len(heard) >= 2
        ours = {"origin": hub.url, "sec-fetch-site": "same-origin"}
        for headers in heard:
            carried = {k: v for k, v in headers.items() if k not in ("host", "connection")}
            assert ask(hub, {**carried, **ours}) == 401
