"""Real clients of others log in with the hub; run by `make test-clients`.

Each has a home of its own and no account. Ann opens what it prints.
"""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import pytest_asyncio

from tests.doors.doors import Doors
from tests.e2e.talk import PLAIN
from tests.features.authorization.people import Browser, make_member, open_own, words_in
from tests.features.clients.real import BOX, PROGRAMS, Real, is_reached, line_of
from toolyard.core.model import Url

PATIENCE = 120
LOGIN = {
    "claude-code": ("mcp", "login", "hub", "--no-browser"),
    "codex": ("mcp", "login", "hub"),
    "opencode": ("mcp", "auth", "hub"),
}


@pytest_asyncio.fixture
async def hub(home: Path) -> AsyncIterator[Doors]:
    """A hub that cannot reach the documents of these clients: there is no network."""
    async with open_own(home, client_documents="off") as doors:
        await make_member(doors)
        yield doors


@pytest.fixture(params=LOGIN)
def client(request: pytest.FixtureRequest, home: Path, hub: Doors) -> Real:
    """A client that knows the hub's address and nothing else."""
    name: str = request.param
    program = BOX / name / "node_modules" / PROGRAMS[name]
    if not program.exists():
        pytest.skip(f"{name} is not installed; run: make test-clients")
    (home / "folder").mkdir()
    client = Real(name, home, program)
    client.give("hub", Url(f"http://{hub.host}/mcp"))
    return client


async def read_wish(stream: asyncio.StreamReader, place: str) -> str:
    """The address to which a client sends its person, as soon as it has printed it."""
    said = b""
    while (found := re.search(rb"%b[!-~]+(?=\s)" % place.encode(), said)) is None:
        more = await stream.read(65536)
        assert more, said.decode()
        said += more
    return found[0].decode()


async def log_in(hub: Doors, client: Real) -> None:
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
        wish = await read_wish(process.stdout, f"http://{hub.host}/authorize?")
        assert words_in(wish)["resource"] == f"http://{hub.host}/mcp"
        back = await Browser(hub).agree(wish, "ann@example.com")
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
async def test_a_real_client_logs_in_with_the_hub(hub: Doors, client: Real) -> None:
    async with asyncio.timeout(PATIENCE):
        await log_in(hub, client)
    said = line_of(await asyncio.to_thread(client.run, "mcp", "list"), "hub")
    # Codex says how it would log in, and connects only when a model works.
    assert "OAuth" in said if client.name == "codex" else is_reached(said), said
