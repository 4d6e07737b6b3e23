"""Tools are tried on the page: the form and its JSON, questions, progress, cancelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub, scripted, stdio_stub
from tests.features.approvals.yard import ask
from tests.ui.conftest import entered

pytestmark = pytest.mark.ui
RAW = "[aria-label='Arguments as JSON']"
DRAWN = """() => new Promise((resolve) => {
  setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(resolve)), 0);
})"""


async def arguments(page: Any) -> Any:
    """What would be sent, once it is drawn."""
    await page.evaluate(DRAWN)
    return json.loads(await page.input_value(RAW))


async def test_the_form_and_its_json_stay_in_step(browser: Any, hub: RunningHub) -> None:
    async with entered(browser, hub) as page:
        await page.goto(f"{hub.url}/ui/servers/kitchen/tools/cook")
        await page.fill("[id='f.dish']", "soup")
        assert await arguments(page) == {"dish": "soup", "size": "small"}
        await page.fill("[id='f.table']", "7")
        await page.select_option("[id='f.size']", label="large")
        await page.check("[id='f.hurry']")
        await page.click("[aria-label='Add to extras']")
        await page.fill("[id='f.extras.0']", "salt")
        await page.fill("[id='f.guest.name']", "Ada")
        await page.select_option("[id='f.pay-form']", label="by card")
        await page.fill("[id='f.pay.digits']", "42")
        full = await arguments(page)
        assert full == {
            "dish": "soup",
            "table": 7,
            "size": "large",
            "hurry": True,
            "extras": ["salt"],
            "guest": {"name": "Ada"},
            "pay": {"by": "card", "digits": "42"},
        }
        await page.select_option("[id='f.pay-form']", label="in cash")
        await page.fill("[id='f.pay']", "12.5")
        assert (await arguments(page))["pay"] == 12.5
        await page.fill(RAW, json.dumps({"dish": "bread", "table": 3, "hurry": False}))
        await page.evaluate(DRAWN)
        assert await page.input_value("[id='f.dish']") == "bread"
        assert not await page.is_checked("[id='f.hurry']")
        assert await page.locator("[id='f.extras.0']").count() == 0
        await page.fill(RAW, '{"dish": ')
        await page.wait_for_selector(f"{RAW}[aria-invalid=true]")


async def test_what_is_needed_is_asked_for_before_anything_is_called(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        await page.goto(f"{hub.url}/ui/servers/kitchen/tools/cook")
        await page.click("text=Call it")
        await page.wait_for_selector("#said >> text=Still needed: dish, table")
        assert await page.evaluate("document.activeElement.id") == "f.dish"
        assert await page.locator("section[aria-label=Result]").count() == 0


async def test_inputs_are_saved_used_again_and_deleted_after_a_question(
    browser: Any, hub: RunningHub
) -> None:
    async with entered(browser, hub) as page:
        await page.goto(f"{hub.url}/ui/servers/kitchen/tools/cook")
        await page.fill("[id='f.dish']", "soup")
        await page.fill("[aria-label='Name of the input']", "usual")
        await page.click("text=Save these arguments")
        await page.wait_for_selector("li >> text=usual")
        await page.reload()
        await page.click("li >> text=usual")
        await page.evaluate(DRAWN)
        assert await page.input_value("[id='f.dish']") == "soup"
        await page.click("[aria-label='Delete usual']")
        await page.click("dialog >> text=Leave it")
        assert await page.locator("li >> text=usual").count() == 1
        await page.click("[aria-label='Delete usual']")
        await page.click("dialog >> text=Delete it")
        await page.wait_for_selector("text=None yet")


async def test_long_numbers_are_sent_and_shown_as_they_are(browser: Any, home: Path) -> None:
    tool = {"name": "count", "inputSchema": {"type": "object", "properties": {"id": {}}}}
    answer = {"content": [], "structuredContent": {"next": 2**53 + 3}}
    replies = {"tools/list": json.dumps({"tools": [tool]}), "tools/call count": json.dumps(answer)}
    servers = {"one": scripted(home, "one", replies, tools={})}
    bodies = {"TOOLYARD_HISTORY_BODIES": "on"}
    with running_hub(servers, home=home, env=bodies) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one/tools/count")
            await page.fill(RAW, '{"id": 9007199254740993}')
            await page.click("text=Call it")
            result = page.locator("section[aria-label=Result]")
            await result.locator("text=next: 9007199254740995").wait_for()
        called = ask(hub, "GET", "/api/v1/history/1")[1]
    assert called["arguments"] == {"id": 2**53 + 1}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_question_of_the_server_is_answered_in_the_page(
    browser: Any, home: Path, era: str
) -> None:
    with running_hub({"one": stdio_stub("one", home, "--era", era)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one/tools/ask")
            await page.click("text=Call it")
            await page.wait_for_selector("text=What is your name?")
            await page.fill("form.question input[type=text]", "Ada")
            await page.click("form.question >> text=Answer")
            await page.wait_for_selector("section[aria-label=Result] >> text=Ada")
            await page.click("text=Call it")
            await page.click("form.question >> text=Decline")
            await page.wait_for_selector("section[aria-label=Result] >> text=decline")


async def test_progress_is_shown_and_a_call_is_cancelled(browser: Any, home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one/tools/progress")
            await page.fill(RAW, '{"n": 300, "ms": 50}')
            await page.click("text=Call it")
            await page.wait_for_selector("progress")
            await page.click("text=Cancel")
            await page.wait_for_selector("section[aria-label=Result] >> text=Cancelled")
            await page.goto(f"{hub.url}/ui/servers/one/tools/cancellable")
            await page.click("text=Call it")
            await hub.happened("one", "waiting")
            await page.goto(f"{hub.url}/ui")  # who leaves has cancelled too
            await hub.happened("one", "cancelled", 2)
