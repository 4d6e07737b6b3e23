"""Members log in at servers by themselves, asked by the client that called."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
import pytest_asyncio
from msgspec import msgpack, structs

from tests.control.company import put_profile, send
from tests.doors.doors import Doors, Json, call, mirrored, modern, open_doors
from tests.features.members.team import MemberClient, admit, log_in_at_server
from tests.features.secrets.test_members import server as secret_server
from tests.fixtures.issuer import issuing
from tests.fixtures.naming_issuer import NamingIssuer
from tests.fixtures.people_issuer import PeopleIssuer, people_issuing
from toolyard.features.auth.member_links import LINK_SECONDS, PURPOSE, Ticket
from toolyard.wire.seal import Seal

KEY = ("only-for-these-tests-" * 2,)
OWN = "toolyard:own"
PEOPLE = {name: ["developers"] for name in ("ann", "bob", "cem")}
ABLE: Json = {"elicitation": {"form": {}, "url": {}}}
BOTH = "application/json, text/event-stream"


@pytest.fixture
def people() -> Iterator[PeopleIssuer]:
    with people_issuing(PEOPLE) as running:
        yield running


@pytest.fixture
def remote() -> Iterator[NamingIssuer]:
    with issuing(NamingIssuer()) as running:
        assert isinstance(running, NamingIssuer)
        yield running


def open_browser() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(follow_redirects=True, trust_env=False)


class Team:
    """A hub in front of a server with logins, and one with secrets, of members."""

    def __init__(self, doors: Doors, people: PeopleIssuer, remote: NamingIssuer) -> None:
        self.doors, self.people, self.remote = doors, people, remote

    def person(self, name: str) -> MemberClient:
        return MemberClient(self.doors, token=self.people.token_for(name, OWN))

    async def browse(self, person: str, url: str) -> httpx2.Response:
        """Have somebody open a link, press the button, and log in wherever that leads."""
        async with open_browser() as browser:
            page = await browser.get(url)
            if page.status_code != 200:
                return page
            assert f"{person}@example.com" in page.text
            return await self.prove(browser, person, url)

    async def prove(self, browser: httpx2.AsyncClient, person: str, url: str) -> httpx2.Response:
        """Have somebody press the button of a link, and log in as themselves everywhere."""
        self.remote.person = person
        page = await browser.post(url)
        assert str(page.url).startswith(f"{self.people.url}/authorize?"), page.text
        query = urlencode({"person": person}) + f"&{page.url.query.decode()}"
        return await browser.get(f"{self.people.url}/authorize/as?{query}")

    async def log_in(self, name: str) -> None:
        """Have a member log in through the API, in a browser."""
        self.remote.person = name
        await log_in_at_server(self.person(name), "remote")

        async def is_in() -> bool:
            rows = (await self.person(name).order("GET", "/api/v1/my/logins")).json()["logins"]
            return bool(rows[0]["state"] == "logged-in")

        await self.doors.until(is_in)


@asynccontextmanager
async def open_team(
    home: Path, people: PeopleIssuer, remote: NamingIssuer, **changes: Any
) -> AsyncIterator[Team]:
    servers = {"remote": {"url": remote.mcp, "login": "member"}, "mine": secret_server()}
    async with open_doors(home, servers, issuer=people.url, key=KEY, **changes) as doors:
        people.hub = f"http://{doors.host}/mcp"
        await put_profile(doors, "both", allow=["remote", "mine"])
        await admit(doors, "developers", "both")
        team = Team(doors, people, remote)
        await team.log_in("ann")
        answer = await team.person("ann").order(
            "PUT", "/api/v1/my/secrets/whose", {"value": "secret-of-ann-4711"}
        )
        assert answer.status == 200, answer

        async def is_listed() -> bool:
            return {"remote__whoami", "mine__env"} <= await doors.tools()

        await doors.until(is_listed)
        yield team


@pytest_asyncio.fixture
async def team(
    home: Path, people: PeopleIssuer, remote: NamingIssuer, no_keyring: None
) -> AsyncIterator[Team]:
    async with open_team(home, people, remote) as opened:
        yield opened


def text_of(answer: Json) -> str:
    return str(answer["result"]["content"][0]["text"])


class LegacyCall:
    """A call of a legacy client, whose person can be asked."""

    def __init__(self, person: MemberClient, tool: str, arguments: Json | None = None) -> None:
        self.person, self.params = person, {"name": tool, "arguments": arguments or {}}

    @asynccontextmanager
    async def begun(self, capabilities: Json = ABLE, accept: str = BOTH) -> AsyncIterator[Any]:
        """The stream of the answer."""
        doors = self.person.doors
        about = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        greeting = call("initialize", {**about, "clientInfo": {"name": "old"}})
        answer = await self.person.post(greeting)
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        self.head = {**self.person.head, **session, "MCP-Protocol-Version": "2025-11-25"}
        body = json.dumps(call("tools/call", self.params, 7)).encode()
        async with doors.connected() as raw:
            head = {**self.head, "Accept": accept}
            await raw.send(doors.request("POST", "/mcp", body, head))
            yield raw

    async def answer(self, question: Json, action: str) -> None:
        """Answer the question of the hub."""
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}}
        told = await self.person.doors.ask("POST", "/mcp", json.dumps(answer).encode(), self.head)
        assert told.status == 202, told


async def ask_modern(
    person: MemberClient, tool: str, more: Json | None = None, able: Json = ABLE
) -> Json:
    params = {"name": tool, "arguments": {}, **(more or {})}
    if tool == "mine__env":
        params["arguments"] = {"name": "WHOSE"}
    message = modern("tools/call", params, clientCapabilities=able)
    head = {**mirrored(message), "Accept": "application/json"}
    answer: Json = (await person.post(message, head)).json()
    return answer


async def test_each_member_is_served_with_their_own_login(team: Team) -> None:
    await team.log_in("bob")
    ann, bob = team.person("ann"), team.person("bob")
    for _ in range(3):
        assert text_of(await ask_modern(ann, "remote__whoami")) == "ann"
        assert text_of(await ask_modern(bob, "remote__whoami")) == "bob"
    out = await bob.order("POST", "/api/v1/my/logins/remote/logout")
    assert out.json()["done"] is True
    assert text_of(await ask_modern(ann, "remote__whoami")) == "ann"


async def test_a_member_neither_sees_nor_logs_in_at_what_they_are_not_admitted_to(
    team: Team,
) -> None:
    await put_profile(team.doors, "mine", allow=["mine"])
    await admit(team.doors, "developers", "mine")
    ann = team.person("ann")
    assert (await ann.order("GET", "/api/v1/my/logins")).json()["logins"] == []
    for order in ("login", "logout"):
        assert (await ann.order("POST", f"/api/v1/my/logins/remote/{order}")).status == 404


async def test_a_legacy_client_is_asked_and_the_same_call_returns_its_result(team: Team) -> None:
    bob = LegacyCall(team.person("bob"), "remote__whoami")
    async with bob.begun() as stream:
        assert (await stream.head())[0] == 200
        question = await stream.event()
        assert question["method"] == "elicitation/create"
        params = question["params"]
        assert (params["mode"], "remote" in params["message"]) == ("url", True)
        await bob.answer(question, "accept")
        page = await team.browse("bob", params["url"])
        assert page.status_code == 200
        done = await stream.event()
        assert done["method"] == "notifications/elicitation/complete"
        assert done["params"] == {"elicitationId": params["elicitationId"]}
        result = await stream.event()
        assert (result["id"], text_of(result)) == (7, "bob")


async def test_a_modern_client_is_asked_and_the_same_call_returns_its_result(team: Team) -> None:
    bob = team.person("bob")
    asked = (await ask_modern(bob, "remote__whoami"))["result"]
    assert asked["resultType"] == "input_required"
    ((key, question),) = asked["inputRequests"].items()
    assert question["method"] == "elicitation/create"
    assert question["params"].keys() == {"mode", "message", "url"}
    again = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "accept"}}}
    # It waits for the person, who takes their time.
    async with asyncio.TaskGroup() as group:
        going_on = group.create_task(ask_modern(bob, "remote__whoami", again))
        await team.browse("bob", question["params"]["url"])
    assert text_of(going_on.result()) == "bob"
    assert text_of(await ask_modern(bob, "remote__whoami")) == "bob"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_missing_secret_is_entered_on_a_page_and_the_same_call_goes_on(
    team: Team, era: str
) -> None:
    async def enter(url: str) -> None:
        async with open_browser() as browser:
            page = await team.prove(browser, "bob", url)
            assert "bob@example.com" in page.text
            assert "whose" in page.text
            assert (await browser.post(page.url, data={"value": ""})).status_code == 422
            done = await browser.post(page.url, data={"value": "secret-of-bob-0815"})
            assert done.status_code == 200
            assert "secret-of-bob" not in done.text
            assert (await browser.get(url)).status_code == 410
            assert (await browser.post(url, data={"value": "x"})).status_code == 410

    person = team.person("bob")
    if era == "legacy":
        bob = LegacyCall(person, "mine__env", {"name": "WHOSE"})
        async with bob.begun() as stream:
            await stream.head()
            question = await stream.event()
            await enter(question["params"]["url"])
            while "result" not in (event := await stream.event()):
                pass
        assert text_of(event) == "secret-of-bob-0815"
        return
    asked = (await ask_modern(person, "mine__env"))["result"]
    ((key, question),) = asked["inputRequests"].items()
    await enter(question["params"]["url"])
    again = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "accept"}}}
    assert text_of(await ask_modern(person, "mine__env", again)) == "secret-of-bob-0815"


@pytest.mark.parametrize("able", [{}, {"elicitation": {"form": {}}}])
async def test_a_client_that_cannot_be_asked_is_told_the_link(team: Team, able: Json) -> None:
    bob = team.person("bob")
    told = await ask_modern(bob, "remote__whoami", able=able)
    assert told["result"]["isError"] is True
    (url,) = re.findall(r"http://\S+", text_of(told))
    assert (await team.browse("bob", url)).status_code == 200

    async def is_in() -> bool:
        return text_of(await ask_modern(bob, "remote__whoami", able=able)) == "bob"

    await team.doors.until(is_in)


async def test_a_legacy_client_that_takes_no_stream_is_sent_away_with_the_link(team: Team) -> None:
    bob = LegacyCall(team.person("bob"), "remote__whoami")
    async with bob.begun(accept="application/json") as raw:
        error = (await raw.answer()).json()["error"]
    assert error["code"] == -32042
    (page,) = error["data"]["elicitations"]
    assert page.keys() == {"mode", "message", "url", "elicitationId"} and page["mode"] == "url"
    assert (await team.browse("bob", page["url"])).status_code == 200


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_whoever_declines_ends_the_call_and_nothing_is_kept(team: Team, action: str) -> None:
    bob = LegacyCall(team.person("bob"), "remote__whoami")
    async with bob.begun() as stream:
        await stream.head()
        await bob.answer(await stream.event(), action)
        result = await stream.event()
        assert result["result"]["isError"] is True
    asked = (await ask_modern(bob.person, "remote__whoami"))["result"]
    refused = {"requestState": asked["requestState"]}
    refused["inputResponses"] = {"credential": {"action": action}}
    again = await ask_modern(bob.person, "remote__whoami", refused)
    assert again["result"]["isError"] is True
    rows = (await bob.person.order("GET", "/api/v1/my/logins")).json()["logins"]
    assert rows[0]["state"] == "needed"


async def test_the_state_of_a_call_is_of_no_use_to_another_member(team: Team) -> None:
    bob, cem = team.person("bob"), team.person("cem")
    asked = (await ask_modern(bob, "remote__whoami"))["result"]
    ((key, question),) = asked["inputRequests"].items()
    again = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "accept"}}}
    await team.browse("bob", question["params"]["url"])
    theirs = (await ask_modern(cem, "remote__whoami", again))["result"]
    assert theirs["resultType"] == "input_required"
    assert theirs["requestState"] != asked["requestState"]


async def test_a_link_is_worth_nothing_once_its_member_is_gone_or_it_was_changed(
    team: Team,
) -> None:
    bob = team.person("bob")
    asked = (await ask_modern(bob, "remote__whoami"))["result"]
    url = asked["inputRequests"]["credential"]["params"]["url"]
    async with httpx2.AsyncClient(trust_env=False) as browser:
        for wrong in (url[:-3], url + "AAAA", url.rsplit("/", 1)[0] + "/" + "A" * 80):
            assert (await browser.get(wrong)).status_code == 410
        page = await browser.get(url)
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        foreign = {"Origin": "https://evil.example"}
        assert (await browser.post(url, headers=foreign)).status_code == 403

        async def is_written() -> bool:
            return len((await team.doors.get("/api/v1/members"))["members"]) == 2

        await team.doors.until(is_written)
        assert (await send(team.doors, "DELETE", "/api/v1/members/bob")).status == 200
        assert (await browser.get(url)).status_code == 410
        assert (await browser.post(url)).status_code == 410


async def test_a_link_that_was_used_or_is_too_old_leads_nowhere(team: Team) -> None:
    asked = (await ask_modern(team.person("bob"), "remote__whoami"))["result"]
    url = asked["inputRequests"]["credential"]["params"]["url"]
    top, _, text = url.rpartition("/")
    seal = Seal(KEY)
    ticket = msgpack.decode(seal.open(PURPOSE, "", text) or b"", type=Ticket)

    def made_before(seconds: float) -> str:
        older = structs.replace(ticket, made_at=ticket.made_at - seconds)
        return f"{top}/{seal.seal(PURPOSE, '', msgpack.encode(older))}"

    async with httpx2.AsyncClient(trust_env=False) as browser:
        assert (await browser.get(made_before(LINK_SECONDS / 2))).status_code == 200
        for send_it in (browser.get, browser.post):
            assert (await send_it(made_before(LINK_SECONDS))).status_code == 410
        assert (await team.browse("bob", url)).status_code == 200

        async def is_used() -> bool:
            return bool((await browser.get(url)).status_code == 410)

        await team.doors.until(is_used)
        assert (await browser.post(url)).status_code == 410


async def test_a_client_that_leaves_while_it_is_asked_leaves_nothing_behind(team: Team) -> None:
    bob = LegacyCall(team.person("bob"), "remote__whoami")
    async with bob.begun() as stream:
        await stream.head()
        url = (await stream.event())["params"]["url"]
    # Who finishes the login all the same has it for the next call.
    assert (await team.browse("bob", url)).status_code == 200

    async def is_in() -> bool:
        answer = await ask_modern(bob.person, "remote__whoami")
        return "content" in answer["result"] and text_of(answer) == "bob"

    await team.doors.until(is_in)
    assert text_of(await ask_modern(team.person("ann"), "remote__whoami")) == "ann"


async def test_a_keeper_sees_who_is_logged_in_where_and_ends_it(team: Team) -> None:
    rows = (await team.doors.get("/api/v1/member-logins"))["logins"]
    assert [(row["email"], row["login"]["server"], row["login"]["state"]) for row in rows] == [
        ("ann@example.com", "remote", "logged-in")
    ]
    path = f"/api/v1/member-logins/{rows[0]['id']}"
    refused = await team.person("ann").order("DELETE", path)
    assert refused.status == 403, refused
    assert (await send(team.doors, "DELETE", path)).status == 200
    hers = (await team.person("ann").order("GET", "/api/v1/my/logins")).json()["logins"]
    assert [row["state"] for row in hers] == ["needed"]
    assert (await send(team.doors, "DELETE", path)).status == 404
