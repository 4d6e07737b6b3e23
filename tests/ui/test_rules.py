"""Rules and limits are made on the page, and whoever is asked about a call answers there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import TOKEN, RunningHub, running_hub
from tests.ui.conftest import entered, kitchen, playwright
from tests.ui.looks import FEW_LOOKS, check_look, keep, look
from tests.ui.orders import SOUP, call_tool
from tests.ui.test_people import come_in, make_keeper, team_hub, window

pytestmark = pytest.mark.ui
expect = playwright.expect
LONG = {**SOUP, "extras": [f"leaf {number} of parsley, chopped" for number in range(300)]}
LARGE = 12345678901234567890
"""A number that JavaScript rounds."""
LATER = "() => { const now = Date.now; Date.now = () => now() + 3600e3; }"


@contextmanager
def ruled_hub(home: Path) -> Iterator[RunningHub]:
    """A hub with a rule that asks before somebody cooks."""
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        hub.run("rule", "set", "cooking", "--tool", "kitchen/cook", "--reason", "Gas is dear.")
        yield hub


def calling(group: asyncio.TaskGroup, hub: RunningHub, arguments: Any = None) -> asyncio.Task[str]:
    """A client that calls, and waits for the answer."""
    return group.create_task(
        asyncio.to_thread(call_tool, hub, TOKEN, "kitchen__cook", arguments or SOUP)
    )


def waiting_ids(hub: RunningHub) -> list[str]:
    """The calls that wait, the oldest first."""
    return [row["id"] for row in hub.ask("rule", "waiting")["calls"]]


async def test_a_call_that_waits_is_seen_everywhere_and_allowed_by_keyboard(
    browser: Any, home: Path
) -> None:
    with ruled_hub(home) as hub:
        async with entered(browser, hub) as page, asyncio.TaskGroup() as group:
            await page.goto(f"{hub.url}/ui/tools")
            call = calling(group, hub)
            # Nobody touched the page.
            await page.wait_for_selector(".sign:has-text('A call is waiting')")
            await page.wait_for_selector("nav a:has-text('Activity') .count:has-text('1')")
            await page.click("nav a:has-text('Servers')")
            await page.click(".strip a:has-text('1 call waiting')")
            card = page.locator(".calls-held li")
            await card.locator("h2:has-text('kitchen / cook')").wait_for()
            shown = await card.inner_text()
            for words in ("hub's own token", "a test", "cooking", "Gas is dear.", '"dish": "soup"'):
                assert words in shown, words
            assert await page.locator(".sign").count() == 0
            await card.locator("text=Allow").press("Enter")
            assert "cooked" in await call
            await card.locator("text=You allowed this call.").wait_for()
            await page.wait_for_selector("nav .count.waiting", state="detached")
            await page.wait_for_selector("text=No call is waiting.")
            await page.click("text=Clear answered")
            await expect(card).to_have_count(0)


async def test_a_call_that_is_denied_tells_its_client(browser: Any, home: Path) -> None:
    with ruled_hub(home) as hub:
        async with entered(browser, hub) as page, asyncio.TaskGroup() as group:
            await page.goto(f"{hub.url}/ui/activity/waiting")
            call = calling(group, hub)
            await page.click(".calls-held li >> text=Deny")
            answer = await call
            assert "a person said no" in answer and "cooked" not in answer
            await page.wait_for_selector("text=You denied this call, so it did not run.")


async def test_a_key_pressed_twice_answers_one_call(browser: Any, home: Path) -> None:
    with ruled_hub(home) as hub:
        async with entered(browser, hub) as page, asyncio.TaskGroup() as group:
            await page.goto(f"{hub.url}/ui/activity/waiting")
            calls = [calling(group, hub), calling(group, hub)]
            cards = page.locator(".calls-held li")
            await expect(cards).to_have_count(2)
            await cards.first.locator("text=Allow").focus()
            await page.keyboard.press("Enter")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("text=You allowed this call.")
            await page.keyboard.press("Enter")
            assert len(waiting_ids(hub)) == 1
            # The other one has kept its place, and is asked about still.
            await cards.last.locator("text=Deny").click()
            await expect(page.locator(".calls-held .end")).to_have_count(2)
            answers = await asyncio.gather(*calls)
            assert sorted("cooked" in answer for answer in answers) == [False, True]


async def test_a_call_that_waits_no_longer_says_why(browser: Any, home: Path) -> None:
    with ruled_hub(home) as hub:
        async with entered(browser, hub) as page, asyncio.TaskGroup() as group:
            await page.goto(f"{hub.url}/ui/activity/waiting")
            calling(group, hub)
            cards = page.locator(".calls-held li")
            await cards.locator("text=Allow").wait_for()
            hub.run("rule", "answer", *waiting_ids(hub), "yes")
            await cards.locator("text=This call was answered elsewhere").wait_for()

            calling(group, hub)
            await expect(cards).to_have_count(2)
            await page.evaluate(LATER)
            hub.run("rule", "answer", *waiting_ids(hub), "no")
            await cards.last.locator("text=Nobody answered in time").wait_for()
            assert await page.locator(".answers").count() == 0


async def test_long_arguments_are_cut_until_all_are_wanted(browser: Any, home: Path) -> None:
    with ruled_hub(home) as hub:
        async with entered(browser, hub) as page, asyncio.TaskGroup() as group:
            await page.goto(f"{hub.url}/ui/activity/waiting")
            calling(group, hub, LONG)
            card = page.locator(".calls-held li")
            await card.locator("text=leaf 0 of").wait_for()
            assert "leaf 299" not in await card.inner_text()
            await card.locator("button:has-text('more characters')").click()
            await card.locator("text=leaf 299 of").wait_for()
            await card.locator("text=Deny").click()


async def test_numbers_are_shown_as_the_call_has_them(browser: Any, home: Path) -> None:
    bodies = {"TOOLYARD_HISTORY_BODIES": "on"}
    with running_hub({"kitchen": kitchen(home)}, home=home, env=bodies) as hub:
        hub.run("rule", "set", "cooking", "--argument", f"table:={LARGE}")
        async with entered(browser, hub) as page, asyncio.TaskGroup() as group:
            await page.goto(f"{hub.url}/ui/activity/waiting")
            call = calling(group, hub, {**SOUP, "table": LARGE})
            card = page.locator(".calls-held li")
            await card.locator(f'text="table": {LARGE}').wait_for()
            await card.locator("text=Allow").click()
            assert "cooked" in await call

            await page.goto(f"{hub.url}/ui/activity/calls")
            await page.click("tbody tr th a")
            await page.wait_for_selector(f".leaf .number:has-text('{LARGE}')")

            # A rule about such a number is saved as it was.
            await page.goto(f"{hub.url}/ui/access/rules")
            await page.click("tbody >> text=Edit")
            await expect(page.locator("#rule-arguments")).to_have_value(f"table:={LARGE}")
            await page.fill("#rule-reason", "Large.")
            await page.click("text=Save rule")
            await page.wait_for_selector("tr:has-text('Large.')")
            (rule,) = hub.ask("rule", "list")["rules"]
            assert rule["arguments"] == [{"path": "table", "equals": LARGE}]


async def test_a_rule_is_made_changed_and_removed(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/rules")
            await page.wait_for_selector("text=There are no rules.")
            await page.click("text=New rule")
            await page.fill("#rule-name", "big")
            await page.fill("#rule-tools", "kitchen\n!kitchen/taste")
            await page.select_option("#rule-tier", "write")
            await page.fill("#rule-arguments", "table=4?\nsize:=large")
            await page.fill("#rule-wait", "90")
            await page.click("text=Save rule")
            # What cannot be read is said, and what was typed stays.
            await page.wait_for_selector("#said .bad:has-text('“large” is not JSON')")
            await page.fill("#rule-arguments", 'table=4?\nsize:="large"')
            await page.click("text=Save rule")
            row = page.locator("tr", has_text="big")
            await row.locator("text=tier write or above").wait_for()
            (rule,) = hub.ask("rule", "list")["rules"]
            assert rule["tools"] == ["kitchen", "!kitchen/taste"]
            assert (rule["says"], rule["tier"], rule["wait"]) == ("ask", "write", 90)

            await row.locator("text=Edit").click()
            await page.select_option("#rule-says", "refuse")
            await page.click("text=Save rule")
            await row.locator("td:has-text('refuse')").wait_for()
            (changed,) = hub.ask("rule", "list")["rules"]
            assert changed == {**rule, "says": "refuse", "version": changed["version"]}

            await row.locator("text=Remove").click()
            await page.click("dialog button.danger")
            await page.wait_for_selector("text=There are no rules.")
            assert hub.ask("rule", "list")["rules"] == []


async def test_a_rule_that_somebody_else_changed_meanwhile_is_not_lost(
    browser: Any, home: Path
) -> None:
    with ruled_hub(home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/rules")
            row = page.locator("tr", has_text="cooking")
            await row.locator("text=Edit").click()
            await page.fill("#rule-reason", "Mine.")
            hub.run("rule", "set", "cooking", "--tool", "kitchen/cook", "--reason", "Theirs.")
            await row.locator("text=Theirs.").wait_for()  # the list follows, and the form does not
            await page.click("text=Save rule")
            clash = page.locator("form [role=alert]")
            await clash.locator("text=Somebody else changed this rule").wait_for()
            assert [rule["reason"] for rule in hub.ask("rule", "list")["rules"]] == ["Theirs."]
            await clash.locator("text=Look at theirs").click()
            await expect(page.locator("#rule-reason")).to_have_value("Theirs.")
            await expect(clash).to_have_count(0)

            await page.fill("#rule-reason", "Mine.")
            hub.run("rule", "set", "cooking", "--reason", "Again.")
            await page.click("text=Save rule")
            await clash.locator("text=Save mine over it").click()
            await row.locator("text=Mine.").wait_for()
            (rule,) = hub.ask("rule", "list")["rules"]
            assert (rule["reason"], rule["tools"]) == ("Mine.", ["kitchen/cook"])


async def test_a_new_limit_does_not_replace_one_of_its_name(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        hub.run("limit", "set", "fair", "--server", "kitchen", "--calls", "7")
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/limits")
            await page.wait_for_selector("text=server kitchen")
            await page.click("text=New limit")
            await page.fill("#limit-name", "fair")
            await page.fill("#limit-calls", "1")
            await page.click("text=Save limit")
            clash = page.locator("form [role=alert]")
            await clash.locator("text=There is a limit of this name already.").wait_for()
            await clash.locator("text=Look at theirs").click()
            await page.wait_for_selector("h2:has-text('Limit fair')")
            await expect(page.locator("#limit-server")).to_have_value("kitchen")
            assert [limit["calls"] for limit in hub.ask("limit", "list")["limits"]] == [7]


async def test_a_limit_is_made_used_changed_and_removed(browser: Any, home: Path) -> None:
    with running_hub({"kitchen": kitchen(home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/access/limits")
            await page.wait_for_selector("text=There are no limits.")
            await page.click("text=New limit")
            await page.fill("#limit-name", "fair")
            await page.click("text=Save limit")
            await page.wait_for_selector("#said .bad:has-text('limits nothing')")
            await page.fill("#limit-server", "kitchen")
            await page.fill("#limit-agent", "*")
            await page.fill("#limit-calls", "1")
            await page.fill("#limit-bytes", "10MB")
            await page.fill("#limit-per", "1d")
            await page.click("text=Save limit")
            row = page.locator("tr", has_text="fair")
            await row.locator("text=each agent, server kitchen").wait_for()
            (limit,) = hub.ask("limit", "list")["limits"]
            assert (limit["calls"], limit["bytes"], limit["seconds"]) == (1, 10**7, 86400)

            for words in ("cooked", "try again in"):
                assert words in await asyncio.to_thread(call_tool, hub, TOKEN, "kitchen__cook")
            await row.locator("text=1 of 1 calls").wait_for()

            await row.locator("text=Edit").click()
            await page.fill("#limit-calls", "5")
            await page.click("text=Save limit")
            await row.locator("text=1 of 5 calls").wait_for()
            (changed,) = hub.ask("limit", "list")["limits"]
            assert changed == {**limit, "calls": 5, "version": changed["version"]}

            await row.locator("text=Remove").click()
            await page.click("dialog button.danger")
            await page.wait_for_selector("text=There are no limits.")
            assert hub.ask("limit", "list")["limits"] == []


async def test_a_member_answers_their_own_calls_and_the_history_says_whose_they_were(
    browser: Any, home: Path
) -> None:
    with team_hub(home) as (hub, issuer):
        hub.run("member", "admission", "set", "developers", "storing")
        hub.run("rule", "set", "storing", "--tool", "cellar")
        async with (
            window(browser) as ann,
            window(browser) as kim,
            asyncio.TaskGroup() as group,
        ):
            await come_in(ann, hub, "ann", "/ui/my/calls")
            await make_keeper(hub, kim)
            token = issuer.token_for("ann")
            call = group.create_task(asyncio.to_thread(call_tool, hub, token, "cellar__cook"))
            await kim.click(".sign a")
            await kim.wait_for_selector(".calls-held dd:has-text('ann@example.com')")
            await ann.click(".sign a")
            await ann.click(".calls-held li >> text=Allow")
            assert "cooked" in await call
            await kim.wait_for_selector("text=This call was answered elsewhere")

            await kim.goto(f"{hub.url}/ui/activity/calls")
            row = kim.locator("tbody tr", has_text="ann@example.com")
            await row.locator("td:has-text('a test')").wait_for()
            await row.locator("th a").click()
            await kim.click("dl.facts dd a[href^='/ui/access/members/']")
            await kim.wait_for_selector("h1:has-text('ann@example.com')")


async def test_a_member_who_comes_later_sees_that_a_call_waits(browser: Any, home: Path) -> None:
    with team_hub(home) as (hub, issuer):
        hub.run("member", "admission", "set", "developers", "storing")
        hub.run("rule", "set", "storing", "--tool", "cellar")
        async with window(browser) as ann, asyncio.TaskGroup() as group:
            token = issuer.token_for("ann")
            call = group.create_task(asyncio.to_thread(call_tool, hub, token, "cellar__cook"))
            await come_in(ann, hub, "ann", "/ui/my/tokens")
            await ann.click(".sign a")
            await ann.click(".calls-held li >> text=Deny")
            assert "a person said no" in await call


@pytest.mark.parametrize(("size", "scheme"), FEW_LOOKS)
async def test_waiting_calls_rules_and_limits_can_be_read_and_reached(
    browser: Any, home: Path, size: str, scheme: str
) -> None:
    with ruled_hub(home) as hub:
        hub.run("limit", "set", "fair", "--agent", "*", "--calls", "10", "--bytes", "10MB")
        name = f"{size}-{scheme}"
        async with (
            entered(browser, hub, **look(size, scheme)) as page,
            asyncio.TaskGroup() as group,
        ):
            calling(group, hub, LONG)
            await page.wait_for_selector(".sign")
            await keep(page, f"rules-sign-{name}")
            await check_look(page, "the sign")
            await page.goto(f"{hub.url}/ui/activity/waiting")
            cards = page.locator(".calls-held li")
            await expect(cards).to_have_count(1)
            calling(group, hub)
            await expect(cards).to_have_count(2)
            await cards.last.locator("text=Deny").click()
            await cards.last.locator(".end").wait_for()
            await keep(page, f"rules-waiting-{name}")
            await check_look(page, "waiting calls")
            await cards.first.locator("text=Deny").click()
            await expect(page.locator(".end")).to_have_count(2)
            for path in ("rules", "limits"):
                await page.goto(f"{hub.url}/ui/access/{path}")
                await page.wait_for_selector("tbody tr")
                await keep(page, f"rules-{path}-{name}")
                await page.click("tbody tr >> text=Edit")
                await page.wait_for_selector("form")
                await keep(page, f"rules-{path}-form-{name}")
                await check_look(page, path)
