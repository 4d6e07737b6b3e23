"""A member's own machine: no hub runs there, and its commands are processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from tests.cli.conftest import Done
from tests.doors.doors import Doors
from tests.e2e.hub import environment, toolyard
from tests.features.authorization.people import Browser
from toolyard.features.auth.store import Grants, open_hub_grants
from toolyard.settings import read_settings

PATIENCE = 120.0
ANN = "ann@example.com"


class Laptop:
    """The machine of somebody who uses a hub that runs elsewhere."""

    def __init__(self, home: Path, hub: str) -> None:
        self.home, self.hub = home, hub
        home.mkdir(parents=True)

    @property
    def env(self) -> dict[str, str]:
        """The environment of its programs; there is neither a keyring nor a browser."""
        backend = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        return {**environment(self.home), **backend}

    @property
    def grants(self) -> Grants:
        """The logins that it keeps."""
        return open_hub_grants(read_settings({}, self.env))

    async def start(self, *words: str) -> Process:
        """Start a command."""
        return await asyncio.create_subprocess_exec(
            *toolyard(*words), env=self.env, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=1 << 22
        )

    async def run(self, *words: str) -> Done:
        """Run a command to its end."""
        return await end(await self.start(*words))

    async def begin_login(self, *words: str) -> tuple[Process, str]:
        """Start a login; its process, and the page that the person is to open."""
        process = await self.start("login", *(words or (self.hub,)), "--no-browser", "--json")
        return process, await page_of(process)

    async def log_in(self, doors: Doors, email: str = ANN) -> Done:
        """Log in with the hub itself, as somebody with a browser does."""
        process, page = await self.begin_login()
        await come_back(await Browser(doors).agree(page, email))
        return await end(process)


async def end(process: Process) -> Done:
    """Wait for the end of a command; how it ended and what it said."""
    async with asyncio.timeout(PATIENCE):
        out, errors = await process.communicate()
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), errors.decode())


async def page_of(process: Process) -> str:
    """The page that a login asks its person to open."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        while line := (await process.stderr.readline()).decode():
            if match := re.fullmatch(r"\s*(https?://\S+)\s*", line):
                return match[1]
    raise AssertionError(await end(process))


async def come_back(address: str) -> str:
    """Go where the issuer sends the browser: to the login that waits; the page it shows."""
    rest = address.partition("://")[2]
    host, _, target = rest.partition("/")
    name, _, port = host.partition(":")
    reader, writer = await asyncio.open_connection(name, int(port))
    writer.write(f"GET /{target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE):
        page = await reader.read()
    writer.close()
    return page.decode()


def told(done: Done) -> dict[str, object]:
    """The answer of a command that worked."""
    assert done.code == 0, done
    answer: dict[str, object] = json.loads(done.out)
    return answer


def modes(folder: Path) -> set[str]:
    """The modes of all files in a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {oct(os.stat(path).st_mode & 0o777) for path in files}
