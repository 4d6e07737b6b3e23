"""A server's link is opened when needed, mended when lost, and truly described."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.links.company import (
    HASTY,
    PATIENCE,
    SLOW,
    Landlord,
    declared,
    pooled,
    shown,
    tools,
    until,
)
from toolyard.core.errors import LinkError, StartError
from toolyard.core.model import NO_OFFERS, Entry, Server, ServerId, Status
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.keeper import OnInstalling
from toolyard.links.link import Link
from toolyard.links.listening import RESOURCES
from toolyard.wire.era import Era
from toolyard.wire.jsonrpc import Fault

ACME = ServerId("acme", "t")


def is_ready(entry: Entry) -> bool:
    return entry.status is Status.READY


def is_failing(entry: Entry) -> bool:
    return entry.status is Status.FAILING


def failing(*errors: Exception | None) -> Callable[[Era | None], Exception | None]:
    """Fails with one after the other, then no more."""
    left: Iterator[Exception | None] = iter(errors)
    return lambda _hint: next(left, None)


async def test_a_server_nobody_knows_is_opened_and_described() -> None:
    landlord = Landlord({"tools/list": tools("a", "b")})
    async with pooled(landlord, declared()) as (board, pool):
        entry = await shown(board, is_ready)

        assert [offer.key for offer in entry.offers.tools] == ["a", "b"]
        assert entry.peer is not None and entry.peer.name == "acme"
        assert pool.ready(ACME) is landlord.lives[0].link is await pool.lease(ACME)


async def test_tries_are_spaced_by_growing_pauses() -> None:
    landlord = Landlord({"tools/list": tools()})
    loop, times = asyncio.get_running_loop(), list[float]()

    def fail(_hint: Era | None) -> Exception:
        times.append(loop.time())
        return StartError("no such program", "install it")

    landlord.fail = fail
    async with pooled(
        landlord, declared(), patience=replace(PATIENCE, first_pause=0.05, longest_pause=0.2)
    ) as (board, _pool):
        await until(lambda: len(times) == 6)
        entry = await shown(board, is_failing)

    gaps = [later - earlier for earlier, later in pairwise(times)]
    least = [0.8 * pause for pause in (0.05, 0.1, 0.2, 0.2, 0.2)]
    assert all(gap >= bound * 0.99 for gap, bound in zip(gaps, least, strict=True)), gaps
    assert entry.problem is not None
    assert (entry.problem.code, entry.problem.text) == ("server-start", "no such program")
    assert (entry.problem.hint, entry.problem.subject) == ("install it", "acme@t")


async def test_a_call_does_not_wait_for_the_pause() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    landlord.fail = failing(LinkError("not yet"))
    async with pooled(landlord, declared(), patience=SLOW) as (board, pool):
        await shown(board, is_failing)
        async with asyncio.timeout(60):
            assert not (await pool.lease(ACME)).closed.done()


async def test_a_call_learns_why_its_server_cannot_be_opened() -> None:
    landlord = Landlord({})
    landlord.fail = lambda _hint: LinkError("it is on holiday")
    async with pooled(landlord, declared(), patience=SLOW) as (board, pool):
        await shown(board, is_failing)
        for _ in range(2):
            with pytest.raises(LinkError, match="on holiday"):
                await pool.lease(ACME)


async def test_a_call_right_after_the_loss_gets_the_next_link_and_not_the_old_error() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared(), patience=SLOW) as (board, pool):
        await shown(board, is_ready)
        landlord.lives[0].link.lose("forgot our session")
        assert pool.ready(ACME) is None
        async with asyncio.timeout(60):
            link = await pool.lease(ACME)

        assert link is landlord.lives[1].link


async def test_a_lost_link_is_opened_again_and_the_picture_is_the_same_as_before() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    # It stays lost for long enough to be seen.
    patience = replace(PATIENCE, first_pause=1.0, longest_pause=1.0)
    async with pooled(landlord, declared(), patience=patience) as (board, pool):
        before = await shown(board, is_ready)
        landlord.lives[0].link.lose("exited with code 3")
        lost = await shown(board, is_failing)
        await until(lambda: pool.ready(ACME))
        after = await shown(board, is_ready)

        assert lost.problem is not None and "exited with code 3" in lost.problem.text
        assert lost.offers == before.offers
        assert after == before
        assert pool.keeper(ACME).restarts == 1
        assert pool.keeper(ACME).last_trace == ("its last words",)


async def test_offers_stay_listed_for_a_grace_and_then_no_more() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(
        landlord,
        declared(),
        patience=replace(PATIENCE, first_pause=0.02, longest_pause=0.02, grace=0.3),
    ) as (board, _pool):
        await shown(board, is_ready)
        landlord.fail = lambda _hint: LinkError("gone")
        began = asyncio.get_running_loop().time()
        landlord.lives[0].link.lose("ended")
        await shown(board, lambda entry: is_failing(entry) and entry.offers != NO_OFFERS)
        entry = await shown(board, lambda entry: entry.offers == NO_OFFERS)

        assert asyncio.get_running_loop().time() - began >= 0.29
        assert len(landlord.hints) > 3, "tries do not prolong the grace"
        assert entry.peer is not None
        landlord.fail = lambda _hint: None
        assert (await shown(board, is_ready)).offers.tools


async def test_a_restart_within_the_grace_never_takes_offers_from_the_list() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(
        landlord,
        declared(),
        patience=replace(PATIENCE, first_pause=0.01, longest_pause=0.01, grace=1.0),
    ) as (board, pool):
        await shown(board, is_ready)
        landlord.lives[0].link.lose("ended")
        await until(lambda: len(landlord.lives) == 2 and pool.ready(ACME))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.2):
                await shown(board, lambda entry: entry.offers == NO_OFFERS)


async def test_a_list_that_changed_is_asked_for_once_however_often_that_is_said() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared()) as (board, _pool):
        await shown(board, is_ready)
        life = landlord.lives[0]
        life.answers["tools/list"] = tools("a", "b")
        asked = len(life.heard)
        for _ in range(20):
            life.say({"method": "notifications/tools/list_changed"})
        await shown(board, lambda entry: len(entry.offers.tools) == 2)

        assert [heard["method"] for heard in life.heard[asked:]] == ["tools/list"]


async def test_a_list_that_cannot_be_had_is_a_problem_and_the_old_one_stays() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared()) as (board, _pool):
        await shown(board, is_ready)
        life = landlord.lives[0]
        life.answers["tools/list"] = {"tools": "none today"}
        life.say({"method": "notifications/tools/list_changed"})
        entry = await shown(board, lambda entry: entry.problem)

        assert entry.problem is not None and entry.problem.code == "server-lists"
        assert (entry.status, len(entry.offers.tools)) == (Status.READY, 1)
        life.answers["tools/list"] = tools("a")
        life.say({"method": "notifications/tools/list_changed"})
        await shown(board, lambda entry: entry.problem is None and is_ready(entry))


class Installer(Landlord):
    """Opens links, and remembers whom to tell of an installation."""

    on_installing: OnInstalling | None = None

    def __call__(
        self, server: Any, hint: Era | None, on_installing: OnInstalling
    ) -> AbstractAsyncContextManager[Link]:
        self.on_installing = on_installing
        return super().__call__(server, hint, on_installing)


async def test_an_installation_is_shown_with_its_beginning_and_callers_are_told() -> None:
    landlord = Installer({"tools/list": tools("a")})
    landlord.gate.clear()
    async with pooled(landlord, declared()) as (board, pool):
        await until(lambda: landlord.on_installing)
        assert landlord.on_installing is not None
        landlord.on_installing(None)
        await shown(board, lambda entry: entry.status is Status.INSTALLING)
        keeper = pool.keeper(ACME)
        assert keeper.starting_since is not None
        with pytest.raises(LinkError, match="'acme' is still installing its package"):
            await keeper.lease(0.01)

        landlord.gate.set()

        await shown(board, is_ready)
        assert keeper.starting_since is None


async def test_a_server_of_which_one_list_fails_keeps_what_works() -> None:
    refused = Fault(-32603, "connect ECONNREFUSED 127.0.0.1:5432")
    landlord = Landlord({"tools/list": tools("query"), "resources/list": refused})
    landlord.capabilities = {"tools": {}, "resources": {}}
    async with pooled(landlord, declared()) as (board, pool):
        entry = await shown(board, is_ready)

        assert [offer.key for offer in entry.offers.tools] == ["query"]
        assert entry.problem is not None and entry.problem.code == "server-lists"
        assert "refused resources/list" in entry.problem.text
        assert "nothing listens at 127.0.0.1:5432" in entry.problem.hint
        assert entry.problem.hint.endswith("toolyard server refresh acme")

        landlord.lives[0].answers["resources/list"] = {"resources": [{"uri": "db:a"}]}
        pool.refresh()
        entry = await shown(board, lambda entry: entry.problem is None)
        assert [offer.key for offer in entry.offers.resources] == ["db:a"]


async def test_a_server_of_which_every_list_fails_is_failing() -> None:
    refused = Fault(-32603, "no database")
    landlord = Landlord({"tools/list": refused, "resources/list": refused})
    landlord.capabilities = {"tools": {}, "resources": {}}
    async with pooled(landlord, declared(), patience=SLOW) as (board, _pool):
        entry = await shown(board, is_failing)

        assert entry.problem is not None and "refused tools/list" in entry.problem.text


async def test_a_refresh_asks_every_server_again() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared()) as (board, pool):
        await shown(board, is_ready)
        landlord.answers["tools/list"] = tools("b")
        pool.refresh()
        await shown(board, lambda entry: [o.key for o in entry.offers.tools] == ["b"])


async def test_other_news_is_handed_on_with_its_server() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    heard: list[tuple[str, str, bytes]] = []

    def hear(server: Server, _link: Link, method: str, params: bytes) -> None:
        heard.append((server.id.name, method, params))

    async with pooled(landlord, declared(), on_notice=hear) as (board, _pool):
        await shown(board, is_ready)
        landlord.lives[0].say({"method": "notifications/resources/updated", "params": {}})

    assert heard == [("acme", "notifications/resources/updated", b"{}")]


async def test_the_era_found_once_is_remembered() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared(), patience=HASTY) as (board, _pool):
        await shown(board, is_ready)
        landlord.lives[0].link.lose("ended")
        await until(lambda: len(landlord.lives) == 2)

    assert landlord.hints == [None, "legacy"]


async def test_what_dies_of_the_probe_is_greeted_the_old_way_at_once() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    landlord.fail = lambda hint: None if hint == "legacy" else ProbeFatalError("it died")
    async with pooled(landlord, declared(), patience=SLOW) as (board, _pool):
        await shown(board, is_ready)

    assert landlord.hints == [None, "legacy"]


async def test_a_modern_server_that_once_died_at_start_is_not_taken_for_legacy_ever_after() -> None:
    landlord = Landlord({"tools/list": tools("a")}, era="modern")
    landlord.fail = failing(ProbeFatalError("it died"), LinkError("and again"))
    async with pooled(landlord, declared(), patience=HASTY) as (board, _pool):
        await shown(board, is_ready)

    assert landlord.hints == [None, "legacy", None]


async def test_a_modern_server_that_is_killed_at_its_start_is_said_to_have_ended() -> None:
    landlord = Landlord({"tools/list": tools("a")}, era="modern")
    killed = [ProbeFatalError("'acme' was killed by signal 9") for _ in range(2)]
    landlord.fail = failing(*killed)
    async with pooled(landlord, declared(), patience=SLOW) as (board, _pool):
        entry = await shown(board, lambda entry: entry.problem)

    assert entry.problem is not None
    assert entry.problem.text == "'acme' was killed by signal 9"
    assert landlord.hints == [None, "legacy"]


async def test_a_server_replaced_by_one_of_another_era_is_found_out() -> None:
    landlord = Landlord({"tools/list": tools("a")})
    async with pooled(landlord, declared(), patience=HASTY) as (board, _pool):
        await shown(board, is_ready)
        landlord.era = "modern"
        landlord.fail = lambda hint: LinkError("refused") if hint == "legacy" else None
        landlord.lives[0].link.lose("ended")
        await shown(board, lambda entry: is_ready(entry) and entry.peer.era == "modern")  # type: ignore[union-attr]

    assert landlord.hints == [None, "legacy", None]


async def test_a_modern_server_is_listened_to_in_one_subscription() -> None:
    landlord = Landlord({"tools/list": tools("a"), "subscriptions/listen": None}, era="modern")
    async with pooled(landlord, declared()) as (board, pool):
        await shown(board, is_ready)
        life = landlord.lives[0]

        def listens() -> list[dict]:
            asked = [m for m in life.heard if m["method"] == "subscriptions/listen"]
            return [m["params"]["notifications"] for m in asked]

        def acknowledge(number: int, **granted: Any) -> None:
            asked = [m for m in life.heard if m["method"] == "subscriptions/listen"]
            meta = {"io.modelcontextprotocol/subscriptionId": asked[number]["id"]}
            said = {"notifications": granted, "_meta": meta}
            life.say({"method": "notifications/subscriptions/acknowledged", "params": said})

        await until(listens)
        keeper = pool.keeper(ACME)
        topics = frozenset({(RESOURCES, "note://b"), (RESOURCES, "note://a")})
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            keeper.listening.want(topics)
            granted = group.create_task(keeper.listening.granted())
            await until(lambda: len(listens()) == 2)

            assert listens()[0]["toolsListChanged"] is True
            assert "resourceSubscriptions" not in listens()[0]
            assert listens()[1]["resourceSubscriptions"] == ["note://a", "note://b"]
            acknowledge(0, resourceSubscriptions=["note://a"])  # of the one before
            assert not granted.done() and life.link.load == 2
            acknowledge(1, resourceSubscriptions=["note://a"])
        assert granted.result() == {(RESOURCES, "note://a")}
        assert [m["method"] for m in life.heard].count("notifications/cancelled") == 1
        assert life.link.load == 1


async def test_a_subscription_that_is_refused_grants_nothing() -> None:
    landlord = Landlord({"tools/list": tools("a")}, era="modern")
    async with pooled(landlord, declared()) as (board, pool):
        await shown(board, is_ready)
        keeper = pool.keeper(ACME)
        keeper.listening.want(frozenset({(RESOURCES, "note://a")}))
        async with asyncio.timeout(60):
            assert await keeper.listening.granted() == frozenset()


async def test_a_part_of_ours_that_breaks_is_a_problem_and_not_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    landlord = Landlord({"tools/list": tools("a")})
    landlord.fail = lambda _hint: ZeroDivisionError("a bug of ours")
    async with pooled(landlord, declared(), patience=HASTY) as (board, _pool):
        entry = await shown(board, is_failing)
        assert entry.problem is not None and "a bug of ours" in entry.problem.text
        landlord.fail = failing()
        await shown(board, is_ready)

    assert "a bug of ours" in caplog.text
