"""Members enter a server with the word of `oidc-provider`, which we did not write.

It has neither grant by itself: the fixture registers them. Logins, clients, the checks of its own
identity tokens, errors and access tokens are the provider's.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.control.company import put_profile, send
from tests.doors.doors import Doors, Json, open_doors
from tests.features.auth.test_member_logins import KEY, ask_modern, text_of
from tests.features.members.team import MemberClient, admit
from tests.features.members.test_oidc_provider import agree
from tests.fixtures.issuers.running import ForeignServer, running_issuer
from tests.fixtures.vouching_issuer import CLIENT, EXCHANGE, ID_JAG, SECRET

pytestmark = pytest.mark.timeout(600)  # the first time, the packages are fetched


@pytest.fixture
def company() -> Iterator[ForeignServer]:
    with running_issuer("oidc_vouching") as running:
        yield running


class Team:
    """A hub whose issuer is the company's provider."""

    def __init__(self, doors: Doors, company: ForeignServer) -> None:
        self.doors, self.company = doors, company
        self._tokens: dict[str, str] = {}

    async def log_in(self, name: str) -> None:
        """Log in on the page, and make a token for a client there."""
        self.company.turn("person", name)
        tie = secrets.token_urlsafe(32)
        begun = (await self._knock("/ui/login/begin", tie))["url"]
        query = urlsplit(await agree(begun, f"http://{self.doors.host}/ui/login?")).query
        key = (await self._knock(f"/ui/login/finish?{query}", tie))["key"]
        order, head = {"name": f"of-{name}"}, f"Bearer {key}"
        made = await send(self.doors, "POST", "/api/v1/my/tokens", order, Authorization=head)
        assert made.status in (200, 201), made
        self._tokens[name] = made.json()["token"]

    async def _knock(self, path: str, secret: str) -> Json:
        answer = await self.doors.ask("POST", path, b"", {"Authorization": f"Bearer {secret}"})
        assert answer.status == 200, answer
        told: Json = answer.json()
        return told

    async def ask(self, name: str) -> str:
        """Have a member call the server's tool; what it says."""
        person = MemberClient(self.doors, token=self._tokens[name])
        return text_of(await ask_modern(person, "remote__whoami"))


@asynccontextmanager
async def open_team(home: Path, company: ForeignServer, auth: Json) -> AsyncIterator[Team]:
    server = {"url": company.told()["resource"], "auth": auth}
    opening = open_doors(home, {"remote": server}, issuer=company.url, key=KEY, scopes=("mcp",))
    async with opening as doors:
        await put_profile(doors, "all", allow=["remote"])
        await admit(doors, "developers", "all")
        team = Team(doors, company)
        for name in ("ann", "bob"):
            await team.log_in(name)

        async def is_listed() -> bool:
            return "remote__whoami" in await doors.tools()

        await doors.until(is_listed)
        yield team


async def test_the_company_vouches_for_members_at_a_server_elsewhere(
    home: Path, company: ForeignServer, no_keyring: None
) -> None:
    client = {"grant": "identity", "client_id": CLIENT, "client_secret": SECRET}
    auth = {**client, "issuer": company.told()["remote"]}
    async with open_team(home, company, auth) as team:
        assert [await team.ask(name) for name in ("ann", "bob", "ann")] == ["ann", "bob", "ann"]
        told = company.told()
        assert {asked["requested_token_type"] for asked in told["exchanges"]} == {ID_JAG}
        assert all(EXCHANGE in grants for grants in told["registered"])
        company.turn("forget", "tokens")
        assert await team.ask("bob") == "bob"
        assert company.told()["assertions"] == told["assertions"] + 1


async def test_the_company_gives_tokens_of_a_server_itself(
    home: Path, company: ForeignServer, no_keyring: None
) -> None:
    company.turn("listed", "company")
    async with open_team(home, company, {"grant": "exchange"}) as team:
        assert [await team.ask(name) for name in ("ann", "bob")] == ["ann", "bob"]
        asked = company.told()["exchanges"][-1]
        assert asked["resource"] == company.told()["resource"]
        assert asked["subject_token_type"].endswith(":access_token")
