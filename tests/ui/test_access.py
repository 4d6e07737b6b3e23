"""Who is let in, and with what: tokens, secrets and logins are seen and changed on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub
from tests.ui.conftest import entered, kitchen
from tests.ui.orders import order

pytestmark = pytest.mark.ui


async def test_a_token_is_made_shown_once_and_revoked(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "PUT", "/profiles/work", {"allow": ["kitchen/cook"]})
            await page.goto(f"{hub.url}/ui/access")
            await page.click("text=New token")
            await page.fill("#token-name", "laptop")
            await page.select_option("#token-kind", "profile")
            await page.wait_for_selector("button:disabled >> text=Create token")
            await page.select_option("#token-profile", "work")
            await page.click("text=Create token")
            token = await page.inner_text("[aria-label=token] code")
            assert token.startswith("ty_")
            row = page.locator("tr", has_text="laptop")
            await row.locator("text=the profile work").wait_for()

            await page.reload()
            await row.wait_for()
            assert token not in await page.content()

            await row.locator("text=Revoke").click()
            await page.click("dialog button.danger")
            await row.wait_for(state="detached")
            assert json.loads(hub.get("/api/v1/tokens")[1])["tokens"] == []


async def test_a_token_for_some_servers_names_them(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access")
            await page.click("text=New token")
            await page.fill("#token-name", "ci")
            await page.select_option("#token-kind", "servers")
            await page.check("fieldset >> text=kitchen")
            await page.click("text=Create token")
            await page.wait_for_selector("[aria-label=token]")
            (row,) = json.loads(hub.get("/api/v1/tokens")[1])["tokens"]
            assert (row["name"], row["servers"]) == ("ci", ["kitchen"])


async def test_a_name_that_is_taken_is_refused_and_the_form_stays(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await order(page, "POST", "/tokens", {"name": "ci"})
            await page.goto(f"{hub.url}/ui/access")
            await page.click("text=New token")
            await page.fill("#token-name", "ci")
            await page.click("text=Create token")
            await page.wait_for_selector("#said .bad")
            assert await page.input_value("#token-name") == "ci"


async def test_a_secret_that_a_server_misses_is_seen_by_name(browser: Any, home: Path) -> None:
    secret = home / "token.txt"
    secret.write_text("not-a-real-secret\n")
    secret.chmod(0o600)
    references = {"A": f"${{file:{secret}}}", "B": "${file:/nowhere/b}"}
    entry = kitchen(home) | {"env": references}
    with running_hub({"kitchen": entry}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/secrets")
            rows = page.locator("tbody tr")
            await rows.filter(has_text="token.txt").locator("text=in a file").wait_for()
            missing = rows.filter(has_text="/nowhere/b")
            await missing.locator("text=missing").first.wait_for()
            await missing.locator("a", has_text="kitchen").wait_for()
            assert "not-a-real-secret" not in await page.content()


async def test_a_secret_is_set_changed_and_removed_and_never_shown(
    browser: Any, home: Path
) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/secrets")
            for value in ("not-a-real-secret", "another-fake-secret"):
                await page.click("text=New secret")
                await page.fill("#secret-name", "API_KEY")
                await page.fill("#secret-value", value)
                await page.click("text=Set secret")
                await page.wait_for_selector("#secret-value", state="detached")
            row = page.locator("tbody tr", has_text="API_KEY")
            await row.wait_for()
            assert "secret-value" not in await page.content()
            assert "another-fake-secret" not in await page.content()
            await row.locator("text=Remove").click()
            await page.click("dialog button.danger")
            await row.wait_for(state="detached")


async def test_servers_with_an_address_are_listed_with_their_logins(
    browser: Any, home: Path
) -> None:
    far = {"url": "http://127.0.0.1:9/mcp"}
    with running_hub({"kitchen": kitchen(home), "far": far}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/logins")
            row = page.locator("tbody tr")
            await row.locator("text=not logged in").wait_for()
            assert "far" in await row.inner_text()
            await row.locator("button").click()
            await page.wait_for_selector("#said .bad")
