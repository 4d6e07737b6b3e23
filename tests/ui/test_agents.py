"""Agents: switched, their lists edited and checked as one types, and what a run gets."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub, toolyard
from tests.ui.conftest import entered, kitchen
from tests.ui.orders import order

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = pytest.mark.ui
NOTES = {"type": "stdio", "command": "notes"}


async def write(page: Any, *, enabled: bool = True, **servers: Any) -> None:
    """Write the list of one agent."""
    await order(page, "PUT", "/agents/codex/config", {"enabled": enabled, "servers": dict(servers)})


async def test_an_agent_is_enabled_and_disabled_by_its_switch(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, enabled=False, kitchen={"server": "kitchen"})
            await page.goto(f"{hub.url}/ui/agents")
            await page.click("[id=on-codex]")
            await page.wait_for_selector("[id=on-codex]:checked")
            await page.click("text=Codex")
            plan = page.locator("section[aria-label='What a run gets']")
            await plan.locator("text=A run gets 1 server").wait_for()
            assert (await order(page, "GET", "/agents/codex"))["enabled"] is True

            await page.goto(f"{hub.url}/ui/servers/kitchen")
            listed = page.locator("section", has_text="Who uses it").locator("a", has_text="Codex")
            await listed.click()

            await page.click("#enabled")
            await plan.locator("text=It is switched off").wait_for()
            said = await order(page, "GET", "/agents/codex/config")
            assert said["enabled"] is False
            assert list(said["servers"]) == ["kitchen"]


async def test_the_command_that_is_shown_starts_the_agent(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, kitchen={"server": "kitchen"})
            for agent, program in (("codex", "codex"), ("claude-code", "claude")):
                await page.goto(f"{hub.url}/ui/agents/{agent}")
                shown = await page.locator("code", has_text="toolyard agent run").inner_text()
                assert shown == f"toolyard agent run {agent} -- {program}"
                words = shlex.split(shown.replace("run", "run --dry-run", 1))[1:]
                started = partial(subprocess.run, env=hub.env, capture_output=True, timeout=50)
                done = await asyncio.to_thread(started, toolyard(*words))
                assert done.returncode == 0, done.stderr


async def test_nothing_is_asked_for_that_is_not_there(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, kitchen={"server": "kitchen"})
            missed: list[str] = []
            page.on("response", lambda got: missed.append(got.url) if got.status == 404 else None)
            await page.goto(f"{hub.url}/ui/agents/codex")
            other = page.locator("details", has=page.locator("strong", has_text="On "))
            await other.locator("summary >> text=same as the default").wait_for()
            await page.select_option("#executor", "docker")
            await other.locator("strong >> text=On docker").wait_for()

            await order(page, "PUT", "/agents/codex/overrides/docker", {"servers": {"n": NOTES}})
            await other.locator("text=1 override").wait_for()
            assert missed == []


async def test_errors_and_warnings_come_as_one_types(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/policies/local", {"stdio_proxy": False})
            await order(page, "PUT", "/policies/docker", {"allow_http": False})
            await write(page, notes=NOTES)
            await page.goto(f"{hub.url}/ui/agents/codex")
            found = page.locator(".findings")

            await page.select_option("select[id$=-mode]", "shared")
            await found.locator("li.error", has_text="notes").wait_for()
            assert await page.locator("button.main:has-text('Save')").is_disabled()

            await page.select_option("select[id$=-mode]", "auto")
            await found.locator("li.error").wait_for(state="detached")
            await page.fill("textarea[id$=-env]", "API_KEY=sk-live-0123456789abcdef")
            await found.locator("li.warning", has_text="secret in clear text").wait_for()

            await page.select_option("select[id$=-type]", "http")
            await page.fill("input[id$=-url]", "http://127.0.0.1:9/mcp")
            await page.select_option("#executor", "docker")
            await found.locator("li.warning", has_text="http").first.wait_for()
            assert await page.locator("button.main:has-text('Save')").is_enabled()


async def test_form_and_json_stay_in_step(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, notes=NOTES)
            await page.goto(f"{hub.url}/ui/agents/codex")
            await page.click("summary:has-text('As JSON')")
            await page.fill("textarea[id$=-args]", "--folder\n/tmp")
            raw = page.locator("#raw")
            await expect(raw).to_have_value(re.compile("--folder"))
            said = (await raw.input_value()).replace('"notes"', '"papers"')
            await raw.focus()
            await raw.fill(said)
            await expect(page.locator("input[id$=-name]")).to_have_value("papers")
            assert await raw.evaluate("node => node === document.activeElement")

            await raw.fill('{"servers": ')
            await page.wait_for_selector("#raw-wrong:has-text('This cannot be read yet')")
            assert await page.input_value("input[id$=-name]") == "papers"


async def test_a_list_that_somebody_else_changed_is_not_overwritten(
    browser: Any, home: Path
) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, notes=NOTES)
            await page.goto(f"{hub.url}/ui/agents/codex")
            command = page.locator("input[id$=-command]")
            await expect(command).to_have_value("notes")
            await write(page, notes={**NOTES, "command": "seen at once"})
            await expect(command).to_have_value("seen at once")

            await command.fill("mine")
            await write(page, notes={**NOTES, "command": "theirs"})
            await page.click("button.main:has-text('Save')")
            await page.wait_for_selector("text=Somebody else changed this list")
            said = await order(page, "GET", "/agents/codex/config")
            assert said["servers"]["notes"]["command"] == "theirs"
            await expect(command).to_have_value("mine")

            await page.click("text=Save mine over it")
            await page.wait_for_selector("text=All is saved")
            said = await order(page, "GET", "/agents/codex/config")
            assert said["servers"]["notes"]["command"] == "mine"


async def test_what_differs_on_an_executor_is_edited_and_taken_back(
    browser: Any, home: Path
) -> None:
    path = "/agents/codex/overrides/docker"
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, kitchen={"server": "kitchen"}, notes=NOTES)
            await page.goto(f"{hub.url}/ui/agents/codex?executor=docker")
            await page.click("summary:has-text('On docker')")
            await page.click("text=Change notes on docker")
            raw = page.locator("#override")
            await expect(raw).to_have_value(re.compile('"notes": null'))
            await page.click("text=Save for docker")
            plan = page.locator("section[aria-label='What a run gets']")
            await plan.locator(".refused", has_text="notes").wait_for()
            assert (await order(page, "GET", path))["servers"] == {"notes": None}

            await page.select_option("details select[id$=-type]", "stdio")
            command = page.locator("details input[id$=-command]")
            await expect(command).to_have_value("notes")
            await command.fill("")
            card = page.locator("details", has_text="On docker")
            await card.locator("li.error", has_text="notes").wait_for()
            assert await card.locator("text=Save for docker").is_disabled()
            await page.click("details.json >> nth=1")
            await raw.fill('{"enabled": false, "servers": {"notes": {"command": "papers"}}}')
            await expect(command).to_have_value("papers")
            await expect(page.locator("#override-enabled")).to_have_value("false")
            await page.click("text=Save for docker")
            await plan.locator("text=It is switched off").wait_for()

            await page.click("text=Use the default")
            await plan.locator("text=A run gets 2 servers").wait_for()
            await page.click("[aria-label='Undo for docker']")
            await plan.locator("text=It is switched off").wait_for()
            assert (await order(page, "GET", path))["servers"]["notes"]["command"] == "papers"


async def test_a_refusal_tells_why(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(
                page, "PUT", "/policies/docker", {"allow_stdio": False, "stdio_proxy": False}
            )
            await write(page, kitchen={"server": "kitchen"})
            await page.goto(f"{hub.url}/ui/agents/codex?executor=docker")
            await page.click("[aria-label='Why kitchen is left out']")
            story = page.locator("dialog")
            await story.locator("text=does not allow stdio").first.wait_for()
            assert await story.locator("li.decides").count() == 1
            await page.keyboard.press("Escape")
            await story.wait_for(state="detached")


async def test_a_policy_says_whose_plans_change_before_it_is_saved(
    browser: Any, home: Path
) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await write(page, kitchen={"server": "kitchen"})
            await page.goto(f"{hub.url}/ui/policies/docker")
            await page.click("text=Only HTTP and SSE")
            await page.uncheck("text=Let sessions share a stdio server")
            changes = page.locator("section[aria-label='Changed plans']")
            await changes.locator("li", has_text="codex").locator("text=loses").wait_for()
            said = await order(page, "GET", "/policies/docker")
            assert said["policy"]["allow_stdio"] is True

            await page.click("button.main:has-text('Save')")
            await page.wait_for_selector("text=All is saved")
            said = await order(page, "GET", "/policies/docker")
            assert said["policy"]["allow_stdio"] is False

            await page.click("button:has-text('Undo')")
            await page.wait_for_selector("text=Policy: the default.")


async def test_a_policy_that_changes_elsewhere_is_seen_and_takes_nothing_away(
    browser: Any, home: Path
) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/policies/docker")
            denied = page.locator("#deny")
            await expect(denied).to_have_value("")
            await order(page, "PUT", "/policies/docker", {"deny": ["theirs"]})
            await expect(denied).to_have_value("theirs")

            await denied.fill("mine")
            await order(page, "PUT", "/policies/docker", {"deny": ["again theirs"]})
            await page.click("text=Policies >> nth=0")
            await page.wait_for_selector("td:has-text('never again theirs')")
            await page.go_back()
            await expect(denied).to_have_value("mine")  # what was typed waits for its writer
            await page.click("button.main:has-text('Save')")
            await page.wait_for_selector("text=Somebody else changed this policy")
            await page.click("text=Look at theirs")
            await expect(denied).to_have_value("again theirs")
