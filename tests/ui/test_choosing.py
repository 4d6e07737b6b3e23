"""Clients connected and servers chosen: whatever is about to happen is shown first."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub
from tests.features.approvals.yard import says, tool
from tests.features.catalog.registry import Shop, shop
from tests.ui.conftest import entered, kitchen
from tests.ui.orders import order

pytestmark = pytest.mark.ui
expect = pytest.importorskip("playwright.async_api").expect


async def test_a_client_is_connected_after_its_difference_was_seen_and_undone(
    browser: Any, home: Path
) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {}}\n')
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/clients")
            await page.click("[aria-label='Connect Cursor']")
            panel = page.locator("[role=region][aria-label='Connect Cursor']")
            await panel.locator(".after", has_text="toolyard").first.wait_for()
            assert json.loads(file.read_text()) == {"mcpServers": {}}

            await panel.locator("button.main").click()
            await page.wait_for_selector("[aria-label='Disconnect Cursor']")
            assert "toolyard" in json.loads(file.read_text())["mcpServers"]

            await page.click("[aria-label='Undo connected Cursor']")
            await page.click("button:has-text('Undo it')")
            await page.wait_for_selector("[aria-label='Connect Cursor']")
            assert json.loads(file.read_text()) == {"mcpServers": {}}


KEYRINGS = {False: "keyring.backends.null.Keyring", True: "tests.fixtures.keyrings.InMemory"}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("has_keyring", [False, True])
async def test_a_keyring_is_offered_where_there_is_one(
    browser: Any, home: Path, has_keyring: bool
) -> None:
    definition = {
        "name": "safe",
        "runtime": {"command": "safe"},
        "authorization": {"type": "api_key", "variables": [{"name": "KEY", "secret": True}]},
    }
    env = {
        "PYTHON_KEYRING_BACKEND": KEYRINGS[has_keyring],
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }
    with running_hub({"kitchen": kitchen(home)}, home=home, env=env) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/catalog/safe", definition)
            await page.goto(f"{hub.url}/ui/catalog/safe")
            await page.fill("#value-KEY", "abc")
            box = page.locator("label", has_text="system's keyring").locator("input")
            await expect(box).to_have_count(int(has_keyring))
            none = page.locator("text=This system has no keyring")
            await expect(none).to_have_count(int(not has_keyring))
            await page.click("button:has-text('Add it and let it run')")
            await page.wait_for_selector("text=It is in the yard")

    said = json.loads((home / "data" / "catalog" / "added.json").read_text())
    kept = "${keyring:safe-key}" if has_keyring else "abc"
    assert said["servers"]["safe"]["values"] == {"KEY": kept}


async def test_the_catalog_shows_the_exact_command_before_anything_starts(
    browser: Any, home: Path
) -> None:
    started = home / "started"
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    definition = {
        "name": "toucher",
        "title": "Toucher",
        "runtime": {"command": "touch", "args": ["${WHERE}"]},
        "authorization": {"type": "custom", "variables": [{"name": "WHERE", "required": True}]},
        "tools": [tool],
    }
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/catalog/toucher", definition)
            await page.goto(f"{hub.url}/ui/catalog")
            await page.fill("#search", "toucher")
            await page.click("h2 >> text=Toucher")
            await page.wait_for_selector("#exact:has-text('touch ${WHERE}')")
            add = page.locator("button:has-text('Add it and let it run')")
            assert await add.is_disabled()
            await page.fill("#value-WHERE", str(started))
            await page.wait_for_selector(f"#exact:has-text('touch {started}')")
            assert not started.exists()
            assert not (await order(page, "GET", "/catalog/toucher"))["added"]

            await add.click()
            await page.wait_for_selector("text=It is in the yard")
            await page.click("button:has-text('Take it out')")
            await page.click("dialog button.danger")
            await add.wait_for()


async def test_a_definition_is_verified_before_it_is_added(browser: Any, home: Path) -> None:
    definition = {"name": "shop", "title": "Shop", "runtime": says(home, "shop", tool("look"))}
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/catalog/shop", definition)
            await page.goto(f"{hub.url}/ui/catalog/shop")
            await page.click("button:has-text('Verify')")
            await page.wait_for_selector("text=scripted 1 answered after")
            await page.wait_for_selector("text=1 tool on file")
            assert not (await order(page, "GET", "/catalog/shop"))["added"]
            assert [each["alias"] for each in hub.status()["servers"]] == ["kitchen"]


async def test_what_a_definition_says_stays_text(browser: Any, home: Path) -> None:
    trap = '<img src=x onerror="window.harmed = 1">'
    wrong = "javascript:window.harmed=1"
    definition = {
        "name": "trap",
        "title": trap,
        "description": f"{trap} safe\u202egnp.exe",
        "links": {"homepage": wrong},
        "runtime": {"command": "echo", "args": [trap, "a b"]},
        "authorization": {"type": "custom", "variables": [{"name": "KEY", "description": trap}]},
    }
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/catalog/trap", definition)
            await page.goto(f"{hub.url}/ui/catalog?search=trap")
            await page.click("h2 >> text=<img src=x")
            await page.wait_for_selector("#exact:has-text('a b')")
            assert "⟨U+202E⟩" in await page.inner_text("main")
            assert await page.locator("main img").count() == 0
            assert await page.locator("a[href^=javascript]").count() == 0
            assert await page.evaluate("window.harmed") is None


async def test_a_published_server_is_looked_at_before_it_is_added(browser: Any, home: Path) -> None:
    with shop(Shop()) as registry, running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/catalog?from=registry")
            await page.fill("#registry", registry)
            await page.fill("#words", "weather")
            await page.click("text=Search there")
            await page.click("[aria-label='Look at it: io.example/weather']")
            await page.wait_for_selector("#exact:has-text('weather')")
            yard = await order(page, "GET", "/status")
            assert [each["alias"] for each in yard["servers"]] == ["kitchen"]


async def test_a_call_of_the_history_is_found_looked_at_and_repeated(
    browser: Any, home: Path
) -> None:
    bodies = {"TOOLYARD_HISTORY_BODIES": "on"}
    tools = {"name": "cook", "inputSchema": {"type": "object"}}
    with running_hub({"kitchen": kitchen(home, "kitchen", tools)}, home=home, env=bodies) as hub:
        async with entered(browser, hub) as page:
            call = {"server": "kitchen", "tool": "cook", "arguments": {"dish": "soup"}}
            await order(page, "POST", "/call", call)
            await page.goto(f"{hub.url}/ui/activity/calls")
            await page.fill("#by-tool", "nothing")
            await page.wait_for_selector("text=No call fits")
            await page.click("text=Show all")
            await page.wait_for_selector("td[data-label='Came in as'] >> text=the hub's own token")
            await page.click("th >> text=cook")
            await page.wait_for_selector("section[aria-label=Arguments] >> text=soup")
            await page.click("button:has-text('Replay')")
            await page.click("dialog button.danger")
            await page.wait_for_selector("text=The answer is the same")
            past = await order(page, "GET", "/history?agent=replay")
            assert [each["tool"] for each in past["calls"]] == ["cook"]


async def test_an_app_is_defined_changed_and_taken_away_on_its_page(
    browser: Any, home: Path
) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/apps#new-app")
            await page.fill("#app-name", "studio")
            await page.fill("#app-variants", "dev=99999")
            await page.click("text=Define it")
            await page.wait_for_selector("#said >> text=is not a port")
            await page.fill("#app-variants", "dev=34001\nstable=34002")
            await page.click("text=Define it")
            card = page.locator("section[aria-label=Studio]")
            await card.locator("li", has_text="port 34002").wait_for()

            await page.click("[aria-label='Change Studio']")
            await expect(page.locator("#app-variants")).to_have_value("dev=34001\nstable=34002")
            await page.fill("#app-variants", "dev=34001")
            await page.click("text=Change it")
            await card.locator("text=port 34002").wait_for(state="detached")

            await page.click("[aria-label='Take away Studio']")
            await page.click("dialog >> text=Take it away")
            await card.wait_for(state="detached")
            assert await page.locator("[aria-label^='Take away']").count() == 0


async def test_a_profile_shows_what_it_would_offer_before_it_is_saved(
    browser: Any, home: Path
) -> None:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("cook", "clean")]
    with running_hub({"kitchen": kitchen(home, "kitchen", *tools)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/profiles/work")
            sees = page.locator(".sum")
            group = page.get_by_role("group", name="kitchen", exact=True)
            await group.get_by_label("clean", exact=True).uncheck()
            await group.locator("text=1 of 2 tools").wait_for()
            assert await page.get_by_label("All of kitchen").evaluate("node => node.indeterminate")
            await page.click("[aria-label='Edit kitchen/cook']")
            name = page.locator("[id='rename-kitchen/cook']")
            await name.fill("bad name")
            await sees.locator(".bad").wait_for()
            await name.fill("dinner")
            await group.locator(".tag", has_text="as dinner").wait_for()
            await page.fill("[id='describe-kitchen/cook']", "Cooks.\nSlowly.")
            await page.click("text=Always list it")
            await page.click("button.main:has-text('Save')")
            await page.locator("text=All is saved").wait_for()

            saved = await order(page, "GET", "/profiles/work")
            assert (saved["allow"], saved["hide"]) == ([], ["kitchen/clean"])
            assert saved["rename"] == {"kitchen/cook": "dinner"}
            assert saved["describe"] == {"kitchen/cook": "Cooks.\nSlowly."}
            assert saved["pin"] == ["kitchen/cook"]


async def test_tools_are_chosen_one_by_one_or_server_by_server(browser: Any, home: Path) -> None:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("cook", "clean")]
    servers = {name: kitchen(home, name, *tools) for name in ("kitchen", "canteen")}
    with running_hub(servers, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/profiles/work")
            await page.get_by_label("Only what I tick").check()
            await page.click("text=Untick all")
            save = page.locator("button.main:has-text('Save')")
            await page.locator("text=Tick at least one tool").wait_for()
            assert await save.is_disabled()

            await page.get_by_label("All of canteen").check()
            await page.fill("#tool-search", "coo")
            group = page.get_by_role("group", name="kitchen", exact=True)
            await group.get_by_label("clean", exact=True).wait_for(state="detached")
            await group.get_by_label("cook", exact=True).check()
            await page.locator(".sum", has_text="A client sees 3 of").wait_for()
            await save.click()
            await page.locator("text=All is saved").wait_for()
            assert (await order(page, "GET", "/profiles/work"))["allow"] == [
                "canteen",
                "kitchen/cook",
            ]

            # What no box can say is written as a pattern, and the boxes follow.
            await page.click("summary:has-text('Patterns')")
            await page.fill("#allow", "*/clean")
            await page.fill("#tool-search", "")
            await expect(group.get_by_label("cook", exact=True)).not_to_be_checked()
            await expect(group.get_by_label("clean", exact=True)).to_be_checked()


async def test_an_executor_keeps_its_limits_when_something_else_of_it_is_changed(
    browser: Any, home: Path
) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/executors")
            await page.fill("#executor-name", "box")
            await page.fill("#executor-running", "5")
            await page.fill("#executor-memory", "0")
            await page.click("button:has-text('Add it')")
            card = page.locator("[aria-label='box']")
            await card.locator("text=5 servers, any MB").wait_for()

            await card.locator("button:has-text('Change')").click()
            await page.fill("#executor-host", "tcp://box:2376")
            await page.click("button.main:has-text('Save')")
            await card.locator("text=tcp://box:2376").wait_for()
            [row] = json.loads(hub.get("/api/v1/executors")[1])["executors"]
            assert (row["running_limit"], row["memory_limit"]) == (5, 0)
