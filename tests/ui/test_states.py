"""The states a page can be in: empty, being worked in, asking, failing. All fit, none keeps out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub, stdio_stub
from tests.ui.conftest import entered
from tests.ui.gallery import gallery
from tests.ui.looks import FEW_LOOKS, check_look, keep, look
from tests.ui.orders import order

pytestmark = pytest.mark.ui
State = Callable[[Any, RunningHub], Awaitable[Any]]
EMPTY = {
    "": "No servers of your own yet",
    "add": "It starts at once",
    "add/json": "JSON, an address or an install link",
    "clients": "No known client was found",
    "activity": "Nothing was called in this time",
    "activity/calls": "Nothing was called yet",
    "profiles": "No profile yet",
    "access": "No tokens yet",
    "access/secrets": "No secrets yet",
    "access/logins": "No server has an address",
    "settings/doctor": "No problems",
}
PASTED = {"mcpServers": {"notes": {"command": "notes", "autoApprove": []}}}


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_an_empty_yard_is_accessible(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    with running_hub({}, home=home) as hub:
        async with entered(browser, hub, **look(size, scheme)) as page:
            for path, words in EMPTY.items():
                await page.goto(f"{hub.url}/ui/{path}")
                await page.wait_for_selector(f"main >> text={words}")
                await keep(page, f"empty-{path.replace('/', '-') or 'yard'}-{size}-{scheme}")
                await check_look(page, f"empty {path}")


async def find(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui")
    await page.wait_for_selector("[data-server=files]")
    await page.keyboard.press("Control+k")
    await page.fill(".finder input", "file")
    await page.wait_for_selector(".finder li")


async def open_menu(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/servers/files")
    await page.click("summary:has-text('More')")
    await page.wait_for_selector("text=Duplicate")


async def remove(page: Any, hub: RunningHub) -> None:
    await open_menu(page, hub)
    await page.click("button:has-text('Remove')")
    await page.wait_for_selector("#said >> text=Undo")


async def put_back(page: Any, _hub: RunningHub) -> None:
    await page.click("#said >> text=Undo")
    await page.wait_for_selector("[data-server=files][data-light=ready]")


async def duplicate(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/add?like=files")
    await page.wait_for_selector("text=A copy of files")


async def add_wrong(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/add")
    await page.fill("#name", "far")
    await page.select_option("#entry-way", "url")
    await page.fill("#entry-url", "gopher://nowhere")
    await page.click("button:has-text('Add it')")
    await page.wait_for_selector("li.error")


async def paste(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/add/json")
    await page.fill("#pasted", json.dumps(PASTED))
    await page.wait_for_selector("text=nothing reads it: autoApprove")


async def clash(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/servers/calendar/edit")
    await page.fill("#entry-command", "mine")
    await order(page, "PUT", "/servers/calendar", {"command": "theirs", "disabled": True})
    await page.click("button.main:has-text('Save')")
    await page.wait_for_selector("text=Somebody else changed this server")


async def connect(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/clients")
    await page.click("summary:has-text('For a client that is not listed')")
    await page.click("summary:has-text('Not found')")
    await page.click("[aria-label='Connect Codex']")
    await page.wait_for_selector("[aria-label='Connect Codex'] .after")


async def create_token(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/access")
    await page.click("text=New token")
    await page.fill("#token-name", "desk")
    await page.select_option("#token-kind", "servers")
    await page.check("fieldset >> text=files")


async def show_token(page: Any, _hub: RunningHub) -> None:
    await page.click("text=Create token")
    await page.wait_for_selector("[aria-label=token] code")


async def ask_first(page: Any, _hub: RunningHub) -> None:
    await page.click("[aria-label='Revoke desk']")
    await page.wait_for_selector("dialog button.danger")


async def set_secret(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/access/secrets")
    await page.click("text=New secret")
    await page.fill("#secret-name", "API_KEY")


async def edit_quirk(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/settings/clients")
    await page.click("[aria-label^='Edit ']")
    await page.wait_for_selector("#quirk-most_tools")


async def refuse_quirk(page: Any, _hub: RunningHub) -> None:
    await page.fill("#quirk-most_tools", "3")
    await page.click("text=Save")
    await page.wait_for_selector("#said .bad")


async def name_agent(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/agents#new-agent")
    await page.wait_for_selector("#new-id")


async def edit_agent(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/agents/codex")
    await page.click("text=Define one")
    await page.click("summary:has-text('As JSON')")
    await page.wait_for_selector(".findings li.error")


async def edit_profile(page: Any, hub: RunningHub) -> None:
    await page.goto(f"{hub.url}/ui/profiles/review")
    files = page.get_by_role("group", name="files", exact=True)
    await files.get_by_label("write_file", exact=True).uncheck()
    await page.click("[aria-label='Edit files/read_file']")
    await page.locator(".sum", has_text="A client sees").wait_for()


STATES: dict[str, State] = {
    "the finder": find,
    "a menu": open_menu,
    "a removed server": remove,
    "a server that is back": put_back,
    "a copy": duplicate,
    "a wrong entry": add_wrong,
    "pasted JSON": paste,
    "an edit that clashes": clash,
    "a client about to be connected": connect,
    "a new token": create_token,
    "a token shown once": show_token,
    "a question before what cannot be undone": ask_first,
    "a new secret": set_secret,
    "a quirk": edit_quirk,
    "a refused quirk": refuse_quirk,
    "a new agent": name_agent,
    "an agent with errors": edit_agent,
    "a profile": edit_profile,
}


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_a_yard_that_is_worked_in_is_accessible(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    with gallery(home) as hub:
        async with entered(browser, hub, **look(size, scheme)) as page:
            for name, drive in STATES.items():
                await drive(page, hub)
                await keep(page, f"state-{name.replace(' ', '-')}-{size}-{scheme}")
                await check_look(page, name)


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_a_call_that_asks_and_a_hub_that_is_gone_are_accessible(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub, **look(size, scheme)) as page:
            await page.goto(f"{hub.url}/ui/servers/one/tools/ask")
            await page.click("text=Call it")
            await page.wait_for_selector("form.question")
            await check_look(page, "a question")
            await page.fill("form.question input[type=text]", "Ada")
            await page.click("form.question button[type=submit]")
            await page.wait_for_selector("section[aria-label=Result] .waterfall")
            await check_look(page, "a result")
            await page.route("**/api/v1/**", lambda route: route.abort())
            await page.goto(f"{hub.url}/ui")
            await page.wait_for_selector("text=The hub does not answer")
            await keep(page, f"state-lost-{size}-{scheme}")
            await check_look(page, "a hub that is gone")
            await page.unroute("**/api/v1/**")
            await page.evaluate("localStorage.clear()")
            await page.goto(f"{hub.url}/ui")
            await page.wait_for_selector("h1:has-text('This browser is not let in')")
            await keep(page, f"state-shut-{size}-{scheme}")
            await check_look(page, "a browser that is not let in")
