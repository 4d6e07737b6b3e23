"""The address a hub listens on: it answers there, and says what is wrong with it."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.doors.doors import Doors, Raw, open_doors
from toolyard.doors.http.server import bind

SECOND = "127.0.0.2"
"""An address of this machine that is not among the names that are always taken."""


async def ask(doors: Doors, at: str, host: str, **headers: str) -> int:
    """The status that a request at an address is answered with."""
    raw = Raw(*await asyncio.open_connection(at, doors.port))
    named = {"Host": f"{host}:{doors.port}", **headers}
    try:
        await raw.send(doors.request("GET", "/api/v1/status", headers=named))
        return (await raw.answer()).status
    finally:
        await raw.close()


async def test_a_hub_answers_at_the_address_it_listens_on(home: Path) -> None:
    async with open_doors(home, host=SECOND) as doors:
        assert await ask(doors, SECOND, SECOND) == 200
        ours, other = (f"http://{each}:{doors.port}" for each in (SECOND, "127.0.0.3"))
        assert await ask(doors, SECOND, SECOND, Origin=ours) == 200
        assert await ask(doors, SECOND, SECOND, Origin=other) == 403
        for foreign in ("evil.example", "127.0.0.3", f"{SECOND}.evil.example"):
            assert await ask(doors, SECOND, foreign) == 421, foreign


async def test_a_hub_on_all_addresses_answers_at_each_by_its_own(home: Path) -> None:
    async with open_doors(home, host="0.0.0.0") as doors:
        for name in (SECOND, "127.0.0.1", "localhost"):
            assert await ask(doors, SECOND, name) == 200, name
        for foreign in ("0.0.0.0", "127.0.0.3", "evil.example"):
            assert await ask(doors, SECOND, foreign) == 421, foreign


async def test_the_printed_link_of_a_hub_on_all_addresses_leads_to_it(home: Path) -> None:
    async with open_doors(home, host="0.0.0.0") as doors:
        empty = {"Content-Length": "0"}
        link = urlsplit((await doors.ask("POST", "/api/v1/link", headers=empty)).json()["link"])
        assert link.hostname and link.hostname != "0.0.0.0"
        raw = Raw(*await asyncio.open_connection(link.hostname, doors.port))
        await raw.send(doors.request("GET", f"/open?{link.query}", headers={"Host": link.netloc}))
        assert (await raw.answer()).status == 200
        await raw.close()


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6 here")
async def test_a_hub_on_all_addresses_of_both_kinds_answers_at_each(home: Path) -> None:
    async with open_doors(home, host="::") as doors:
        assert await ask(doors, "::1", "[::1]") == 200
        assert await ask(doors, SECOND, SECOND) == 200
        assert await ask(doors, SECOND, "127.0.0.3") == 421


@pytest.mark.parametrize(
    ("host", "codes"), [("127.0.0.1", []), (SECOND, []), ("0.0.0.0", ["clear-text"])]
)
async def test_an_address_that_others_reach_is_a_problem(
    home: Path, host: str, codes: list[str]
) -> None:
    async with open_doors(home, host=host) as doors:
        raw = Raw(*await asyncio.open_connection(host, doors.port))
        named = {"Host": f"localhost:{doors.port}"}
        await raw.send(doors.request("GET", "/api/v1/problems", headers=named))
        problems = (await raw.answer()).json()["problems"]
        await raw.close()
        assert [problem["code"] for problem in problems] == codes
        assert all("unencrypted" in problem["text"] for problem in problems)


async def test_a_hub_that_took_another_port_says_so(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as squatter:
        wanted = squatter.getsockname()[1]
        async with open_doors(home, port=wanted, port_fixed=False) as doors:
            assert doors.port != wanted
            (problem,) = await doors.problems()
            assert problem["code"] == "port-moved"
            assert str(wanted) in problem["text"] and str(doors.port) in problem["text"]
            assert "toolyard restart" in problem["hint"]


def test_a_port_belongs_to_one_hub_also_while_it_starts() -> None:
    with bind("127.0.0.1", 0) as sock, pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", sock.getsockname()[1])
