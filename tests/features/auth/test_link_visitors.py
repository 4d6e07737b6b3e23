"""The link of a member is of use to that member alone, from the first page to the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import pytest_asyncio
from msgspec import msgpack, structs

from tests.doors.doors import Raw
from tests.features.auth.test_member_logins import (
    KEY,
    PEOPLE,
    Team,
    ask_modern,
    open_browser,
    open_team,
    text_of,
)
from tests.features.members.test_page_login import Tab
from tests.fixtures.issuer import issuing
from tests.fixtures.naming_issuer import NamingIssuer
from tests.fixtures.people_issuer import PeopleIssuer, people_issuing
from toolyard.doors.http.stranger_bodies import STRANGER_BODIES
from toolyard.features.auth.member_links import LINK_SECONDS, PURPOSE, Ticket
from toolyard.wire.seal import Seal

pytestmark = pytest.mark.slow

TOOL = "remote__whoami"
TOKENLESS = ("Authorization",)


@pytest.fixture
def people() -> Iterator[PeopleIssuer]:
    with people_issuing({**PEOPLE, "eve": ["strangers"]}) as running:
        yield running


@pytest.fixture
def remote() -> Iterator[NamingIssuer]:
    with issuing(NamingIssuer()) as running:
        assert isinstance(running, NamingIssuer)
        yield running


@pytest_asyncio.fixture
async def team(
    home: Path, people: PeopleIssuer, remote: NamingIssuer, no_keyring: None
) -> AsyncIterator[Team]:
    async with open_team(home, people, remote) as opened:
        yield opened


async def link_of(team: Team, name: str, tool: str = TOOL) -> str:
    """The link that a member gets for a call that lacks a credential."""
    asked = (await ask_modern(team.person(name), tool))["result"]
    url: str = asked["inputRequests"]["credential"]["params"]["url"]
    return url


async def is_logged_in(team: Team, name: str) -> bool:
    rows = (await team.person(name).order("GET", "/api/v1/my/logins")).json()["logins"]
    return bool(rows[0]["state"] == "logged-in")


async def kept_logins(team: Team) -> list[str]:
    rows = (await team.doors.get("/api/v1/member-logins"))["logins"]
    return [row["email"] for row in rows]


@asynccontextmanager
async def steps() -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that waits at every redirection."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        yield browser


async def at_issuer(team: Team, browser: httpx2.AsyncClient, person: str, url: str) -> str:
    """Have somebody press the button and log in at the issuer; the address to come back to."""
    led = await browser.post(url)
    assert led.status_code == 303, led.text
    query = urlsplit(led.headers["location"]).query
    return await asyncio.to_thread(team.people.log_in, person, query)


async def test_the_link_of_one_member_takes_nothing_from_another_and_still_works_for_its_own(
    team: Team,
) -> None:
    url = await link_of(team, "bob")
    async with open_browser() as browser:
        refused = await team.prove(browser, "cem", url)
        assert refused.status_code == 403
        assert "cem@example.com" in refused.text and "bob@example.com" in refused.text
        assert "nothing was kept" in refused.text
        # Having been refused is no proof either.
        again = await browser.post(url)
        assert str(again.url).startswith(team.people.url)
    assert await kept_logins(team) == ["ann@example.com"]
    assert not team.remote.codes, "nobody was sent to the server"
    assert (await team.browse("bob", url)).status_code == 200
    await team.doors.until(lambda: is_logged_in(team, "bob"))
    assert text_of(await ask_modern(team.person("bob"), TOOL)) == "bob"


async def test_somebody_who_is_no_member_is_refused(team: Team) -> None:
    url = await link_of(team, "bob")
    async with open_browser() as browser:
        refused = await team.prove(browser, "eve", url)
    assert refused.status_code == 403 and "not admitted" in refused.text
    assert await kept_logins(team) == ["ann@example.com"]


async def test_forms_that_are_never_finished_are_kept_up_to_a_bound_for_all_together(
    team: Team,
) -> None:
    """Anybody may begin one: the connections whose are the oldest end for those that follow."""
    doors, size = team.doors, 200 << 10
    most = STRANGER_BODIES // size
    head = doors.request(
        "POST", "/login/for/nobody", headers={"Content-Length": str(size)}, leave_out=TOKENLESS
    )
    held = [Raw(*await asyncio.open_connection("127.0.0.1", doors.port)) for _ in range(most + 40)]
    for raw in held:
        await raw.send(head + b"x" * (size - 1))
    assert (await doors.ask("GET", "/api/v1/status")).status == 200
    ended = 0
    for raw in held:
        with suppress(ConnectionError):
            await raw.send(b"x")
        try:
            assert (await raw.answer()).status == 410
        except (asyncio.IncompleteReadError, ConnectionError):
            ended += 1
        await raw.close()
    assert ended == 40
    # What was answered is counted no more.
    url = await link_of(team, "bob")
    assert (await team.browse("bob", url)).status_code == 200


async def test_a_secret_is_taken_from_the_browser_of_its_member_alone(team: Team) -> None:
    url = await link_of(team, "bob", "mine__env")
    value = {"value": "secret-of-cem-0815"}
    async with open_browser() as browser:
        unproven = await browser.post(url, data=value)  # it is the way to the issuer
        assert str(unproven.url).startswith(team.people.url)
        assert (await team.prove(browser, "cem", url)).status_code == 403
    async with open_browser() as own, open_browser() as other:
        form = await team.prove(own, "bob", url)
        assert "type=password" in form.text
        stolen = await other.get(form.url)
        assert "type=password" not in stolen.text
        stolen = await other.post(form.url, data=value)
        assert str(stolen.url).startswith(team.people.url)
        assert (await own.post(form.url, data={"value": "secret-of-bob-4711"})).status_code == 200
    answer = await ask_modern(team.person("bob"), "mine__env")
    assert text_of(answer) == "secret-of-bob-4711"


async def test_the_login_at_the_issuer_is_finished_by_the_browser_that_began_it(
    team: Team,
) -> None:
    url = await link_of(team, "bob")
    async with steps() as own, steps() as other:
        back = await at_issuer(team, own, "bob", url)
        (name,) = own.cookies
        for cookies in ({}, {name: ""}, {name: "x" * 43}):
            other.cookies = httpx2.Cookies(cookies)
            refused = await other.get(back)
            assert refused.status_code == 403 and "another browser" in refused.text
        state = parse_qs(urlsplit(back).query)["state"][0]
        for wrong in (back.replace(state, "link.AAAA"), back.replace(state, state[:-2])):
            assert (await own.get(wrong)).status_code == 403
        assert team.people.codes, "nobody asked for the tokens of that code"
        led = await own.get(back)
        assert led.status_code == 303
        assert led.headers["location"].startswith(f"{team.remote.url}/authorize?")
        replayed = await own.get(back)  # a code is good once
        assert replayed.status_code == 403 and "did not confirm" in replayed.text


async def test_the_login_at_the_server_is_finished_by_the_browser_that_was_proven(
    team: Team,
) -> None:
    """Whoever proves to be themselves could send on the address that they are led to next."""
    url = await link_of(team, "bob")
    async with steps() as own, open_browser() as other:
        led = await own.get(await at_issuer(team, own, "bob", url))
        team.remote.person = "cem"
        refused = await other.get(led.headers["location"])
        assert refused.status_code == 403 and "another browser" in refused.text
        assert await kept_logins(team) == ["ann@example.com"]
        team.remote.person = "bob"
        back = (await own.get(led.headers["location"])).headers["location"]
        assert (await own.get(back)).status_code == 200
        await team.doors.until(lambda: is_logged_in(team, "bob"))
        assert (await own.get(back)).status_code == 400
    assert text_of(await ask_modern(team.person("bob"), TOOL)) == "bob"


async def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(team: Team) -> None:
    async with steps() as browser:
        led = await browser.post(await link_of(team, "bob"))
        words = led.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {*words}
        tie = words[0].partition("=")[2]
        assert tie not in led.headers["location"]
        # Two links in one browser do not disturb each other.
        again = await browser.post(await link_of(team, "bob", "mine__env"))
        assert tie in again.headers["set-cookie"]
        page = await browser.get(await link_of(team, "bob"))
        # With another policy, browsers would send the form without an origin, and be refused.
        assert page.headers["referrer-policy"] == "same-origin"


async def test_whoever_is_logged_in_on_the_page_need_not_go_to_the_issuer(team: Team) -> None:
    bob, cem = Tab(team.doors, team.people), Tab(team.doors, team.people)
    await bob.log_in("bob")
    await cem.log_in("cem")
    url = await link_of(team, "bob")
    async with open_browser() as browser:
        for key in (cem.key, "typ_x", "eyJ.x.x", "no key"):
            refused = await browser.post(url, headers={"Authorization": f"Bearer {key}"})
            assert refused.status_code == 403 and "not for you" in refused.text, key
        page = await browser.post(url, headers={"Authorization": f"Bearer {bob.key}"})
        assert page.status_code == 200 and "proof=" in str(page.url)
        team.remote.person = "bob"
        assert (await browser.post(page.url)).status_code == 200
    await team.doors.until(lambda: is_logged_in(team, "bob"))


async def test_a_token_for_tools_alone_proves_nobody(team: Team) -> None:
    url = await link_of(team, "bob")
    head = {"Authorization": f"Bearer {team.people.token_for('bob')}"}
    async with open_browser() as browser:
        assert (await browser.post(url, headers=head)).status_code == 403


async def test_a_link_that_ends_while_its_member_logs_in_leads_nowhere(team: Team) -> None:
    url = await link_of(team, "bob")
    top, _, text = url.rpartition("/")
    seal = Seal(KEY)
    ticket = msgpack.decode(seal.open(PURPOSE, "", text) or b"", type=Ticket)
    async with steps() as browser, open_browser() as another:
        back = await at_issuer(team, browser, "bob", url)
        assert (await team.prove(another, "bob", url)).status_code == 200
        await team.doors.until(lambda: is_logged_in(team, "bob"))
        used = await browser.get(back)
        assert used.status_code == 410 and "used already" in used.text
        old = structs.replace(ticket, made_at=ticket.made_at - LINK_SECONDS)
        expired = f"{top}/{seal.seal(PURPOSE, '', msgpack.encode(old))}"
        assert (await browser.post(expired)).status_code == 410


async def test_a_page_login_does_not_pass_for_the_proof_of_a_visitor_nor_the_reverse(
    team: Team,
) -> None:
    tab = Tab(team.doors, team.people)
    async with steps() as browser:
        back = urlsplit(await at_issuer(team, browser, "bob", await link_of(team, "bob")))
        (tab.tie,) = browser.cookies.values()
        assert (await tab.finish(back.query)).status == 403
        query = await tab.choose("bob")
        shown = await browser.get(f"http://{team.doors.host}/ui/login?{query}")
        assert shown.status_code == 200 and "app.js" in shown.text
        forged = query.replace("state=", "state=link.")
        refused = await browser.get(f"http://{team.doors.host}/ui/login?{forged}")
        assert refused.status_code == 403


async def test_an_issuer_that_does_not_know_the_page_is_said_so_and_nothing_is_taken(
    home: Path, people: PeopleIssuer, remote: NamingIssuer, no_keyring: None
) -> None:
    people.registers = False
    async with open_team(home, people, remote) as team, open_browser() as browser:
        refused = await browser.post(await link_of(team, "bob"))
        assert refused.status_code == 501 and "TOOLYARD_PAGE_CLIENT" in refused.text
        assert await kept_logins(team) == ["ann@example.com"]
