"""The servers of clients come into the yard by one click, and go back by another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, running_hub
from tests.features.setup.machine import GITHUB, contents, stub
from tests.ui.conftest import PHONE, entered, shots

pytestmark = pytest.mark.ui
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


def write(home: Path, cursor: dict[str, Any], gemini: dict[str, Any]) -> dict[Path, bytes]:
    """The files of two clients."""
    files = {
        home / ".cursor" / "mcp.json": {"mcpServers": cursor},
        home / ".gemini" / "settings.json": {"theme": "dark", "mcpServers": gemini},
    }
    for path, content in files.items():
        path.parent.mkdir()
        path.write_text(json.dumps(content, indent=2))
    return contents(files)


def own_servers(hub: RunningHub) -> set[str]:
    """The names of the servers in the servers file of the hub."""
    rows = hub.status()["servers"]
    return {row["name"] for row in rows if row["source"] == "configured"}


async def test_servers_are_imported_in_one_step_and_taken_back_in_one(
    browser: Any, home: Path
) -> None:
    before = write(
        home,
        cursor={
            "github": stub("github", env={"GITHUB_TOKEN": GITHUB}),
            "files": stub("files"),
            "notes": stub("notes"),
            "missing": {"command": "there-is-no-such-program"},
        },
        gemini={
            "files-too": stub("files"),
            "limited": stub("limited", "--tools", "2", excludeTools=["tool_1"]),
            "guarded": stub("guarded", sandbox=True),
        },
    )
    cursor = home / ".cursor" / "mcp.json"
    with running_hub({}, home=home, env=NO_KEYRING) as hub:
        async with entered(browser, hub) as page:
            await page.locator(".empty", has_text="Found 5 servers in Cursor").wait_for()
            await page.click(".empty >> text=Import from your clients")

            def row(name: str) -> Any:
                return page.locator("tbody tr", has=page.locator(f"th:has-text('{name}')"))

            await row("github").get_by_text("Secret moves: github-token").wait_for()
            await row("files").get_by_text("Cursor, Gemini CLI").wait_for()
            await row("limited").get_by_text("without tool_1").wait_for()
            await row("guarded").get_by_text("sandbox").first.wait_for()
            assert await row("guarded").locator("input").count() == 0
            assert GITHUB not in await page.content()
            if folder := shots():
                await page.screenshot(path=folder / "import-desk.png", full_page=True)

            await page.get_by_label("Import notes").uncheck()
            await row("notes").get_by_text("Stays where it is").wait_for()
            await page.click("button:has-text('Import 4 servers')")
            await page.locator("h2", has_text="3 of 4 servers can be used").wait_for()
            await page.locator("tr", has_text="missing").locator(".bad").wait_for()
            await page.locator("p", has_text="Restart").wait_for()
            assert own_servers(hub) == {"github", "files", "limited", "missing"}
            assert set(json.loads(cursor.read_text())["mcpServers"]) == {"notes", "toolyard"}
            assert GITHUB not in cursor.read_text() + await page.content()
            if folder:
                await page.screenshot(path=folder / "imported-desk.png", full_page=True)

            await page.click("text=See all servers")
            await page.wait_for_selector("[data-server=github]")
            await page.goto(f"{hub.url}/ui/setup")
            await page.click("button:has-text('Undo')")
            await row("notes").wait_for()
            assert contents(before) == before
            await page.goto(f"{hub.url}/ui")
            await page.wait_for_selector("text=No servers of your own yet")


async def test_an_import_is_cancelled_while_a_server_still_starts(browser: Any, home: Path) -> None:
    before = write(
        home,
        cursor={"hangs": stub("hangs", "--hang", "init"), "works": stub("works")},
        gemini={},
    )
    with running_hub({}, home=home, env=NO_KEYRING) as hub:
        async with entered(browser, hub, viewport=PHONE) as page:
            await page.goto(f"{hub.url}/ui/setup")
            await page.get_by_label("Connect Gemini CLI").uncheck()
            await page.click("button:has-text('Import 2 servers')")
            await page.locator("h2", has_text="1 of 2 servers can be used, 1 starting").wait_for()
            gemini = home / ".gemini" / "settings.json"
            assert gemini.read_bytes() == before[gemini]
            if folder := shots():
                await page.screenshot(path=folder / "importing-phone.png", full_page=True)

            await page.click("button:has-text('Cancel')")
            await page.get_by_label("Import hangs").wait_for()
            assert contents(before) == before
