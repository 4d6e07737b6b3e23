"""A hub that people log in with, a person with a browser, and a client that sends them there."""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.control.company import Agent, open_yard, put_profile, send
from tests.doors.doors import Answer, Doors, Json
from tests.features.members.team import admit

PASSWORD = "correct horse battery"
BACK = "http://127.0.0.1:9/back"
FORM = "application/x-www-form-urlencoded"


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@asynccontextmanager
async def open_own(home: Path, **changes: Any) -> AsyncIterator[Doors]:
    """A hub that people log in with; developers are admitted to `echoes`, reviewers to `two`."""
    port = free_port()
    settings = {"public": f"http://127.0.0.1:{port}", "port": port, "issuer": "own", **changes}
    async with open_yard(home, **settings) as doors:
        await put_profile(doors, "echoes", allow=["*/echo"])
        await put_profile(doors, "two", allow=["two"])
        await admit(doors, "developers", "echoes")
        await admit(doors, "reviewers", "two")
        yield doors


async def invite(doors: Doors, email: str, **order: Any) -> str:
    """Invite somebody; the code in their link."""
    answer = await send(doors, "POST", "/api/v1/invitations", {"email": email, **order})
    assert answer.status == 200, answer
    return code_in(answer.json()["link"])


def code_in(link: str) -> str:
    """The code in a link."""
    return parse_qs(urlsplit(link).query)["code"][0]


class _Forms(HTMLParser):
    """The first form of a page: where it leads, and what it carries."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "form":
            self.action = named["action"] or ""
        elif tag == "input":
            self.fields[named["name"] or ""] = named.get("value") or ""


class Browser:
    """A browser without cookies or scripts, at one hub."""

    def __init__(self, doors: Doors) -> None:
        self.doors = doors
        self.origin = f"http://{doors.host}"

    async def get(self, address: str) -> Answer:
        """Open a page."""
        parts = urlsplit(address)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        return await self.doors.ask("GET", target, leave_out=("Authorization",))

    async def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """Send a form as a page of the hub does."""
        head = {"Content-Type": FORM, "Origin": self.origin, **headers}
        body = urlencode(fields).encode()
        return await self.doors.ask("POST", path, body, head, leave_out=("Authorization",))

    async def submit(self, page: Answer, **fields: str) -> Answer:
        """Fill in the form of a page, and send it."""
        form = form_of(page)
        return await self.post(form.action, {**form.fields, **fields})

    async def join(self, code: str, password: str = PASSWORD) -> None:
        """Accept an invitation."""
        page = await self.get(f"/invitation?code={code}")
        assert page.status == 200, page
        done = await self.submit(page, password=password, again=password)
        assert done.status == 200 and b"The password is set" in done.body, done

    async def log_in(self, address: str, email: str, password: str = PASSWORD) -> Answer:
        """Go where a client sends, and log in; the page that asks for consent."""
        page = await self.get(address)
        assert page.status == 200, page
        return await self.submit(page, email=email, password=password)

    async def agree(self, address: str, email: str, password: str = PASSWORD) -> str:
        """Log in and agree; the address the browser is sent to."""
        consent = await self.log_in(address, email, password)
        assert consent.status == 200, consent
        sent = await self.submit(consent, decision="allow")
        assert sent.status == 303, sent
        return sent.headers["location"]


def form_of(page: Answer) -> _Forms:
    """The form of a page."""
    forms = _Forms()
    forms.feed(page.body.decode())
    return forms


def words_in(address: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


class App:
    """An OAuth client that is registered at the hub."""

    def __init__(self, doors: Doors, client_id: str, redirect: str = BACK) -> None:
        self.doors, self.id, self.redirect = doors, client_id, redirect
        self.verifier = secrets.token_urlsafe(48)
        self.state = secrets.token_urlsafe(8)

    def wish(self, **changes: Any) -> str:
        """The address to which it sends its person."""
        raw = hashlib.sha256(self.verifier.encode()).digest()
        words = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.redirect,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(raw).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": f"http://{self.doors.host}/mcp",
            **changes,
        }
        told = {name: word for name, word in words.items() if word is not None}
        return f"/authorize?{urlencode(told, doseq=True)}"

    async def ask(self, path: str, **fields: Any) -> Answer:
        """Ask at an endpoint for clients."""
        body = urlencode({n: w for n, w in fields.items() if w is not None}).encode()
        head = {"Content-Type": FORM}
        return await self.doors.ask("POST", path, body, head, leave_out=("Authorization",))

    async def redeem(self, address: str, **changes: Any) -> Answer:
        """Fetch tokens for the code in an address."""
        words = {
            "grant_type": "authorization_code",
            "code": words_in(address)["code"],
            "client_id": self.id,
            "redirect_uri": self.redirect,
            "code_verifier": self.verifier,
        }
        return await self.ask("/token", **{**words, **changes})

    async def refresh(self, token: str, **changes: Any) -> Answer:
        """Fetch the next tokens."""
        words = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.id}
        return await self.ask("/token", **{**words, **changes})


async def register(doors: Doors, **changes: Any) -> Answer:
    """Register a client."""
    body = {"client_name": "An app", "redirect_uris": [BACK], **changes}
    return await send(doors, "POST", "/register", body, Authorization="")


async def make_app(doors: Doors, redirect: str = BACK, **changes: Any) -> App:
    """A registered client."""
    answer = await register(doors, redirect_uris=[redirect], **changes)
    assert answer.status == 201, answer
    return App(doors, answer.json()["client_id"], redirect)


async def make_member(doors: Doors, email: str = "ann@example.com", **order: Any) -> Browser:
    """Somebody who was invited and has set a password."""
    browser = Browser(doors)
    await browser.join(await invite(doors, email, **{"groups": ["developers"], **order}))
    return browser


async def log_in(doors: Doors, app: App, email: str = "ann@example.com", **wish: Any) -> Json:
    """Let a client log somebody in; its tokens."""
    address = await Browser(doors).agree(app.wish(**wish), email)
    answer = await app.redeem(address)
    assert answer.status == 200, answer
    tokens: Json = answer.json()
    return tokens


def bearer(doors: Doors, token: str, path: str = "/mcp") -> Agent:
    """A client of MCP with a token."""
    return Agent(doors, path, token)
