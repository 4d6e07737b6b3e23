"""Real npm and uv: the second start needs no network and no process but the server's own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.features.packages.shop import Shop, processes
from tests.features.packages.test_packages import Bench, living
from toolyard.core.model import NO_OFFERS, Command
from toolyard.links.link import Link
from toolyard.links.listing import list_offers
from toolyard.links.opening import Connect, Opener, Opening
from toolyard.links.patience import Patience

pytestmark = [pytest.mark.executors, pytest.mark.timeout(240)]

COLD = Patience(open=120.0)
SERVERS = {
    "npx": (("npx", "-y", "mcp-hello-world"), 3),
    "npx of a version": (("npx", "-p", "mcp-hello-world@1.1.2", "-y", "mcp-hello-world"), 3),
    "pipx": (("pipx", "run", "mcp-server-calculator"), 1),
    "uvx": (("uvx", "mcp-server-calculator"), 2),
    "uvx of a version": (
        (
            "uvx",
            "--with",
            "mcp<2",
            "--from",
            "mcp-server-calculator<0.2.1",
            "mcp-server-calculator",
        ),
        2,
    ),
}


@asynccontextmanager
async def started(bench: Bench, argv: tuple[str, ...], *wrap: str) -> AsyncIterator[Link]:
    """A start of a real server, within another program that becomes it."""
    connect = Connect(lambda _name: bench.local, COLD, 1 << 20)

    def within(opening: Opening) -> AbstractAsyncContextManager[Link]:
        assert isinstance(opening.endpoint, Command)
        command = replace(opening.endpoint, argv=(*wrap, *opening.endpoint.argv))
        return connect(replace(opening, endpoint=command))

    opener = Opener([bench.packages.prefer_installed], within)
    async with opener(bench.server(argv), None) as link:
        yield link


def _need(launcher: str) -> None:
    if shutil.which(launcher) is None:
        pytest.skip(f"{launcher} is not installed")
    if subprocess.run(("unshare", "-n", "true"), capture_output=True, check=False).returncode:
        pytest.skip("a process without a network cannot be made here")


@pytest.mark.parametrize("case", SERVERS)
async def test_the_second_start_needs_neither_network_nor_launcher(
    case: str, tmp_path: Path
) -> None:
    argv, before = SERVERS[case]
    _need(argv[0])
    async with living(Shop(tmp_path), tmp_path) as bench:
        async with started(bench, argv) as link:
            assert processes(link.pid) == before
            first = await list_offers(link, 30, NO_OFFERS)
            await bench.until(lambda: bench.packages.rows() or bench.codes, 120)
        assert bench.codes == []
        async with started(bench, argv, "unshare", "-n") as link:
            assert processes(link.pid) == 1
            assert "as installed" in link.where
            assert await list_offers(link, 30, NO_OFFERS) == first
