"""Servers are added, edited, copied, removed and put back on the page alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub, stdio_stub
from tests.ui.conftest import entered
from tests.ui.orders import order

pytestmark = pytest.mark.ui
expect = pytest.importorskip("playwright.async_api").expect
FAKE = "fake-token-of-a-test"
WORKS = "[data-server=one][data-light=ready]"


def written(home: Path) -> dict[str, Any]:
    """The servers of the file."""
    servers: dict[str, Any] = json.loads(config(home).read_text())["mcpServers"]
    return servers


def config(home: Path) -> Path:
    """The servers file."""
    return home / "config" / "servers.json"


async def save(page: Any, command: str) -> None:
    """Give a server another command, from its page."""
    await page.click("a:has-text('Edit')")
    await page.fill("#entry-command", command)
    await page.click("button.main:has-text('Save')")


async def test_a_server_is_added_by_json_edited_broken_mended_removed_and_put_back(
    browser: Any, home: Path
) -> None:
    entry = {**stdio_stub("one", home), "env": {"API_TOKEN": FAKE}, "autoApprove": []}
    pasted = {"mcpServers": {"one": entry, "other": {"command": "other"}}}
    with running_hub({}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.click(".empty >> text=Add a server")
            await page.click(".tabs >> text=Paste")
            await page.fill("#pasted", json.dumps(pasted)[:-1] + ", // as people write it\n}")
            await page.wait_for_selector("text=nothing reads it: autoApprove")
            await page.click("tr:has(#name-1) button:has-text('Leave out')")
            assert written(home) == {}
            await page.click("button:has-text('Add 1 server')")
            await page.wait_for_selector("td >> text=ready, ")
            assert list(written(home)) == ["one"]

            await page.click("th >> text=one")
            works = " ".join([entry["command"], *entry["args"]])
            await save(page, "/nowhere/at/all")
            await page.wait_for_selector(".light.failing")
            await page.click(".crumbs >> text=Servers")
            row = page.locator("[data-server=one]")
            await row.locator(".why", has_text="/nowhere/at/all").wait_for()
            await expect(row.locator("button")).to_have_text("Try again")
            await row.locator("a").first.click()
            await save(page, works)
            await page.wait_for_selector(".light.ready")
            assert written(home)["one"]["env"] == {"API_TOKEN": FAKE}

            before = config(home).read_bytes()
            await page.click("summary:has-text('More')")
            await page.click("button:has-text('Remove')")
            await page.wait_for_selector("#said >> text=one was removed")
            await row.wait_for(state="detached")
            assert written(home) == {}
            await page.click("#said >> text=Undo")
            await page.wait_for_selector(WORKS)
            assert config(home).read_bytes() == before


async def test_a_server_is_added_by_a_form_that_says_what_is_wrong(
    browser: Any, home: Path
) -> None:
    one = stdio_stub("one", home)
    with running_hub({}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.click("text=Add a server")
            await page.fill("#name", "one")
            await page.select_option("#entry-way", "url")
            await page.fill("#entry-url", "gopher://nowhere")
            await page.click("button:has-text('Add it')")
            await page.wait_for_selector("li.error")
            await page.select_option("#entry-way", "command")
            await page.fill("#entry-command", " ".join([one["command"], *one["args"]]))
            await page.fill("#entry-env", "PLAIN=a b")
            await expect(page.locator("#entry-json")).to_have_value(re.compile("PLAIN"))
            raw = json.loads(await page.input_value("#entry-json"))
            assert (raw["args"], raw["env"]) == (one["args"], {"PLAIN": "a b"})
            await page.click("button:has-text('Add it')")
            await page.wait_for_url(f"{hub.url}/ui/servers/one")
            await page.wait_for_selector(".light.ready")
            assert written(home)["one"]["args"] == one["args"]


async def test_no_secret_of_a_server_comes_to_the_page_that_edits_or_copies_it(
    browser: Any, home: Path
) -> None:
    entry = {"command": "off", "env": {"API_TOKEN": FAKE}, "disabled": True}
    with running_hub({"one": entry}, home=home) as hub:
        async with entered(browser, hub) as page:
            async with page.expect_response("**/servers/one/entry") as answered:
                await page.goto(f"{hub.url}/ui/servers/one/edit")
                told = await (await answered.value).text()
            assert "API_TOKEN" in told
            assert FAKE not in told
            await expect(page.locator("#entry-env")).to_have_value("API_TOKEN=[secret]")
            await page.fill("#entry-env", "API_TOKEN=[secret]\nMODE=x")
            await page.click("button.main:has-text('Save')")
            await page.wait_for_url(f"{hub.url}/ui/servers/one")
            await page.click("summary:has-text('More')")
            await page.click("text=Duplicate")
            await expect(page.locator("#name")).to_have_value("one-2")
            await page.click("button:has-text('Add it')")
            await page.wait_for_url(f"{hub.url}/ui/servers/one-2")
            assert written(home)["one-2"]["env"] == {"API_TOKEN": FAKE, "MODE": "x"}
            assert written(home)["one-2"] == written(home)["one"]
            assert FAKE not in await page.content()


async def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(
    browser: Any, home: Path
) -> None:
    with running_hub({"one": {"command": "off", "disabled": True}}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one/edit")
            await page.fill("#entry-command", "mine")
            await order(page, "PUT", "/servers/one", {"command": "theirs", "disabled": True})
            await page.click("button.main:has-text('Save')")
            await page.wait_for_selector("text=Somebody else changed this server")
            assert written(home)["one"]["command"] == "theirs"
            await page.click("text=Save mine over it")
            await page.wait_for_url(f"{hub.url}/ui/servers/one")
            assert written(home)["one"] == {"command": "mine", "args": [], "disabled": True}


async def test_a_start_shows_its_progress_and_can_be_cancelled(browser: Any, home: Path) -> None:
    silent = {"command": "sleep", "args": ["600"], "disabled": True}
    with running_hub({"one": silent}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/one")
            await page.click("button:has-text('Enable')")
            start = page.locator("[aria-label=Orders] button", has_text="start").first
            await start.click()
            await page.wait_for_selector(".light.starting:has-text('starting, ')")
            await page.click("button:has-text('Cancel')")
            await page.wait_for_selector("#said >> text=one was stopped")
            await page.wait_for_selector("button:has-text('Cancel')", state="detached")


async def test_servers_with_one_cause_are_told_of_once_and_mended_at_once(
    browser: Any, home: Path
) -> None:
    broken = {"command": "/nowhere/at/all"}
    servers = {"a": broken, "b": broken, "c": broken, "one": stdio_stub("one", home)}
    with running_hub(servers, home=home) as hub:
        async with entered(browser, hub) as page:
            cause = page.locator("tr.cause")
            await cause.get_by_text("3 servers").wait_for()
            await expect(cause).to_have_count(1)
            await expect(page.locator(".why")).to_have_count(0)
            await expect(page.locator(".strip")).to_contain_text("3 failing")
            await page.click(".chips >> text=ready 1")
            await expect(page.locator("[data-server]")).to_have_count(1)
            await page.fill("#filter", "no such")
            await page.wait_for_selector("text=No server fits")
