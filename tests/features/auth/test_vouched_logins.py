"""Members enter servers with the word of the hub's issuer: ID-JAG, and token exchange."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.control.company import Agent, put_profile
from tests.doors.doors import Doors, Json, open_doors
from tests.features.auth.test_member_logins import KEY, ask_modern, text_of
from tests.features.members.team import admit
from tests.features.members.test_page_login import Tab
from tests.fixtures.issuer import issuing
from tests.fixtures.naming_issuer import NamingIssuer
from tests.fixtures.vouching_issuer import (
    CLIENT,
    ID_JAG,
    SECRET,
    AssertionServer,
    VouchingIssuer,
    taking_assertions,
    vouching,
)

PEOPLE = {"ann": ["developers"], "bob": ["developers"]}


@pytest.fixture
def issuer() -> Iterator[VouchingIssuer]:
    with vouching(PEOPLE) as running:
        yield running


@pytest.fixture
def remote() -> Iterator[NamingIssuer]:
    with issuing(NamingIssuer()) as running:
        assert isinstance(running, NamingIssuer)
        yield running


@pytest.fixture
def granting(issuer: VouchingIssuer, remote: NamingIssuer) -> Iterator[AssertionServer]:
    with taking_assertions(issuer, remote) as running:
        yield running


def by_identity(granting: AssertionServer, **changes: str) -> Json:
    client = {"grant": "identity", "client_id": CLIENT, "client_secret": SECRET}
    return {**client, "issuer": f"{granting.url}/", **changes}


class VouchedTeam:
    """A hub whose issuer vouches for members at a server."""

    def __init__(self, doors: Doors, issuer: VouchingIssuer) -> None:
        self.doors, self._issuer = doors, issuer

    async def log_in(self, name: str) -> None:
        """Log in on the page."""
        await Tab(self.doors, self._issuer).log_in(name)

    def person(self, name: str) -> Any:
        """Somebody with a client."""
        return Agent(self.doors, token=self._issuer.token_for(name))

    async def ask(self, name: str, more: Json | None = None) -> Json:
        """Have a member call the server's tool."""
        return await ask_modern(self.person(name), "remote__whoami", more)

    async def refusal(self, name: str) -> str:
        """Have a member call in vain; return what they are told."""
        answer = await self.ask(name)
        assert "error" in answer or answer["result"].get("isError"), answer
        return str(answer)


@asynccontextmanager
async def open_vouched(
    home: Path, issuer: VouchingIssuer, remote: NamingIssuer, auth: Json, *first: str
) -> AsyncIterator[VouchedTeam]:
    servers = {"remote": {"url": remote.mcp, "auth": auth}}
    async with open_doors(home, servers, issuer=issuer.url, key=KEY) as doors:
        issuer.hub = f"http://{doors.host}/mcp"
        await put_profile(doors, "all", allow=["remote"])
        await admit(doors, "developers", "all")
        team = VouchedTeam(doors, issuer)
        for name in first:
            await team.log_in(name)
        if first:

            async def is_listed() -> bool:
                return "remote__whoami" in await doors.tools()

            await doors.until(is_listed)
        yield team


async def test_each_member_enters_by_the_word_of_the_issuer(
    home: Path,
    issuer: VouchingIssuer,
    remote: NamingIssuer,
    granting: AssertionServer,
    no_keyring: None,
) -> None:
    auth = by_identity(granting)
    async with open_vouched(home, issuer, remote, auth, "ann", "bob") as team:
        for name in ("ann", "bob", "ann"):
            assert text_of(await team.ask(name)) == name
        asked = issuer.vouched[-1]
        assert asked["requested_token_type"] == ID_JAG
        assert (asked["audience"].rstrip("/"), asked["resource"]) == (granting.url, remote.mcp)
        assert asked["subject_token_type"].endswith(":id_token")
        # The server ends the token: another assertion is asked for, and nobody is.
        count = len(issuer.vouched)
        remote.revoke()
        assert text_of(await team.ask("bob")) == "bob"
        assert len(issuer.vouched) == count + 1 and not granting.refused
        kept = "".join(path.read_text("latin-1") for path in home.rglob("*") if path.is_file())
        assert asked["subject_token"] not in kept


async def test_a_member_without_a_login_is_asked_in_the_client(
    home: Path,
    issuer: VouchingIssuer,
    remote: NamingIssuer,
    granting: AssertionServer,
    no_keyring: None,
) -> None:
    async with open_vouched(home, issuer, remote, by_identity(granting), "ann") as team:
        asked = (await team.ask("bob"))["result"]
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        async with httpx2.AsyncClient(trust_env=False) as browser:
            led = await browser.post(question["params"]["url"])
        assert (led.status_code, led.headers["location"].endswith("/ui")) == (303, True)
        await team.log_in("bob")
        again = {"requestState": asked["requestState"]}
        again["inputResponses"] = {key: {"action": "accept"}}
        assert text_of(await team.ask("bob", again)) == "bob"


async def test_the_issuer_gives_the_token_itself(
    home: Path, issuer: VouchingIssuer, remote: NamingIssuer, no_keyring: None
) -> None:
    issuer.remote, remote.listed_as = remote, issuer.url
    auth = {"grant": "exchange", "audience": "remote-of-the-company"}
    async with open_vouched(home, issuer, remote, auth, "ann", "bob") as team:
        for name in ("ann", "bob"):
            assert text_of(await team.ask(name)) == name
        asked = issuer.vouched[-1]
        assert (asked["audience"], "resource" in asked) == ("remote-of-the-company", False)
        assert asked["subject_token_type"].endswith(":access_token")


@pytest.mark.parametrize(
    ("claims", "why"),
    [({"aud": "http://127.0.0.1:9"}, "aud"), ({"exp": 1}, "exp"), ({"client_id": "x"}, "client")],
)
async def test_an_assertion_that_is_not_good_lets_nobody_in(
    home: Path,
    issuer: VouchingIssuer,
    remote: NamingIssuer,
    granting: AssertionServer,
    no_keyring: None,
    claims: Json,
    why: str,
) -> None:
    async with open_vouched(home, issuer, remote, by_identity(granting), "ann") as team:
        assert text_of(await team.ask("ann")) == "ann"
        issuer.claims = claims
        remote.revoke()
        assert "is not entered" in await team.refusal("ann")
        assert {*granting.refused} == {why}


async def test_the_word_on_somebody_else_is_not_kept(
    home: Path,
    issuer: VouchingIssuer,
    remote: NamingIssuer,
    granting: AssertionServer,
    no_keyring: None,
) -> None:
    async with open_vouched(home, issuer, remote, by_identity(granting), "ann") as team:
        for wrong in ({"sub": "ann"}, {"aud": "another-client"}, {"exp": 1}):
            issuer.identity = wrong
            await team.log_in("bob")
            asked = (await team.ask("bob"))["result"]
            assert asked["resultType"] == "input_required"
        assert text_of(await team.ask("ann")) == "ann"


async def test_a_login_that_the_issuer_ended_is_asked_for_and_one_it_forbids_is_not(
    home: Path,
    issuer: VouchingIssuer,
    remote: NamingIssuer,
    granting: AssertionServer,
    no_keyring: None,
) -> None:
    async with open_vouched(home, issuer, remote, by_identity(granting), "ann") as team:
        assert text_of(await team.ask("ann")) == "ann"
        remote.revoke()
        issuer.refuses = "access_denied"
        assert "access_denied" in await team.refusal("ann")
        issuer.refuses = "invalid_grant"
        answer = await team.ask("ann")
        assert answer.get("result", {}).get("resultType") == "input_required", answer


async def test_nothing_is_sent_to_an_issuer_that_the_entry_does_not_name(
    home: Path,
    issuer: VouchingIssuer,
    remote: NamingIssuer,
    granting: AssertionServer,
    no_keyring: None,
) -> None:
    async with open_vouched(home, issuer, remote, by_identity(granting), "ann") as team:
        assert text_of(await team.ask("ann")) == "ann"
        count = len(issuer.vouched)
        remote.listed_as = ""  # the server says now that it issues its tokens itself
        remote.revoke()
        assert "issuer is a mismatch" in await team.refusal("ann")
        assert len(issuer.vouched) == count and granting.refused == []
