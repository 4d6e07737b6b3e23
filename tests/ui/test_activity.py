"""Calls as pictures: along time, as a flow between clients and servers, as tokens they spend."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub, stdio_stub
from tests.e2e.talk import talking
from tests.ui.conftest import entered
from tests.ui.looks import FEW_LOOKS, check_look, look

pytestmark = pytest.mark.ui
CLIENTS = ("claude-code", "codex")
INKED = """(canvas) => {
  const {width, height} = canvas;
  const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
}"""


async def work(stack: AsyncExitStack, hub: RunningHub) -> list[Any]:
    """Have two clients call two servers, not always with success."""
    talks = [await stack.enter_async_context(talking(hub, name=name)) for name in CLIENTS]
    for number, talk in enumerate(talks):
        calls = [talk.call("git__echo", {"text": "x"}) for _ in range(3 + number)]
        await asyncio.gather(*calls, talk.call("files__fail"), talk.call("files__echo", {}))
    return talks


def servers(home: Path) -> dict[str, Any]:
    return {name: stdio_stub(name, home) for name in ("files", "git")}


async def test_calls_errors_and_latency_are_drawn_along_time(browser: Any, home: Path) -> None:
    async with AsyncExitStack() as stack:
        hub = stack.enter_context(running_hub(servers(home), home=home))
        await work(stack, hub)
        page = await stack.enter_async_context(entered(browser, hub))
        await page.goto(f"{hub.url}/ui/activity")
        for title in ("Calls", "Errors", "Latency, p95"):
            chart = page.locator("figure", has=page.locator(f"h2:text-is('{title}')"))
            canvas = chart.locator("canvas")
            await canvas.wait_for()
            assert await canvas.evaluate(INKED) > 4, title
        rows = page.locator(".legend tbody tr")
        await rows.nth(1).wait_for()
        assert await rows.count() == 2
        assert "git" in await rows.first.inner_text()

        # A table says the same to those who cannot see the chart.
        chart = page.locator("figure", has=page.locator("h2:text-is('Calls')"))
        await chart.locator("summary").click()
        await chart.locator("tbody td").first.wait_for()
        cells = await chart.locator("tbody td").all_inner_texts()
        assert sum(map(int, cells)) == 7 + 4

        # The keys go along the chart, and its values are told.
        await chart.locator(".plot").focus()
        bubble = chart.locator(".bubble")
        for _ in range(5):
            await page.keyboard.press("ArrowLeft")
            if await bubble.is_visible():
                break
        assert "git" in await bubble.inner_text()

        await page.click("text=By client")
        await rows.locator("text=codex").wait_for()
        await rows.filter(has_text="codex").locator("text=by server").click()
        await page.wait_for_selector("button:has-text('Client: codex')")
        await rows.locator("text=git").wait_for()
        # Hidden on the charts, and still in the table.
        await rows.locator("button", has_text="git").click()
        await page.wait_for_selector(".legend button[aria-pressed=false]")
        assert await rows.count() == 2


async def test_who_calls_what_is_seen_while_it_happens(browser: Any, home: Path) -> None:
    async with AsyncExitStack() as stack:
        hub = stack.enter_context(running_hub(servers(home), home=home))
        claude, _codex = await work(stack, hub)
        page = await stack.enter_async_context(entered(browser, hub))
        await page.goto(f"{hub.url}/ui/activity")
        for client in CLIENTS:
            await page.wait_for_selector(f".flow .from >> text={client}")
        await page.wait_for_selector("[data-line='codex git']", state="attached")

        message = claude.message("tools/call", {"name": "git__cancellable", "arguments": {}})
        waiting = claude.group.create_task(claude.exchange(message))
        await hub.happened("git", "waiting")
        under_way = page.locator("[aria-label='Calls under way'] li")
        await under_way.filter(has_text="git / cancellable").wait_for()
        await page.wait_for_selector("[data-line='claude-code git'].busy", state="attached")
        await claude.cancel(message["id"], waiting)
        await under_way.wait_for(state="detached")

        bars = page.locator("section[aria-label='Context spent on tools'] .bars li")
        await bars.nth(2).wait_for()
        assert await bars.count() == 3
        assert await bars.first.locator("rect").count() == 3


async def test_the_library_of_charts_is_fetched_with_the_first_chart(
    browser: Any, home: Path
) -> None:
    with running_hub(servers(home), home=home) as hub:
        async with entered(browser, hub) as page:
            fetched: list[str] = []
            page.on("request", lambda request: fetched.append(request.url))
            await page.reload()
            await page.wait_for_selector("[data-server=git]")
            assert not [url for url in fetched if "uplot" in url.lower()]
            await page.click("nav >> text=Activity")
            await page.wait_for_selector("figure canvas")
            assert [url for url in fetched if "uplot" in url.lower()]
            await page.wait_for_selector("text=Nothing was called in this time")


async def test_without_a_history_the_page_says_how_to_have_one(browser: Any, home: Path) -> None:
    with running_hub(servers(home), home=home, env={"TOOLYARD_HISTORY": "off"}) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/activity")
            await page.wait_for_selector(".empty >> text=TOOLYARD_HISTORY=on")


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_the_pictures_fit_and_are_accessible(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    async with AsyncExitStack() as stack:
        hub = stack.enter_context(running_hub(servers(home), home=home))
        await work(stack, hub)
        page = await stack.enter_async_context(entered(browser, hub, **look(size, scheme)))
        await page.goto(f"{hub.url}/ui/activity")
        await page.locator("figure canvas").last.wait_for()
        await page.wait_for_selector(".bars li")
        await page.locator("figure summary").first.click()
        await page.locator("figure tbody td").first.wait_for()
        await check_look(page, "activity")


async def test_a_call_shows_how_long_it_waited_for_the_person(browser: Any, home: Path) -> None:
    with running_hub({"git": stdio_stub("git", home, "--era", "legacy")}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/git/tools/ask")
            await page.click("text=Call it")
            await page.fill("form.question input[type=text]", "Ada")
            await page.click("form.question button[type=submit]")
            spans = page.locator("section[aria-label=Result] .waterfall li")
            await spans.last.wait_for()
            words = [text.split("\n")[0] for text in await spans.all_inner_texts()]
            assert words == [
                "Reaching the hub",
                "Hub and server",
                "Waiting for you",
                "Hub and server",
            ]
            await page.goto(f"{hub.url}/ui/activity/calls/1")
            stored = page.locator("section[aria-label=Time] .waterfall li")
            await stored.last.wait_for()
            parts = [text.split("\n")[0] for text in await stored.all_inner_texts()]
            assert parts == ["Hub and server", "Waiting for the person", "Hub and server"]


async def test_a_finished_call_stands_among_those_of_its_client(browser: Any, home: Path) -> None:
    async with AsyncExitStack() as stack:
        hub = stack.enter_context(running_hub(servers(home), home=home))
        await work(stack, hub)
        page = await stack.enter_async_context(entered(browser, hub))
        await page.goto(f"{hub.url}/ui/activity/calls?agent=codex")
        await page.locator("tbody th a", has_text="fail").click()
        spans = page.locator(".waterfall li")
        await page.locator(".waterfall [aria-current]", has_text="files / fail").wait_for()
        assert await spans.count() == 6
        await spans.locator("a", has_text="git / echo").first.click()
        await page.locator(".waterfall [aria-current]", has_text="git / echo").wait_for()
