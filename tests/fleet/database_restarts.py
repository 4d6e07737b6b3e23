"""Three real hubs whose database is restarted, and stopped for a while, under load.

    python tests/fleet/database_restarts.py [RESTARTS] [SECONDS]

Clients of both eras call at each hub all the time, and none of their calls may fail. Orders are
given all the time, too: each is carried out, or refused with 503 `database-away`. After each
restart, and after the database was stopped for some seconds, it is printed how long it took until
an order was taken again and every hub had followed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.doors.doors import Doors
from tests.fixtures.hubs import order, sees, send
from tests.fixtures.postgres import PostgresServer, running_postgres
from tests.fixtures.stub_run import running_http_stub
from tests.fleet.load import NEW, OLD, LegacyCaller, ModernCaller, Outcomes, calling, progressed
from tests.fleet.shared_memory import HUBS, hub_on

RESTARTS = 20
SECONDS = 60.0
BETWEEN = 50
"""Calls that are answered between two restarts."""


@dataclass
class Account:
    """The end of every call and order, and the seconds until all was followed again."""

    calls: Outcomes = field(default_factory=Outcomes)
    orders: Counter[str] = field(default_factory=Counter)
    followed: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        times = sorted(self.followed)
        median, most = times[len(times) // 2], times[-1]
        return (
            f"{self.calls}; orders: {dict(self.orders)}; followed again after {median:.2f} s in the"
            f" median, {most:.2f} s at most (load {os.getloadavg()[0]:.1f})"
        )


async def give_orders(hubs: Sequence[Doors], account: Account, stop: asyncio.Event) -> None:
    """Order at one hub after the other until told to stop, and count the answers."""
    number = 0
    while not stop.is_set():
        number += 1
        body = {"allow": [f"server{number}"]}
        answer = await send(hubs[number % HUBS], "PUT", "/profiles/always", body)
        code = "" if answer.status == 200 else answer.json().get("code", "")
        account.orders[f"{answer.status} {code}".strip()] += 1


async def time_to_follow(hubs: Sequence[Doors], name: str) -> float:
    """Return the seconds until an order is taken and every hub shows it."""
    began = time.monotonic()
    first, *others = hubs

    async def is_taken() -> bool:
        return (await send(first, "PUT", "/profiles/seen", {"allow": [name]})).status == 200

    await first.until(is_taken, 60)
    for hub in others:
        await sees(hub, "/profiles/seen", lambda answer: answer.get("allow") == [name])
    return time.monotonic() - began


async def is_refused(hub: Doors) -> bool:
    """Say whether an order is refused because the database is away."""
    answer = await send(hub, "PUT", "/profiles/refused", {"allow": ["x"]})
    return answer.status == 503 and answer.json()["code"] == "database-away"


async def stop_for(postgres: PostgresServer, seconds: float, hubs: Sequence[Doors]) -> None:
    """Stop the database, see that every hub refuses orders, and start it after some seconds."""
    end = time.monotonic() + seconds
    await asyncio.to_thread(postgres.stop)
    for hub in hubs:
        await hub.until(lambda hub=hub: is_refused(hub), 60)  # type: ignore[misc]
    await asyncio.sleep(max(0.0, end - time.monotonic()))
    for hub in hubs:
        assert await is_refused(hub)
    await asyncio.to_thread(postgres.start)


async def endure(
    postgres: PostgresServer, hubs: Sequence[Doors], restarts: int, seconds: float
) -> Account:
    """Restart and stop the database under load."""
    account, stop = Account(), asyncio.Event()
    callers = [
        kind(f"{kind.__name__}{number}", hub.port, account.calls)
        for number, hub in enumerate(hubs)
        for kind in (ModernCaller, LegacyCaller)
    ]
    async with calling(callers), asyncio.TaskGroup() as group:
        group.create_task(give_orders(hubs, account, stop))
        for number in range(restarts):
            await progressed(account.calls, BETWEEN)
            await asyncio.to_thread(postgres.stop)
            await asyncio.to_thread(postgres.start)
            account.followed.append(await time_to_follow(hubs, f"restart{number}"))
        await progressed(account.calls, BETWEEN)
        await stop_for(postgres, seconds, hubs)
        account.followed.append(await time_to_follow(hubs, "stop"))
        await progressed(account.calls, BETWEEN)
        stop.set()
    return account


async def run(restarts: int, seconds: float) -> Account:
    """Start it all, endure, and stop it."""
    with ExitStack() as stack:
        postgres = stack.enter_context(running_postgres())
        old = running_http_stub("--name", OLD, "--era", "legacy", "--tasks")
        new = running_http_stub("--name", NEW, "--era", "modern")
        urls = {OLD: stack.enter_context(old), NEW: stack.enter_context(new)}
        yard = postgres.new_yard()
        running = [stack.enter_context(hub_on(yard)) for _ in range(HUBS)]
        hubs = [Doors(int(hub.url.rpartition(":")[2]), hub.home) for hub in running]
        for name, url in urls.items():
            await order(hubs[0], "POST", "/servers", {"name": name, "entry": {"url": url}})
        for hub in hubs:

            async def has_tools(hub: Doors = hub) -> bool:
                return await hub.tools() >= {f"{name}__echo" for name in urls}

            await hub.until(has_tools, 60)
        return await endure(postgres, hubs, restarts, seconds)


if __name__ == "__main__":
    words = sys.argv[1:]
    account = asyncio.run(
        run(int(words[0]) if words else RESTARTS, float(words[1]) if words[1:] else SECONDS)
    )
    print(account)
    assert not account.calls.failed
    assert account.orders.keys() <= {"200", "503 database-away"}
