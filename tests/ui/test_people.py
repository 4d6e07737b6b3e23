"""People log in on the page by their own name: a keeper lets others in, a member sees their own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.hub import RunningHub, running_hub
from tests.fixtures.people_issuer import PeopleIssuer, people_issuing
from tests.ui.conftest import PATIENCE_MS, kitchen
from tests.ui.looks import FEW_LOOKS, check_look, keep, look
from tests.ui.orders import call_tool

pytestmark = pytest.mark.ui
KEY = "only-for-these-tests-0123456789-0123456789"
PEOPLE = {
    "kim": ["leads"],
    "ann": ["developers", "everyone in the Berlin office"],
    "eve": ["strangers"],
}


@contextmanager
def team_hub(home: Path) -> Iterator[tuple[RunningHub, PeopleIssuer]]:
    """A hub that trusts an issuer, and admits the leads."""
    with people_issuing(PEOPLE) as issuer:
        env = {"TOOLYARD_ISSUER": issuer.url, "TOOLYARD_KEY": KEY}
        keyed = kitchen(home, "kitchen") | {"env": {"KITCHEN_KEY": "${member:KITCHEN_KEY}"}}
        servers = {"kitchen": keyed, "cellar": kitchen(home, "cellar")}
        with running_hub(servers, home=home, env=env) as hub:
            issuer.hub = hub.mcp
            for profile, server in (("cooking", "kitchen"), ("storing", "cellar")):
                hub.run("profile", "set", profile, "--allow", server)
            hub.run("member", "admission", "set", "leads", "cooking")
            yield hub, issuer


@asynccontextmanager
async def window(browser: Any, **options: Any) -> AsyncIterator[Any]:
    """A browser of its own, with an empty memory; no error of a script goes unseen."""
    context = await browser.new_context(reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None
    )
    try:
        yield page
        assert wrong == []
    finally:
        await context.close()


async def log_in(page: Any, hub: RunningHub, person: str, path: str = "/ui") -> None:
    """Come in as somebody, through the issuer's own page."""
    await page.goto(f"{hub.url}{path}")
    await page.click("main button:has-text('Log in')")
    await page.click(f"a:has-text('{person}')")
    await page.wait_for_url(f"{hub.url}/ui**")


async def come_in(page: Any, hub: RunningHub, person: str, path: str = "/ui") -> None:
    """Log in, and wait until the page shows whose it is."""
    await log_in(page, hub, person, path)
    await page.wait_for_selector(f".who:has-text('{person}@example.com')")


async def api(page: Any, method: str, path: str) -> tuple[int, Any]:
    """Ask the control API with the key of the page, as its scripts do."""
    status, text = await page.evaluate(
        """async ([method, path]) => {
          const headers = { authorization: `Bearer ${localStorage.getItem("key")}` };
          const answer = await fetch(`/api/v1${path}`, { method, headers });
          return [answer.status, await answer.text()];
        }""",
        [method, path],
    )
    return status, json.loads(text)


def call_as(hub: RunningHub, issuer: PeopleIssuer, person: str, tool: str) -> None:
    """Call a tool as a client of somebody, which stays connected."""
    said = call_tool(hub, issuer.token_for(person), tool)
    assert "cooked" in said, said


async def link_for(hub: RunningHub, issuer: PeopleIssuer, person: str, tool: str) -> str:
    """The link that a call gets which lacks a secret, once the tool is known."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while True:
            token = issuer.token_for(person)
            answer = await asyncio.to_thread(call_tool, hub, token, tool)
            if link := re.search(r"http://[^ \"\\]+/login/for/[\w-]+", answer):
                return link.group()


async def make_keeper(hub: RunningHub, page: Any) -> None:
    """Let Kim order, once the hub has written down that she came in."""
    await come_in(page, hub, "kim")
    await page.wait_for_selector("h1:has-text('My clients')")
    hub.run("member", "set", "kim@example.com", "--role", "keeper")
    # The page is another one at once.
    await page.wait_for_selector("nav a:has-text('Access')")


async def test_a_keeper_admits_a_group_a_member_comes_in_and_is_removed(
    browser: Any, home: Path
) -> None:
    with team_hub(home) as (hub, _):
        async with window(browser) as keeper, window(browser) as member:
            await make_keeper(hub, keeper)
            await log_in(member, hub, "ann")
            await member.wait_for_selector("main:has-text('ann@example.com is not admitted')")

            await keeper.goto(f"{hub.url}/ui/access/groups")
            await keeper.click("text=Admit a group")
            await keeper.fill("#group", "developers")
            await keeper.check("fieldset label:has-text('cooking')")
            await keeper.select_option("#admission-tier", "write")
            await keeper.fill("#admission-sessions", "3")
            await keeper.click("text=Save admission")
            admitted = keeper.locator("tr", has_text="developers")
            await admitted.locator("td:has-text('tools that destroy nothing')").wait_for()
            # What is not changed stays.
            await admitted.locator("button:has-text('Edit')").click()
            await keeper.fill("#admission-instances", "2")
            await keeper.click("text=Save admission")
            await admitted.locator("td:has-text('2 running servers')").wait_for()
            limits = await admitted.locator("td[data-label=Limits]").inner_text()
            assert limits.split("\n") == [
                "tools that destroy nothing",
                "3 sessions",
                "2 running servers",
            ]

            await member.click("main button:has-text('Log in')")
            await member.click("a:has-text('ann')")
            await member.wait_for_selector("h1:has-text('My clients')")
            assert await member.locator("header nav a").count() < 7
            assert (await api(member, "GET", "/my/self"))[1]["profiles"] == ["cooking"]
            for path in ("/status", "/members", "/tokens", "/history", "/sessions"):
                assert (await api(member, "GET", path))[0] == 403, path

            await keeper.goto(f"{hub.url}/ui/access/members")
            await keeper.click("th a:has-text('ann@example.com')")
            await keeper.wait_for_selector("h1:has-text('ann@example.com')")
            await keeper.fill("#why-name", "cellar")
            await keeper.click("text=Explain")
            await keeper.wait_for_selector("#why .steps .decides")
            await keeper.goto(f"{hub.url}/ui/access/members")
            row = keeper.locator("tr", has_text="ann@example.com")
            await row.locator("button:has-text('Remove')").click()
            await keeper.click("dialog button.danger")
            await row.wait_for(state="detached")
            # Nobody touched the member's page.
            await member.wait_for_selector("main:has-text('You are let in no longer')")
            assert await member.locator("header nav a").count() == 0
            assert (await api(member, "GET", "/my/self"))[0] == 401


async def test_a_member_sees_their_own_calls_and_not_those_of_others(
    browser: Any, home: Path
) -> None:
    with team_hub(home) as (hub, issuer):
        hub.run("member", "admission", "set", "developers", "storing")
        async with window(browser) as kim, window(browser) as ann:
            await come_in(kim, hub, "kim", "/ui/my/calls")
            await come_in(ann, hub, "ann", "/ui/my/calls")
            for page in (kim, ann):
                await page.wait_for_selector("text=No calls yet")
                assert page.url == f"{hub.url}/ui/my/calls"
            hub.run("call", "cellar", "cook", "dish=soup", "table=1")
            await asyncio.to_thread(call_as, hub, issuer, "ann", "cellar__cook")
            # Nobody touched her page.
            row = ann.locator("tbody tr", has_text="cellar")
            await row.wait_for()
            assert await ann.locator("tbody tr").count() == 1
            assert (await api(kim, "GET", "/my/calls"))[1]["calls"] == []
            await ann.click("nav a:has-text('My clients')")
            await ann.locator("tr", has_text="a test").locator("text=End").click()
            await ann.click("dialog button.danger")
            await ann.wait_for_selector("text=None of your clients is connected")


async def test_a_login_that_has_ended_is_renewed_and_otherwise_says_so(
    browser: Any, home: Path
) -> None:
    with team_hub(home) as (hub, issuer):
        issuer.life = -57  # within the minute that clocks may differ
        async with window(browser) as page:
            await come_in(page, hub, "kim")
            renewals = issuer.refreshes
            issuer.life = 600
            await page.wait_for_timeout(4000)
            await page.click("nav a:has-text('My calls')")
            await page.wait_for_selector("text=No calls yet")
            assert issuer.refreshes > renewals

            await page.evaluate("localStorage.setItem('renewal', '')")
            await page.evaluate("localStorage.setItem('key', 'typ_x')")
            await page.reload()
            await page.wait_for_selector("main:has-text('Your login has ended; log in again')")
            await page.click("main button:has-text('Log in')")
            await page.click("a:has-text('kim')")
            await page.wait_for_selector("h1:has-text('My calls')")

            await page.click("text=Log out")
            await page.wait_for_selector("h1:has-text('Log in')")
            assert await page.evaluate("localStorage.getItem('key')") == ""


async def test_a_login_begun_elsewhere_lets_nobody_in(browser: Any, home: Path) -> None:
    with team_hub(home) as (hub, _):
        async with window(browser) as mine, window(browser) as theirs:
            await theirs.goto(f"{hub.url}/ui")
            await theirs.click("main button:has-text('Log in')")
            await theirs.wait_for_selector("h1:has-text('Who are you?')")
            address = await theirs.get_attribute("a:has-text('kim')", "href")
            # A link that somebody else prepared: whoever opens it would be in as that person.
            await mine.goto(theirs.url.partition("/authorize")[0] + address)
            await mine.wait_for_selector("main:has-text('begun in another tab')")
            assert not await mine.evaluate("localStorage.getItem('key')")


async def test_a_member_makes_a_token_and_sets_a_secret_of_their_own(
    browser: Any, home: Path
) -> None:
    with team_hub(home) as (hub, _):
        async with window(browser) as kim:
            await come_in(kim, hub, "kim", "/ui/my/tokens")
            await kim.click("text=New token")
            await kim.fill("#token-name", "laptop")
            await kim.select_option("#token-profile", "cooking")
            await kim.select_option("#token-tier", "read")
            await kim.click("text=Create token")
            assert await kim.inner_text("[aria-label=token] code")
            row = kim.locator("tr", has_text="laptop")
            await row.locator("text=the profile cooking").wait_for()
            await row.locator("text=Revoke").click()
            await kim.click("dialog button.danger")
            await row.wait_for(state="detached")

            await kim.click("nav a:has-text('My logins')")
            secret = kim.locator("tr", has_text="KITCHEN_KEY")
            await secret.locator("text=needed").wait_for()
            await secret.locator("button:has-text('Set')").click()
            await kim.fill("#secret-value", "not-a-real-secret")
            await kim.click("text=Set secret")
            await secret.locator("button:has-text('Change')").wait_for()
            assert "not-a-real-secret" not in await kim.content()


async def set_secret(page: Any, name: str, value: str) -> None:
    """Set a secret of one's own on the page."""
    await page.click("nav a:has-text('My logins')")
    secret = page.locator("tr", has_text=name)
    await secret.locator("button:has-text('Set')").click()
    await page.fill("#secret-value", value)
    await page.click("text=Set secret")
    await secret.locator("button:has-text('Change')").wait_for()


async def test_a_link_takes_a_secret_from_its_member_and_from_nobody_else(
    browser: Any, home: Path
) -> None:
    with team_hub(home) as (hub, issuer):
        hub.run("member", "admission", "set", "developers", "cooking")
        async with window(browser) as kim, window(browser) as ann:
            await come_in(kim, hub, "kim")
            await set_secret(kim, "KITCHEN_KEY", "secret-of-kim")
            link = await link_for(hub, issuer, "ann", "kitchen__cook")
            go_on = "button:has-text('Continue as ann@example.com')"

            await kim.goto(link)
            await kim.click(go_on)
            await kim.click("a:has-text('kim')")
            await kim.wait_for_selector("h1:has-text('This link is not for you')")

            await ann.goto(link)
            await ann.click(go_on)
            await ann.click("a:has-text('ann')")
            await ann.wait_for_selector("input[name=value]")

            # Logged in on the page, she is not sent to the issuer once more.
            await come_in(ann, hub, "ann")
            await ann.goto(link)
            await ann.click(go_on)
            await ann.wait_for_selector("input[name=value]")
            await ann.fill("input[name=value]", "secret-of-ann")
            await ann.click("button:has-text('Save')")
            await ann.wait_for_selector("text=That is all")
            await asyncio.to_thread(call_as, hub, issuer, "ann", "kitchen__cook")


OWN_PAGES = {
    "my/clients": "My clients",
    "my/logins": "My logins",
    "my/calls": "My calls",
    "my/tokens": "My tokens",
}
MEMBER_PAGES = {**OWN_PAGES, "my/waiting": "Waiting calls"}
KEEPER_PAGES = {
    "access/members": "Members",
    "access/groups": "Groups",
    "access/sessions": "Sessions",
    **OWN_PAGES,
    "access/members/ann@example.com": "ann@example.com",
}


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_the_pages_of_people_can_be_read_and_reached(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    with team_hub(home) as (hub, _):
        limits = ("--tier", "write", "--sessions", "4", "--instances", "2")
        hub.run("member", "admission", "set", "developers", "cooking", "storing", *limits)
        hub.run("member", "admission", "set", "*", "storing")
        async with window(browser, **look(size, scheme)) as page:
            await page.goto(f"{hub.url}/ui")
            await page.wait_for_selector("h1:has-text('Log in')")
            await keep(page, f"people-login-{size}-{scheme}")
            await check_look(page, "login")
            await come_in(page, hub, "ann")
            await walk(page, hub, MEMBER_PAGES, f"member-{size}-{scheme}")
        async with window(browser, **look(size, scheme)) as page:
            await make_keeper(hub, page)
            await walk(page, hub, KEEPER_PAGES, f"keeper-{size}-{scheme}")
            await page.fill("#why-name", "cellar__cook")
            await page.click("text=Explain")
            await page.wait_for_selector("#why .steps")
            await keep(page, f"people-why-keeper-{size}-{scheme}")
            await check_look(page, "why")
            await page.goto(f"{hub.url}/ui/access/groups")
            await page.click("tr:has-text('developers') >> text=Edit")
            await keep(page, f"people-admission-keeper-{size}-{scheme}")
            await check_look(page, "admission")


async def walk(page: Any, hub: RunningHub, pages: dict[str, str], name: str) -> None:
    """Look at all of these pages."""
    for path, title in pages.items():
        await page.goto(f"{hub.url}/ui/{quote(path)}")
        await page.wait_for_selector(f"h1:has-text('{title}')")
        await page.wait_for_selector(".skeleton", state="detached")
        await page.wait_for_selector(".live.live")
        await keep(page, f"people-{path.replace('/', '-')}-{name}")
        await check_look(page, path)
