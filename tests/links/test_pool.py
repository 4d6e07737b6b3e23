"""The pool follows the picture: what did not change is left alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from tests.fixtures.stub_run import running_http_stub
from tests.links.company import (
    PATIENCE,
    SLOW,
    Landlord,
    call,
    declared,
    pooled,
    said,
    shown,
    stub,
    tools,
    until,
    url,
)
from toolyard.core.errors import LinkError, UnknownNameError
from toolyard.core.model import Command, Problem, Report, Server, ServerId, Status
from toolyard.core.problems import ProblemCode
from toolyard.executors.local import Local, LocalPatience
from toolyard.links import pool as pool_module
from toolyard.links.connecting import open_link
from toolyard.links.http import SessionLostError
from toolyard.links.keeper import OnInstalling, Open
from toolyard.links.link import Link
from toolyard.wire.era import Era

ACME, BOLT = ServerId("acme", "t"), ServerId("bolt", "t")


@pytest.fixture
async def really() -> AsyncIterator[Open]:
    """Opens links to real servers."""
    local = Local(patience=LocalPatience(eof=0.5, term=0.5))

    def opened(
        server: Server, hint: Era | None, _on_installing: OnInstalling
    ) -> AbstractAsyncContextManager[Link]:
        return open_link(server.id.name, server.endpoint, local, PATIENCE, 1 << 20, hint)

    yield opened
    await local.close()


async def pid(link: Link) -> int:
    found: int = json.loads(await said(call(link, "where")))["pid"]
    return found


async def test_a_server_that_did_not_change_keeps_its_process_and_its_calls(really: Open) -> None:
    acme = declared("acme", stub("--name", "acme", "--only", "where"))
    bolt = declared("bolt", stub("--name", "bolt", "--only", "where"))
    async with pooled(really, acme, bolt) as (board, pool):
        link, other = await pool.lease(ACME), await pool.lease(BOLT)
        before, others = await pid(link), await pid(other)
        pending = call(link, "sleep", {"ms": 300})
        changed = replace(bolt, endpoint=stub("--name", "bolt2", "--only", "where"))
        titled = replace(acme, title="Acme")
        board.post(Report("t", (titled, changed, declared("cask", stub("--only", "where")))))
        await shown(board, lambda e: e.peer is not None and e.peer.name == "bolt2", "bolt")

        assert pool.ready(ACME) is link
        assert await said(pending) == "slept"
        assert await pid(await pool.lease(ACME)) == before
        assert await pid(await pool.lease(BOLT)) != others
        assert other.closed.done()
        assert pool.keeper(ACME).server.title == "Acme"


async def test_a_server_that_crashed_in_a_call_is_back_for_the_next(really: Open) -> None:
    async with pooled(really, declared("acme", stub()), patience=SLOW) as (_board, pool):
        link = await pool.lease(ACME)
        before = await pid(link)
        with pytest.raises(LinkError):
            await call(link, "exit").answer
        again = await pool.lease(ACME)

        assert await pid(again) != before
        assert pool.keeper(ACME).restarts == 1


async def test_a_forgotten_session_is_opened_anew(really: Open) -> None:
    flags = ("--era", "legacy", "--only", "echo", "--tools-only", "--lose-session-after", "3")
    with running_http_stub(*flags) as address:
        async with pooled(really, declared("acme", url(address)), patience=SLOW) as (_board, pool):
            link = await pool.lease(ACME)
            await said(call(link, "echo", {"text": "1"}))
            with pytest.raises(SessionLostError):
                await call(link, "echo", {"text": "2"}).answer
            again = await pool.lease(ACME)

            assert await said(call(again, "echo", {"text": "2"})) == "2"


async def test_servers_that_leave_or_may_not_be_used_are_ended() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    broken = Problem(ProblemCode.CONFIG_UNSET, "TOKEN is not set", "set it")
    servers = [declared(name) for name in ("acme", "bolt", "cask", "dill")]
    async with pooled(landlord, *servers) as (board, pool):
        for server in servers:
            await pool.lease(server.id)
        acme, bolt, cask, _ = servers
        now = (acme, replace(bolt, enabled=False), replace(cask, problem=broken))
        board.post(Report("t", now))
        await until(lambda: list(pool.keepers) == [ACME])

        assert {life.link.name for life in landlord.lives if life.link.closed.done()} <= {
            "bolt",
            "cask",
            "dill",
        }
        for name in ("bolt", "cask", "dill", "nobody"):
            with pytest.raises(UnknownNameError, match="not in use"):
                await pool.lease(ServerId(name, "t"))
            assert pool.ready(ServerId(name, "t")) is None
        assert pool.ready(ACME) is not None
        board.post(Report("t", tuple(servers)))
        await until(lambda: BOLT in pool.keepers)
        assert not (await pool.lease(BOLT)).closed.done()


async def test_all_links_end_with_the_pool() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared("acme"), declared("bolt")) as (_board, pool):
        links = [await pool.lease(ACME), await pool.lease(BOLT)]

    assert [link.closed.result() for link in links] == ["was stopped"] * 2
    assert pool.ready(ACME) is None


async def test_only_so_many_servers_start_at_once() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    landlord.gate.clear()
    servers = [declared(f"s{number}") for number in range(20)]
    async with pooled(landlord, *servers) as (_board, pool):
        await until(lambda: landlord.opening == pool_module.STARTS_AT_ONCE)
        for _ in range(20):
            await asyncio.sleep(0)
        assert landlord.opening == pool_module.STARTS_AT_ONCE
        landlord.gate.set()
        for server in servers:
            await pool.lease(server.id)

        assert landlord.most_opening <= pool_module.STARTS_AT_ONCE
        assert len(landlord.lives) == 20


async def test_a_server_whose_offers_are_known_is_started_by_the_first_call_only() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    acme = declared()
    async with pooled(landlord, acme) as (board, pool):
        await shown(board, lambda entry: entry.status is Status.READY)
        board.post(Report("t", (replace(acme, enabled=False),)))
        await until(lambda: not pool.keepers)
        board.post(Report("t", (acme,)))
        await until(lambda: ACME in pool.keepers)
        await asyncio.sleep(0.05)
        assert len(landlord.lives) == 1
        assert board.snapshot.entries[ACME].offers.tools
        await pool.lease(ACME)

        assert len(landlord.lives) == 2


async def test_a_server_that_never_opens_does_not_delay_the_others(really: Open) -> None:
    mute = declared("mute", stub("--hang", "all"))
    absent = declared("absent", Command(("no-such-program",)))
    async with pooled(really, mute, absent, declared("acme", stub())) as (board, pool):
        async with asyncio.timeout(60):
            link = await pool.lease(ACME)
            assert await said(call(link, "echo", {"text": "hi"})) == "hi"
        entry = await shown(board, lambda e: e.status is Status.FAILING, "absent")

        assert entry.problem is not None and entry.problem.code == "server-start"


async def test_who_listens_is_told_of_links_that_open() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    opened: list[str] = []

    def hear(server: Server, _link: Link) -> None:
        opened.append(server.id.name)

    async with pooled(landlord, declared(), on_ready=hear) as (board, _pool):
        await shown(board, lambda entry: entry.status is Status.READY)

    assert opened == ["acme"]
