"""Real clients of others log in, with the hub and with `oidc-provider`; run by `make test-clients`.

Each has a home of its own and no account. Ann opens what it prints.
"""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import pytest_asyncio

from tests.control.company import open_yard
from tests.doors.doors import Doors
from tests.e2e.talk import PLAIN
from tests.features.authorization.people import Browser, make_member, open_own, words_in
from tests.features.clients.real import BOX, PROGRAMS, Real, is_reached, line_of
from tests.features.members.test_oidc_provider import agree
from tests.features.members.test_sdk_login import put_echoes
from tests.fixtures.issuers.running import running_issuer
from toolyard.core.model import Url

PATIENCE = 120
LOGIN = {
    "claude-code": ("mcp", "login", "hub", "--no-browser"),
    "codex": ("mcp", "login", "hub"),
    "opencode": ("mcp", "auth", "hub"),
}


@dataclass(frozen=True)
class Login:
    """A hub, the address of the page on which people log in, and Ann at that page."""

    hub: Doors
    page: str
    agree: Callable[[str], Awaitable[str]]


@asynccontextmanager
async def with_itself(home: Path) -> AsyncIterator[Login]:
    """A hub that cannot reach the documents of these clients: there is no network."""
    async with open_own(home, client_documents="off") as hub:
        await make_member(hub)
        browser = Browser(hub)
        yield Login(
            hub,
            f"http://{hub.host}/authorize?",
            lambda wish: browser.agree(wish, "ann@example.com"),
        )


@asynccontextmanager
async def with_provider(home: Path) -> AsyncIterator[Login]:
    """A hub that trusts `oidc-provider`."""
    with running_issuer("oidc_people") as provider:
        async with open_yard(home, issuer=provider.url, scopes=("mcp",)) as hub:
            await put_echoes(hub)
            yield Login(
                hub,
                f"{provider.url}/auth?",
                lambda wish: agree(wish, words_in(wish)["redirect_uri"]),
            )


@pytest_asyncio.fixture(params=[with_itself, with_provider])
async def login(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Login]:
    async with request.param(home) as login:
        yield login


@pytest.fixture(params=LOGIN)
def client(request: pytest.FixtureRequest, home: Path, login: Login) -> Real:
    """A client that knows the hub's address and nothing else."""
    name: str = request.param
    program = BOX / name / "node_modules" / PROGRAMS[name]
    if not program.exists():
        pytest.skip(f"{name} is not installed; run: make test-clients")
    (home / "folder").mkdir()
    client = Real(name, home, program)
    client.give("hub", Url(f"http://{login.hub.host}/mcp"))
    return client


async def read_wish(stream: asyncio.StreamReader, place: str) -> str:
    """The address to which a client sends its person, as soon as it has printed it."""
    said = b""
    while (found := re.search(rb"%b[!-~]+(?=\s)" % re.escape(place.encode()), said)) is None:
        more = await stream.read(65536)
        assert more, said.decode()
        said += more
    return found[0].decode()


async def log_in(login: Login, client: Real) -> None:
    """Have a client log in, and Ann agree."""
    words = (str(client.program), *LOGIN[client.name])
    folder = client.home / "folder"
    ours, theirs = os.openpty()  # where they read; some log in nowhere but in a terminal
    process = await asyncio.create_subprocess_exec(
        *words, cwd=folder, env=client.env, stdin=theirs, stdout=PIPE, stderr=STDOUT
    )
    os.close(theirs)
    assert process.stdout is not None
    try:
        wish = await read_wish(process.stdout, login.page)
        assert words_in(wish)["resource"] == f"http://{login.hub.host}/mcp"
        back = await login.agree(wish)
        assert urlsplit(back).hostname in ("127.0.0.1", "localhost")
        async with httpx2.AsyncClient(timeout=PATIENCE, **PLAIN) as http:
            assert (await http.get(back)).status_code < 400
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
    finally:
        if process.returncode is None:
            process.kill()
        os.close(ours)


@pytest.mark.timeout(400)
async def test_a_real_client_logs_in(login: Login, client: Real) -> None:
    async with asyncio.timeout(PATIENCE):
        await log_in(login, client)
    said = line_of(await asyncio.to_thread(client.run, "mcp", "list"), "hub")
    # Codex says how it would log in, and connects only when a model works.
    assert "OAuth" in said if client.name == "codex" else is_reached(said), said
