"""Real hubs whose PostgreSQL fails over to a standby under load, again and again.

    python tests/fleet/failover.py [TIMES]

`TOOLYARD_DATABASE` names both hosts. Clients of both eras call at each hub all the time, and none
of their calls may fail. Orders are given all the time, too: each is carried out, or refused with
503 `database-away`. The primary is stopped as a crash would stop it, and its standby, which is
synchronous, is promoted: every order that was answered must be there afterwards. Then the former
primary begins anew as the standby of the other.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.doors.doors import Doors, Json
from tests.fixtures.hubs import order, sees, send
from tests.fixtures.postgres import PostgresServer, SharedYard, running_postgres
from tests.fixtures.stub_run import running_http_stub
from tests.fleet.fleet import until
from tests.fleet.load import NEW, OLD, LegacyCaller, ModernCaller, Outcomes, calling, progressed
from tests.fleet.shared_memory import hub_on

TIMES = 5
HUBS = 2
BETWEEN = 50
"""Calls that are answered between two fail-overs."""
DATABASE = "postgres"
AWAY = "503 database-away"


@dataclass
class FailoverAccount:
    """The end of every call and order, and the seconds until orders were taken and followed."""

    calls: Outcomes = field(default_factory=Outcomes)
    orders: Counter[str] = field(default_factory=Counter)
    carried_out: set[str] = field(default_factory=set)
    """The profiles whose orders were answered with 200."""
    followed: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        times = ", ".join(f"{seconds:.2f}" for seconds in self.followed)
        return (
            f"{self.calls}; orders: {dict(self.orders)}, none lost; taken and followed again"
            f" after {times} s (load {os.getloadavg()[0]:.1f})"
        )


class Pair:
    """A primary and the standby that follows it."""

    def __init__(self, primary: PostgresServer, standby: PostgresServer) -> None:
        self.primary, self.standby = primary, standby
        self.join()

    def join(self) -> None:
        """Have the standby begin anew, and the primary wait for it with every order."""
        self.standby.follow(self.primary)
        with psycopg.connect(self.primary.address, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            until(lambda: _is_followed(connection))

    def promote(self) -> None:
        """Let the standby take the place of the primary, which has crashed."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def new_yard(self) -> SharedYard:
        """A yard whose address names both."""
        ports = [server.address.rpartition(":")[2] for server in (self.primary, self.standby)]
        hosts = ",".join(f"127.0.0.1:{port.partition('/')[0]}" for port in ports)
        return SharedYard(f"postgresql://toolyard@{hosts}/{DATABASE}", "failover")


def _is_followed(connection: psycopg.Connection[tuple[str]]) -> bool:
    row = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchone()
    return row is not None and row[0] == "sync"


@contextmanager
def running_pair() -> Iterator[Pair]:
    """A primary with a standby, both stopped in the end."""
    with running_postgres() as one, running_postgres() as other:
        other.crash()
        yield Pair(one, other)


async def give_orders(hubs: Sequence[Doors], account: FailoverAccount, stop: asyncio.Event) -> None:
    """Write one profile after the other, each at the next hub, until told to stop."""
    number = 0
    while not stop.is_set():
        number += 1
        name = f"p{number}"
        answer = await send(hubs[number % HUBS], "PUT", f"/profiles/{name}", {"allow": [name]})
        if answer.status == 200:
            account.carried_out.add(name)
        code = "" if answer.status == 200 else answer.json().get("code", "")
        account.orders[f"{answer.status} {code}".strip()] += 1


async def refused_once_more(account: FailoverAccount) -> None:
    """Wait until an order was refused: a standby may be there sooner than the next order."""
    before = account.orders[AWAY]
    async with asyncio.timeout(60):
        while account.orders[AWAY] == before:  # noqa: ASYNC110 - a count
            await asyncio.sleep(0.02)


async def time_to_follow(hubs: Sequence[Doors], began: float, name: str) -> float:
    """Return the seconds since then until an order is taken and every hub shows it."""
    first, *others = hubs

    async def is_taken() -> bool:
        return (await send(first, "PUT", "/profiles/seen", {"allow": [name]})).status == 200

    await first.until(is_taken, 60)
    for hub in others:
        await sees(hub, "/profiles/seen", lambda answer: answer.get("allow") == [name])
    return time.monotonic() - began


async def check_orders(hubs: Sequence[Doors], account: FailoverAccount) -> None:
    """See that every hub knows what was ordered, although another database has it now."""
    wanted = set(account.carried_out)

    def has_all(answer: Json) -> bool:
        return wanted <= {row["name"] for row in answer["profiles"]}

    for hub in hubs:
        await sees(hub, "/profiles", has_all)


async def endure(pair: Pair, hubs: Sequence[Doors], times: int) -> FailoverAccount:
    """Fail over under load."""
    account, stop = FailoverAccount(), asyncio.Event()
    callers = [
        kind(f"{kind.__name__}{number}", hub.port, account.calls)
        for number, hub in enumerate(hubs)
        for kind in (ModernCaller, LegacyCaller)
    ]
    async with calling(callers), asyncio.TaskGroup() as group:
        group.create_task(give_orders(hubs, account, stop))
        for number in range(times):
            await progressed(account.calls, BETWEEN)
            began = time.monotonic()
            await asyncio.to_thread(pair.primary.crash)
            await refused_once_more(account)
            await asyncio.to_thread(pair.promote)
            account.followed.append(await time_to_follow(hubs, began, f"time{number}"))
            await check_orders(hubs, account)
            await asyncio.to_thread(pair.join)
        await progressed(account.calls, BETWEEN)
        stop.set()
    return account


async def run(times: int) -> FailoverAccount:
    """Start it all, endure, and stop it."""
    with ExitStack() as stack:
        pair = stack.enter_context(running_pair())
        old = running_http_stub("--name", OLD, "--era", "legacy", "--tasks")
        new = running_http_stub("--name", NEW, "--era", "modern")
        urls = {OLD: stack.enter_context(old), NEW: stack.enter_context(new)}
        yard = pair.new_yard()
        running = [stack.enter_context(hub_on(yard)) for _ in range(HUBS)]
        hubs = [Doors(int(hub.url.rpartition(":")[2]), hub.home) for hub in running]
        for name, url in urls.items():
            await order(hubs[0], "POST", "/servers", {"name": name, "entry": {"url": url}})
        for hub in hubs:

            async def has_tools(hub: Doors = hub) -> bool:
                return await hub.tools() >= {f"{name}__echo" for name in urls}

            await hub.until(has_tools, 60)
        return await endure(pair, hubs, times)


if __name__ == "__main__":
    account = asyncio.run(run(int(sys.argv[1]) if sys.argv[1:] else TIMES))
    print(account)
    assert not account.calls.failed
    assert account.orders.keys() == {"200", AWAY}
