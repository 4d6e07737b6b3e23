"""A hub for a team: two servers, two profiles, and people who come in by their own name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.control.company import Agent, put_profile, send, servers
from tests.doors.doors import Doors, Json, open_doors
from tests.fixtures.signing_issuer import SigningIssuer


@asynccontextmanager
async def open_team(
    home: Path, issuer: SigningIssuer, entries: Json | None = None, **changes: Any
) -> AsyncIterator[Doors]:
    """A hub that admits developers to `echoes`, and reviewers to `two`."""
    async with open_doors(home, entries or servers(), issuer=issuer.url, **changes) as doors:
        await doors.settled()
        await put_profile(doors, "echoes", allow=["*/echo"])
        await put_profile(doors, "two", allow=["two"])
        await admit(doors, "developers", "echoes")
        await admit(doors, "reviewers", "two")
        yield doors


async def admit(doors: Doors, group: str, *profiles: str) -> None:
    """Admit a group."""
    order = {"profiles": list(profiles)}
    answer = await send(doors, "PUT", f"/api/v1/admissions/{group}", order)
    assert answer.status == 200, answer


class MemberClient(Agent):
    """A client of a member."""

    async def order(self, method: str, path: str, body: Any = None) -> Any:
        """Speak to the control door."""
        return await send(self.doors, method, path, body, **self.head)


class Person(MemberClient):
    """Somebody with a token of the issuer, made for this hub."""

    def __init__(
        self,
        doors: Doors,
        issuer: SigningIssuer,
        subject: str = "ann",
        path: str = "/mcp",
        **claims: Any,
    ) -> None:
        self.token = issuer.token(subject, **{"aud": f"http://{doors.host}/mcp", **claims})
        super().__init__(doors, path, self.token)


async def log_in_at_server(person: MemberClient, alias: str) -> None:
    """Have a member log in at a server, in a browser that shows who it is by the member's token."""
    begun = await person.order("POST", f"/api/v1/my/logins/{alias}/login")
    assert begun.status == 200, begun
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        page = await browser.post(begun.json()["url"], headers=person.head)
        assert page.status_code == 200, page.text
        done = await browser.post(page.url)
        assert done.status_code == 200, done.text


async def change_member(doors: Doors, name: str, **changes: Any) -> Json:
    """Change a member as the hub's owner."""
    answer = await send(doors, "PUT", f"/api/v1/members/{name}", changes)
    assert answer.status == 200, answer
    row: Json = answer.json()
    return row


async def members(doors: Doors) -> list[Json]:
    """All members, as the hub's owner sees them."""
    rows: list[Json] = (await doors.get("/api/v1/members"))["members"]
    return rows
