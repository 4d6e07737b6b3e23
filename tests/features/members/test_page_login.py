"""People log in on the page: the hub is a client of the issuer, and the tab holds what it got."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from tests.control.company import open_yard, put_profile, send
from tests.doors.doors import Answer, Doors
from tests.features.members.team import admit, change_member
from tests.features.members.test_doors import members_kept
from tests.features.members.test_matrix import (
    LET_IN,
    NOT_HERE,
    OPEN,
    UNKNOWN,
    judged,
    operations,
)
from tests.fixtures.people_issuer import PeopleIssuer, people_issuing
from toolyard.core.caller import Role

PEOPLE = {"ann": ["developers"], "kim": ["developers"], "eve": ["strangers"]}
KEY = "only-for-these-tests-0123456789-0123456789"


@pytest.fixture
def issuer() -> Iterator[PeopleIssuer]:
    with people_issuing(PEOPLE) as running:
        yield running


@asynccontextmanager
async def team_page(home: Path, issuer: PeopleIssuer, **changes: Any) -> AsyncIterator[Doors]:
    """A hub that admits developers, and trusts the issuer."""
    async with open_yard(home, issuer=issuer.url, **changes) as doors:
        issuer.hub = f"http://{doors.host}/mcp"
        await put_profile(doors, "echoes", allow=["*/echo"])
        await admit(doors, "developers", "echoes")
        yield doors


class Tab:
    """A tab of a browser that logs in."""

    def __init__(self, doors: Doors, issuer: PeopleIssuer) -> None:
        self.doors, self.issuer = doors, issuer
        self.tie = secrets.token_urlsafe(32)
        self.key = self.renewal = ""

    async def post(self, path: str, secret: str) -> Answer:
        """Knock at the page's entrance."""
        return await self.doors.ask("POST", path, b"", {"Authorization": f"Bearer {secret}"})

    async def begin(self) -> str:
        """The address of the login page."""
        answer = await self.post("/ui/login/begin", self.tie)
        assert answer.status == 200, answer
        url: str = answer.json()["url"]
        return url

    async def choose(self, person: str) -> str:
        """Log in as somebody; the query with which the browser comes back."""
        query = urlsplit(await self.begin()).query
        place = urlsplit(await asyncio.to_thread(self.issuer.log_in, person, query))
        assert place.path == "/ui/login"
        return place.query

    async def finish(self, query: str) -> Answer:
        """Bring back what the issuer sent."""
        return await self.post(f"/ui/login/finish?{query}", self.tie)

    async def log_in(self, person: str) -> None:
        """Come in as somebody."""
        self._take(await self.finish(await self.choose(person)))

    async def renew(self) -> Answer:
        """Ask for a new key."""
        return await self.post("/ui/login/renew", self.renewal)

    def _take(self, answer: Answer) -> None:
        assert answer.status == 200, answer
        self.key, self.renewal = answer.json()["key"], answer.json()["renewal"]

    async def order(self, method: str, path: str, body: Any = None) -> Answer:
        """Speak to the control API."""
        return await send(self.doors, method, path, body, Authorization=f"Bearer {self.key}")


async def make_keeper(doors: Doors, name: str) -> None:
    """Let a member order; they have come in before."""
    await members_kept(doors)
    await change_member(doors, f"{name}@example.com", role="keeper")


async def test_a_member_logs_in_and_a_keeper_may_order(home: Path, issuer: PeopleIssuer) -> None:
    async with team_page(home, issuer) as doors:
        ann = Tab(doors, issuer)
        await ann.log_in("ann")
        me = (await ann.order("GET", "/api/v1/my/self")).json()
        assert (me["email"], me["role"], me["profiles"]) == (
            "ann@example.com",
            "member",
            ["echoes"],
        )
        assert (await ann.order("GET", "/api/v1/status")).status == 403
        assert (await ann.order("POST", "/mcp", {})).status == 401
        await make_keeper(doors, "ann")
        assert (await ann.order("GET", "/api/v1/status")).status == 200
        orders = (await doors.get("/api/v1/audit"))["orders"]
        await put_profile(doors, "two", allow=["two"])
        assert (
            await ann.order("PUT", "/api/v1/admissions/reviewers", {"profiles": ["two"]})
        ).status == 200
        newest = (await doors.get("/api/v1/audit"))["orders"]
        assert len(newest) > len(orders) and newest[0]["by"] == "ann@example.com"


async def test_every_operation_on_the_page_of_a_keeper_and_of_a_member(
    home: Path, issuer: PeopleIssuer
) -> None:
    async with team_page(home, issuer) as doors:
        ann, kim = Tab(doors, issuer), Tab(doors, issuer)
        await kim.log_in("kim")
        await make_keeper(doors, "kim")
        await ann.log_in("ann")
        wrong = []
        for method, path, least in operations():
            if path in OPEN:
                continue
            is_api = path.startswith("/api/v1/")
            allowed = {kim.key: is_api, ann.key: is_api and least is Role.MEMBER}
            for key, is_allowed in allowed.items():
                expected = LET_IN if is_allowed else NOT_HERE if is_api else UNKNOWN
                if (status := await judged(doors, method, path, key)) != expected:
                    wrong.append((method, path, status, expected))
        assert wrong == []


async def test_the_login_page_is_asked_for_what_the_hub_needs(
    home: Path, issuer: PeopleIssuer
) -> None:
    async with team_page(home, issuer, scopes=("tools",)) as doors:
        url = await Tab(doors, issuer).begin()
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{issuer.url}/authorize?")
        assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43
        assert asked["redirect_uri"] == f"http://{doors.host}/ui/login"
        assert asked["resource"] == f"http://{doors.host}/mcp"
        assert asked["scope"] == "openid email offline_access tools"
        (registered,) = issuer.registrations
        assert registered["redirect_uris"] == [asked["redirect_uri"]]
        await Tab(doors, issuer).begin()
        assert len(issuer.registrations) == 1


async def test_a_login_is_finished_in_its_own_tab_alone(home: Path, issuer: PeopleIssuer) -> None:
    async with team_page(home, issuer) as doors:
        mine, other = Tab(doors, issuer), Tab(doors, issuer)
        query = await mine.choose("ann")
        for tie in (other.tie, ""):
            refused = await other.post(f"/ui/login/finish?{query}", tie)
            assert refused.status == 403 and "another tab" in refused.json()["detail"]
        assert issuer.codes  # nobody asked for the tokens of that code
        assert (await mine.finish(query)).status == 200
        assert (await mine.finish(query)).status == 403  # a code is good once


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"iss": "http://127.0.0.1:9"}, "not from the login service"),
        ({"iss": None}, "not from the login service"),
        ({"error": "access_denied"}, "refused the login"),
        ({"code": "another"}, "did not confirm"),
        ({"code": ""}, "log in again"),
        ({"code": "x" * 5000}, "log in again"),
        ({"state": "another"}, "log in again"),
        ({"state": None}, "log in again"),
    ],
)
async def test_what_does_not_fit_lets_nobody_in(
    home: Path, issuer: PeopleIssuer, change: dict[str, str | None], words: str
) -> None:
    async with team_page(home, issuer) as doors:
        tab = Tab(doors, issuer)
        brought: dict[str, Any] = dict(
            pair.split("=", 1) for pair in (await tab.choose("ann")).split("&")
        )
        brought = {**brought, "iss": issuer.url, **change}
        query = urlencode({name: value for name, value in brought.items() if value is not None})
        refused = await tab.finish(query)
        assert refused.status == 403 and words in refused.json()["detail"], refused


async def test_whoever_is_not_admitted_is_told_so(home: Path, issuer: PeopleIssuer) -> None:
    async with team_page(home, issuer) as doors:
        eve = Tab(doors, issuer)
        refused = await eve.finish(await eve.choose("eve"))
        assert refused.status == 403
        assert "eve@example.com is not admitted" in refused.json()["detail"]


async def test_a_key_ends_with_its_token_and_is_renewed(home: Path, issuer: PeopleIssuer) -> None:
    issuer.life = -58  # within the minute that clocks may differ
    async with team_page(home, issuer) as doors:
        ann = Tab(doors, issuer)
        await ann.log_in("ann")
        answer = await ann.order("GET", "/api/v1/my/self")
        async with asyncio.timeout(60):
            while answer.status == 200:
                answer = await ann.order("GET", "/api/v1/my/self")
        assert answer.status == 401 and "your login has ended" in answer.json()["detail"]
        assert "resource_metadata" in answer.headers["www-authenticate"]
        issuer.life = 600
        before = ann.renewal
        ann._take(await ann.renew())
        assert (await ann.order("GET", "/api/v1/my/self")).status == 200
        ann.renewal = before
        refused = await ann.renew()  # the issuer takes it once
        assert refused.status == 403 and "log in again" in refused.json()["detail"]


async def test_a_removed_member_loses_the_page_at_once_and_what_it_listens_to(
    home: Path, issuer: PeopleIssuer
) -> None:
    async with team_page(home, issuer) as doors:
        kim = Tab(doors, issuer)
        await kim.log_in("kim")
        await make_keeper(doors, "kim")
        head = {"Authorization": f"Bearer {kim.key}"}
        async with doors.connected() as raw:
            await raw.send(doors.request("GET", "/api/v1/events", headers=head))
            assert (await raw.head())[0] == 200
            removed = await send(doors, "DELETE", f"/api/v1/members/{quote('kim@example.com')}")
            assert removed.status == 200
            await raw.rest()  # it ends
        answer = await kim.order("GET", "/api/v1/my/self")
        assert answer.status == 401 and "let in no longer" in answer.json()["detail"]
        assert (await kim.renew()).status == 403


async def test_whoever_is_no_keeper_any_more_hears_nothing_more(
    home: Path, issuer: PeopleIssuer
) -> None:
    async with team_page(home, issuer) as doors:
        kim = Tab(doors, issuer)
        await kim.log_in("kim")
        await make_keeper(doors, "kim")
        head = {"Authorization": f"Bearer {kim.key}"}
        async with doors.connected() as raw:
            await raw.send(doors.request("GET", "/api/v1/events", headers=head))
            assert (await raw.head())[0] == 200
            await change_member(doors, "kim@example.com", role="member")
            await raw.rest()
        assert (await kim.order("GET", "/api/v1/status")).status == 403
        assert (await kim.order("GET", "/api/v1/my/self")).status == 200


async def test_a_key_of_one_replica_is_good_at_the_others_and_of_another_hub_nowhere(
    home: Path, issuer: PeopleIssuer, tmp_path: Path
) -> None:
    for name in ("two", "three"):
        (tmp_path / name).mkdir()
    shared = {"key": (KEY,), "public": "https://yard.example.com"}
    async with team_page(home, issuer, **shared) as one:
        issuer.hub = "https://yard.example.com/mcp"
        ann = Tab(one, issuer)
        query = await ann.choose("ann")
        async with team_page(tmp_path / "three", issuer, public=shared["public"]) as three:
            ann.doors = three
            assert "another tab" in (await ann.finish(query)).json()["detail"]
        async with team_page(tmp_path / "two", issuer, **shared) as two:
            issuer.hub = "https://yard.example.com/mcp"
            ann.doors = two
            ann._take(await ann.finish(query))
            for doors in (two, one):  # the first has not heard of her yet
                ann.doors = doors
                assert (await ann.order("GET", "/api/v1/my/self")).status == 200
            ann._take(await ann.renew())


async def test_without_registration_the_page_has_a_client_of_its_own(
    home: Path, issuer: PeopleIssuer
) -> None:
    issuer.registers = False
    async with team_page(home, issuer) as doors:
        refused = await Tab(doors, issuer).post("/ui/login/begin", "x" * 40)
        assert refused.status == 501 and "TOOLYARD_PAGE_CLIENT" in refused.json()["detail"]


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
async def test_a_configured_client_proves_itself_as_the_issuer_takes_it(
    home: Path, issuer: PeopleIssuer, method: str
) -> None:
    issuer.registers, issuer.methods = False, [method]
    told = {"page_client": "the-page"}
    if method != "none":
        told["page_client_secret"] = "not-a-real-secret"
    async with team_page(home, issuer, **told) as doors:
        issuer.clients[told["page_client"]] = {
            "client_id": told["page_client"],
            "client_secret": told.get("page_client_secret"),
            "token_endpoint_auth_method": method,
            "redirect_uris": [f"http://{doors.host}/ui/login"],
        }
        ann = Tab(doors, issuer)
        await ann.log_in("ann")
        assert (await ann.order("GET", "/api/v1/my/self")).status == 200


async def test_an_issuer_that_is_away_is_said_to_be(home: Path, issuer: PeopleIssuer) -> None:
    async with team_page(home, issuer) as doors:
        ann = Tab(doors, issuer)
        query = await ann.choose("ann")
        issuer.failing = True
        refused = await ann.finish(query)
        assert refused.status == 503 and "does not answer" in refused.json()["detail"]


async def test_a_forged_key_opens_nothing(home: Path, issuer: PeopleIssuer) -> None:
    async with team_page(home, issuer) as doors:
        ann = Tab(doors, issuer)
        await ann.log_in("ann")
        key = ann.key
        for forged in ("typ_", "typ_x", key[:-1], key + "A", f"typ_{ann.renewal}", "typ_\xff"):
            ann.key = forged
            assert (await ann.order("GET", "/api/v1/my/self")).status == 401, forged


async def test_without_an_issuer_there_is_no_login(home: Path) -> None:
    async with open_yard(home) as doors:
        answer = await doors.ask("POST", "/ui/login/begin", b"", leave_out=("Authorization",))
        assert answer.status == 405
        told = await doors.ask("GET", "/ui/client.json", leave_out=("Authorization",))
        assert b"<!doctype html>" in told.body.lower()[:20]


async def test_the_page_describes_itself_to_issuers_that_look(
    home: Path, issuer: PeopleIssuer
) -> None:
    async with team_page(home, issuer, public="https://yard.example.com") as doors:
        answer = await doors.ask("GET", "/ui/client.json", leave_out=("Authorization",))
        told = json.loads(answer.body)
        assert told["client_id"] == "https://yard.example.com/ui/client.json"
        assert told["redirect_uris"] == ["https://yard.example.com/ui/login"]
        assert told["token_endpoint_auth_method"] == "none"
