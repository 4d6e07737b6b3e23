"""The whole journey of a person, on the page alone: from the first link to the last undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub, stdio_stub
from tests.ui.conftest import entered, kitchen
from tests.ui.test_trust import rewrite

pytestmark = pytest.mark.ui
expect = pytest.importorskip("playwright.async_api").expect
FAKE = "fake-token-of-a-test"
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
COOK = {
    "name": "cook",
    "description": "Cooks.",
    "inputSchema": {"type": "object", "properties": {"dish": {"type": "string"}}},
}


async def test_a_person_needs_the_page_alone(browser: Any, home: Path) -> None:
    cursor, codex = client_files(home)
    before = cursor.read_bytes()
    with running_hub({}, home=home, env=NO_KEYRING) as hub:
        async with entered(browser, hub) as page:
            await page.wait_for_selector("text=No servers of your own yet")
            await take_over(page, cursor)
            await add_by_json(page, home)
            await break_and_mend(page)
            await try_a_tool(page)
            await approve(page, home)
            await give_codex_two(page)
            await connect_and_undo(page, codex)
            await undo_import(page, hub)
            assert cursor.read_bytes() == before


def client_files(home: Path) -> tuple[Path, Path]:
    """The files of two clients: one with a server and its token, one without any."""
    cursor, codex = home / ".cursor" / "mcp.json", home / ".codex" / "config.toml"
    entry = {**stdio_stub("notes", home), "env": {"NOTES_TOKEN": FAKE}}
    texts = {
        cursor: json.dumps({"mcpServers": {"notes": entry}}, indent=2),
        codex: '# mine\nmodel = "o4"\n',
    }
    for file, text in texts.items():
        file.parent.mkdir()
        file.write_text(text)
    return cursor, codex


async def take_over(page: Any, cursor: Path) -> None:
    """Import what one client has, after a look at what would be done."""
    await page.click(".empty >> text=Import from your clients")
    await page.get_by_label("Connect Codex").uncheck()
    await page.wait_for_selector("text=Secret moves")
    assert FAKE in cursor.read_text()
    assert FAKE not in await page.content()
    await page.click("button:has-text('Import 1 server')")
    await page.locator("h2", has_text="1 of 1 server can be used").wait_for()
    assert FAKE not in cursor.read_text() + await page.content()
    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["toolyard"]


async def undo_import(page: Any, hub: RunningHub) -> None:
    """Give the client its server back."""
    await page.goto(f"{hub.url}/ui/setup")
    await page.click("button:has-text('Undo')")
    await page.get_by_label("Import notes").wait_for()


async def add_by_json(page: Any, home: Path) -> None:
    """Paste what a server's documentation says."""
    await page.click("header nav >> text=Servers")
    await page.click(".top >> text=Add a server")
    await page.click(".tabs >> text=Paste")
    entry = kitchen(home, "kitchen", COOK)
    await page.fill("#pasted", json.dumps({"mcpServers": {"kitchen": entry}}))
    await page.click("button:has-text('Add 1 server')")
    await page.wait_for_selector("td >> text=ready, 1 tool")


async def break_and_mend(page: Any) -> None:
    """Edit a server until it fails, and again until it works."""
    await page.click("th >> text=kitchen")
    await page.click("a:has-text('Edit')")
    command = await page.input_value("#entry-command")
    await page.fill("#entry-env", "MODE=slow")
    await page.fill("#entry-command", "/nowhere/at/all")
    await page.click("button.main:has-text('Save')")
    await page.wait_for_selector(".light.failing")
    await page.click(".crumbs >> text=Servers")
    row = page.locator("[data-server=kitchen]")
    await row.locator(".why", has_text="/nowhere/at/all").wait_for()
    await row.locator("th a").click()
    await page.click("a:has-text('Edit')")
    await expect(page.locator("#entry-env")).to_have_value("MODE=slow")
    await page.fill("#entry-command", command)
    await page.click("button.main:has-text('Save')")
    await page.wait_for_selector(".light.ready")


async def try_a_tool(page: Any) -> None:
    """Call a tool by its form."""
    await page.click("section >> text=cook")
    await page.fill("[id='f.dish']", "soup")
    await page.click("text=Call it")
    result = page.locator("section[aria-label=Result]")
    await result.locator("text=minutes").first.wait_for()


async def approve(page: Any, home: Path) -> None:
    """Look at a tool that says something else now, and approve it."""
    changed = {**COOK, "description": "Cooks, and does the dishes."}
    rewrite(home, "kitchen", tools__list={"tools": [changed]})
    await page.click(".crumbs >> text=kitchen")
    await page.click("button:has-text('Restart')")
    await page.wait_for_selector("text=Changed since it was approved")
    assert "does the dishes" in await page.inner_text("#changes pre.after")
    await page.click("text=Approve all of it")
    await page.wait_for_selector("#changes", state="detached")
    await page.wait_for_selector(".light.ready")


async def give_codex_two(page: Any) -> None:
    """Put two servers of the yard on the list of an agent, and switch it on."""
    await page.click("header nav >> text=Agents")
    await page.click("th >> text=Codex")
    for number, server in enumerate(("kitchen", "notes")):
        await page.click("button:has-text('Add one of the yard')")
        entry = page.locator("fieldset.entry").nth(number)
        await entry.locator("select[id$=-server]").select_option(server)
        await entry.locator("input[id$=-name]").fill(server)
    await page.click("button.main:has-text('Save')")
    await page.wait_for_selector("text=All is saved")
    switch = page.locator("#enabled")
    if not await switch.is_checked():
        await switch.click()
    plan = page.locator("section[aria-label='What a run gets']")
    await plan.locator("text=A run gets 2 servers").wait_for()


async def connect_and_undo(page: Any, codex: Path) -> None:
    """Connect a client after a look at the change of its file, and take it back."""
    before = codex.read_bytes()
    await page.click("header nav >> text=Clients")
    await page.click("[aria-label='Connect Codex']")
    panel = page.locator("[role=region][aria-label='Connect Codex']")
    await panel.locator(".after", has_text="toolyard").first.wait_for()
    assert codex.read_bytes() == before
    await panel.locator("button.main").click()
    await page.wait_for_selector("[aria-label='Disconnect Codex']")
    assert "toolyard" in codex.read_text()
    await page.click("[aria-label='Undo connected Codex']")
    await page.click("button:has-text('Undo it')")
    await page.wait_for_selector("[aria-label='Connect Codex']")
    assert codex.read_bytes() == before
