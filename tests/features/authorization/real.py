"""Real clients of others log in, with the hub and with `oidc-provider`; run by `make test-clients`.

Each has a home of its own and no account. Ann opens what it prints.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import re
import struct
import termios
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
    return knowing(login, Real(name, home, program))


def knowing(login: Login, client: Real) -> Real:
    """A client that has the hub's address in its file."""
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


# Gemini CLI logs in nowhere but in its terminal.

ROWS, COLUMNS = 50, 4000
"""So wide that no address is wrapped."""
_CONTROL = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_=>])")


class Terminal:
    """The terminal of a program: what it shows is read, and keys are pressed."""

    def __init__(self, keys: int) -> None:
        self._keys = keys
        self._news = asyncio.Event()
        self._shown = b""
        asyncio.get_running_loop().add_reader(keys, self._read)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the program has ended
            self._shown += os.read(self._keys, 65536)
        self._news.set()

    def press(self, keys: str) -> None:
        """Press keys; what was shown before counts no more."""
        self._shown = b""
        os.write(self._keys, keys.encode())

    async def shows(self, pattern: str) -> str:
        """Wait until it shows something; return it."""
        while (shown := re.search(pattern, self.text)) is None:
            self._news.clear()
            await self._news.wait()
        return shown[0]

    @property
    def text(self) -> str:
        """What was shown since the last key, without colours and moves of the cursor."""
        return _CONTROL.sub(b"", self._shown).decode(errors="replace")


@asynccontextmanager
async def in_a_terminal(client: Real) -> AsyncIterator[Terminal]:
    """A client that runs in a terminal of its own."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {**client.env, "TERM": "xterm", "NO_BROWSER": "true", "GEMINI_API_KEY": "none"}
    process = await asyncio.create_subprocess_exec(
        str(client.program),
        cwd=client.home / "folder",
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(ours)
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        await process.wait()
        os.close(ours)


def without_questions(client: Real) -> None:
    """Have Gemini ask neither for an account nor for trust in the folder."""
    file = client.place.path
    settings = json.loads(file.read_text("utf-8"))
    settings["security"] = {
        "auth": {"selectedType": "gemini-api-key"},
        "folderTrust": {"enabled": False},
    }
    file.write_text(json.dumps(settings), "utf-8")


@pytest.mark.timeout(400)
async def test_gemini_logs_in_where_a_person_types(login: Login, home: Path) -> None:
    program = BOX / "gemini" / "node_modules" / PROGRAMS["gemini"]
    if not program.exists():
        pytest.skip("gemini is not installed; run: make test-clients")
    (home / "folder").mkdir()
    client = knowing(login, Real("gemini", home, program))
    without_questions(client)
    async with asyncio.timeout(PATIENCE), in_a_terminal(client) as terminal:
        await terminal.shows("Type your message")
        terminal.press("/mcp auth hub")
        await terminal.shows("/mcp auth hub")
        terminal.press("\r")
        await terminal.shows("Do you want to continue")
        terminal.press("\r")
        wish = await terminal.shows(re.escape(login.page) + r"[!-~]+(?=\s)")
        assert words_in(wish)["resource"] == f"http://{login.hub.host}/mcp"
        back = await login.agree(wish)
        async with httpx2.AsyncClient(timeout=PATIENCE, **PLAIN) as http:
            assert (await http.get(back)).status_code < 400
        await terminal.shows("uccessfully")
    listed = await asyncio.to_thread(client.run, "mcp", "list")
    assert is_reached(line_of(listed, "hub: http")), listed
