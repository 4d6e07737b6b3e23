"""Every page opens, at a desk and on a phone, in light and dark; all can be read and reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home
from tests.ui.conftest import entered
from tests.ui.gallery import gallery
from tests.ui.looks import FEW_LOOKS, check_look, keep, look
from tests.ui.orders import order
from tests.ui.test_people import MEMBER_PAGES

pytestmark = pytest.mark.ui
INDEX = Path(__file__).parents[2] / "src/toolyard/doors/page/ui/pages/index.js"
PAGES = {
    "": "Servers",
    "servers/git": "git",
    "servers/database": "database",
    "servers/files/edit": "Edit files",
    "servers/issues/tools/create_issue": "create_issue",
    "tools": "Tools",
    "clients": "Clients",
    "agents": "Agents",
    "agents/codex": "Codex",
    "policies": "Policies",
    "policies/docker": "docker",
    "executors": "Executors",
    "add": "Add a server",
    "add/json": "Add a server",
    "catalog": "Add a server",
    "setup": "Add a server",
    "catalog/github": "GitHub",
    "activity": "Activity",
    "activity/calls": "Calls",
    "activity/waiting": "Waiting calls",
    "activity/calls/{call}": "create_issue",
    "profiles": "Profiles",
    "profiles/review": "review",
    "apps": "Apps",
    "access": "Tokens",
    "access/members": "Members",
    "access/members/nobody": "nobody",
    "access/groups": "Groups",
    "access/rules": "Rules",
    "access/limits": "Limits",
    "access/sessions": "Sessions",
    "access/secrets": "Secrets",
    "access/logins": "Logins",
    "settings": "Settings",
    "settings/clients": "Client quirks",
    "settings/doctor": "Doctor",
}


def test_every_page_is_among_those_that_are_looked_at() -> None:
    routes = re.findall(r'path: "/ui/?([^"]*)"', INDEX.read_text())
    assert len(routes) == len(set(routes)) > 20
    unseen = [
        route
        for route in routes
        if not any(
            re.fullmatch(re.sub(r":\w+", "[^/]+", route), path) for path in (*PAGES, *MEMBER_PAGES)
        )
    ]
    assert unseen == []


@pytest.fixture(scope="module")
def yard() -> Iterator[RunningHub]:
    """A hub with all that its pages can show, for every look."""
    with new_home() as home, gallery(home) as started:
        yield started


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_no_page_is_cut_off_or_inaccessible(
    browser: Any, yard: RunningHub, size: str, scheme: str
) -> None:
    async with entered(browser, yard, **look(size, scheme)) as page:
        [call] = (await order(page, "GET", "/history?tool=create_issue&limit=1"))["calls"]
        for path, title in PAGES.items():
            await page.goto(f"{yard.url}/ui/{path.format(call=call['id'])}")
            await page.wait_for_selector(f"h1:has-text('{title}')")
            await page.wait_for_selector(".skeleton", state="detached")
            await page.wait_for_selector(".live.live")
            await keep(page, f"{path.replace('/', '-') or 'yard'}-{size}-{scheme}")
            await check_look(page, path)


async def test_what_is_not_there_says_where_to_go(browser: Any, hub: RunningHub) -> None:
    async with entered(browser, hub) as page:
        for path in (
            "agents/nobody",
            "policies/nowhere",
            "catalog/nothing",
            "activity/calls/99",
        ):
            await page.goto(f"{hub.url}/ui/{path}")
            await page.wait_for_selector("h1")
            await page.wait_for_selector(".empty a[href^='/ui/']")
