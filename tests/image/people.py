"""Five people who were invited: each opens their link, and lets a client in; run where the hub is.

    python -m tests.image.people HUB CA join < links.json     each sets a password and uses the hub
    python -m tests.image.people HUB CA browse EMAIL ADDRESS  the browser of one of them
    python -m tests.image.people HUB CA knock TOKEN           the status that a token gets

HUB is its address, CA the certificate that browsers and clients trust; the links are those of the
invitations, by email. `join` prints what each of them sees, gets and comes in with, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Callable, Coroutine
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.features.authorization.people import BACK, words_in
from tests.features.members.test_sdk_login import Memory

PASSWORD = "correct horse battery"
PATIENCE = 60.0
NOW = {"timezone": "Europe/Berlin"}


class Form(HTMLParser):
    """The first form of a page: where it leads, and what it carries."""

    def __init__(self, page: httpx2.Response) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page.text)
        assert self.action, page.text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "form":
            self.action = named["action"] or ""
        elif tag == "input":
            self.fields[named["name"] or ""] = named.get("value") or ""


class Person:
    """Somebody in front of a browser."""

    def __init__(self, hub: str, ca: str, email: str) -> None:
        self.hub, self.email = hub, email
        self.trust = ssl.create_default_context(cafile=ca)

    def http(self, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
        """Make something that fetches pages."""
        return httpx2.AsyncClient(auth=auth, verify=self.trust, timeout=PATIENCE, trust_env=False)

    async def join(self, link: str) -> None:
        """Open an invitation, and set the password."""
        async with self.http() as http:
            page = await http.get(link)
            done = await self._submit(http, page, password=PASSWORD, again=PASSWORD)
            assert "The password is set" in done.text, done.text

    async def agree(self, address: str) -> str:
        """Log in where a client sends its person, and agree; return where that leads."""
        async with self.http() as http:
            page = await http.get(address)
            consent = await self._submit(http, page, email=self.email, password=PASSWORD)
            assert "get_current_time" in consent.text, consent.text
            sent = await self._submit(http, consent, decision="allow")
            assert sent.status_code == 303, sent.text
            return sent.headers["location"]

    async def _submit(
        self, http: httpx2.AsyncClient, page: httpx2.Response, **fields: str
    ) -> httpx2.Response:
        assert page.status_code == 200, page.text
        form = Form(page)
        head = {"Origin": self.hub}
        return await http.post(
            urljoin(str(page.url), form.action), data={**form.fields, **fields}, headers=head
        )

    async def use(self) -> dict[str, object]:
        """Let a client in that knows nothing but the address; tell what it sees and gets."""
        sent_back: dict[str, str] = {}

        async def browse(address: str) -> None:
            sent_back.update(words_in(await self.agree(address)))

        async def come_back() -> AuthorizationCodeResult:
            return AuthorizationCodeResult(**sent_back)

        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(BACK)],
            client_name="sdk",
            application_type="native",
            token_endpoint_auth_method="none",
        )
        url = f"{self.hub}/mcp"
        memory = Memory()
        login = OAuthClientProvider(url, metadata, memory, browse, come_back)
        async with self.http(auth=login) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                told = str(await client.call_tool("time__get_current_time", NOW))
        return {"tools": names, "result": told, "token": memory.tokens.access_token}


async def join(hub: str, ca: str) -> None:
    """Have everybody accept their invitation, and use the hub."""
    told = {}
    for email, link in json.load(sys.stdin).items():
        person = Person(hub, ca, email)
        await person.join(link)
        told[email] = await person.use()
    print(json.dumps(told))


async def browse(hub: str, ca: str, email: str, address: str) -> None:
    """Open an address as somebody's browser would, and go where it leads."""
    person = Person(hub, ca, email)
    back = await person.agree(address)
    async with person.http() as http:
        answer = await http.get(back)
        assert answer.status_code < 400, answer.text


async def knock(hub: str, ca: str, token: str) -> None:
    """Print the status that a token gets at the door: 400 without a session, if it is let in."""
    async with Person(hub, ca, "").http() as http:
        answer = await http.get(f"{hub}/mcp", headers={"Authorization": f"Bearer {token}"})
        print(answer.status_code)


ACTIONS: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "join": join,
    "browse": browse,
    "knock": knock,
}

if __name__ == "__main__":
    address, certificate, action, *more = sys.argv[1:]
    asyncio.run(ACTIONS[action](address, certificate, *more))
