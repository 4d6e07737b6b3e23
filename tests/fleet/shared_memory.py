"""Three real hubs on one real PostgreSQL: how soon others see an order, and that none is lost.

    python tests/fleet/shared_memory.py [ORDERS]

seen     an order at one hub, until the picture of each other hub shows it: p50 and p99
approved an approval or its withdrawal at one hub, until it counts at another: p50 and p99
revoked  a token that one hub made and revoked, until every path of another refuses it: p50 and p99
storm    random orders with conflicts from all three at once; equal records at the end, none lost
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.doors.doors import mirrored, modern
from tests.e2e.hub import TOKEN, RunningHub, address_of, environment, new_home, stop, toolyard
from tests.features.approvals.yard import says, tool
from tests.fixtures.ports import free_port
from tests.fixtures.postgres import SharedYard, running_postgres

HUBS = 3
TIMES = 200
KEYS = 25
"""Few, so that orders meet."""
PATHS = ("/mcp", "/mcp/p/seen", "/mcp/s/shop")
"""The paths of the MCP door at which a token may be used."""
EXECUTORS = [f"box{number}" for number in range(KEYS)]


@contextmanager
def hub_on(yard: SharedYard) -> Iterator[RunningHub]:
    """A hub with a home of its own that shares the yard."""
    with new_home() as home:
        env = {**environment(home), **yard.environment}
        with open(home / "hub.err", "w") as errors:
            process = subprocess.Popen(
                toolyard("up", "--port", str(free_port())),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            yield RunningHub(address_of(process, home), home, process)
        finally:
            stop(process)


class Door:
    """The control door of one hub, over one connection."""

    def __init__(self, hub: RunningHub) -> None:
        self._connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=60)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def send(
        self, method: str, path: str, body: Any = None, etag: str = ""
    ) -> tuple[int, Any, str]:
        """Return the status, the answer and its ETag."""
        head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        head |= {"If-Match": etag} if etag else {}
        data = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", data, head)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null"), answer.headers.get("ETag", "")

    def opens(self, path: str, token: str) -> bool:
        """Say whether a token is let in at a path of the MCP door."""
        message = modern("tools/list")
        head = {**mirrored(message), "Authorization": f"Bearer {token}"}
        head |= {"Content-Type": "application/json", "Accept": "application/json"}
        self._connection.request("POST", path, json.dumps(message), head)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status in (200, 401), answer.status
        return answer.status == 200

    def denied(self, executor: str) -> tuple[list[str], str]:
        """Return what the policy of an executor denies, and its ETag."""
        _, answer, etag = self.send("GET", f"/policies/{executor}")
        return answer["policy"].get("deny", []), etag


def measure_seen(doors: Sequence[Door], times: int) -> None:
    """Print how long it takes until the other hubs show an order."""
    seconds = []
    for number in range(times):
        writer = doors[number % HUBS]
        body = {"allow": [f"server{number}"]}
        began = time.perf_counter()
        status, answer, _ = writer.send("PUT", "/profiles/seen", body)
        assert status == 200, answer
        for other in doors:
            while other is not writer:
                _, profile, _ = other.send("GET", "/profiles/seen")
                if profile.get("allow") == body["allow"]:
                    seconds.append(1000 * (time.perf_counter() - began))
                    break
    tell("seen", seconds)


def tell(what: str, seconds: Sequence[float]) -> None:
    """Print the share of times."""
    shares = statistics.quantiles(seconds, n=100)
    print(
        f"{what}: {len(seconds)} times, p50 {shares[49]:.1f} ms, p99 {shares[98]:.1f} ms"
        f" from the order's first byte (load {os.getloadavg()[0]:.1f})"
    )


def measure_approved(writer: Door, reader: Door, home: Path, times: int) -> None:
    """Print how long it takes until an approval, or its withdrawal, counts at another hub."""
    body = {"name": "shop", "entry": says(home, "shop", tool("buy"))}
    assert writer.send("POST", "/servers", body)[0] < 300
    wait_until(lambda: is_ready(writer) and is_ready(reader))
    # From now on the one offers another text than the other.
    says(home, "shop", tool("buy", "buys all"))
    assert reader.send("POST", "/servers/shop/restart")[0] == 200
    wait_until(lambda: held(reader) == ["buy"])
    seconds = []
    for number in range(times):
        is_loose = number % 2 == 0
        began = time.perf_counter()
        order = {"tools": ["buy"], "any_text": is_loose}
        status, answer, _ = writer.send("POST", "/servers/shop/approve", order)
        assert status == 200, answer
        while held(reader) != ([] if is_loose else ["buy"]):
            pass
        seconds.append(1000 * (time.perf_counter() - began))
    tell("approved", seconds)


def measure_revoked(writer: Door, reader: Door, times: int) -> None:
    """Print how long it takes until a token that was revoked is refused by another hub."""
    seconds = []
    for number in range(times):
        status, made, _ = writer.send("POST", "/tokens", {"name": f"agent{number}"})
        assert status < 300, made
        token = made["token"]
        wait_until(lambda: all(reader.opens(path, token) for path in PATHS))  # noqa: B023 - at once
        began = time.perf_counter()
        assert writer.send("DELETE", f"/tokens/agent{number}")[0] == 200
        while any(reader.opens(path, token) for path in PATHS):
            pass
        seconds.append(1000 * (time.perf_counter() - began))
    tell("revoked", seconds)


def is_ready(door: Door) -> bool:
    """Say whether a hub has started the server."""
    status, answer, _ = door.send("GET", "/servers/shop")
    return status == 200 and answer["status"] == "ready"


def held(door: Door) -> Any:
    """Return the tools of the server that wait at a hub."""
    return door.send("GET", "/servers/shop/changes")[1]["held"]


def wait_until(holds: Callable[[], bool]) -> None:
    """Ask again and again until something holds."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end


def storm(door: Door, number: int, orders: int) -> tuple[Counter[str], int]:
    """Add to lists that others add to as well; return how often to each, and the conflicts met."""
    dice, added, conflicts = random.Random(number), Counter[str](), 0
    for turn in range(orders):
        executor, status = dice.choice(EXECUTORS), 412
        while status == 412:
            words, etag = door.denied(executor)
            body = {"deny": [*words, f"w{number}-{turn}"]}
            status, answer, _ = door.send("PUT", f"/policies/{executor}", body, etag)
            conflicts += status == 412
        assert status == 200, answer
        added[executor] += 1
    return added, conflicts


def check_equal(doors: Sequence[Door], expected: Counter[str]) -> None:
    """See that every hub shows the same, and every word that was added."""
    end = time.monotonic() + 60
    while True:
        shown = [{name: door.denied(name)[0] for name in EXECUTORS} for door in doors]
        counts = Counter({name: len(words) for name, words in shown[0].items()})
        if all(picture == shown[0] for picture in shown) and counts == expected:
            return
        assert time.monotonic() < end, (counts, expected)


def wait_for(door: Door, path: str) -> None:
    """Wait until a hub knows something."""
    end = time.monotonic() + 60
    while door.send("GET", path)[0] != 200:
        assert time.monotonic() < end, path


def rage(doors: Sequence[Door], orders: int) -> None:
    """Let orders come from all hubs at once, and see what comes of them."""
    for name in EXECUTORS:
        body = {"type": "docker", "host": "unix:///nowhere"}
        assert doors[0].send("PUT", f"/executors/{name}", body)[0] == 200
        for door in doors:
            wait_for(door, f"/executors/{name}")
    began = time.monotonic()
    parts = [orders // HUBS + (number < orders % HUBS) for number in range(HUBS)]
    with ThreadPoolExecutor(HUBS) as pool:
        results = list(pool.map(storm, doors, range(HUBS), parts))
    seconds = time.monotonic() - began
    expected = sum((added for added, _ in results), Counter[str]())
    check_equal(doors, expected)
    print(
        f"storm: {expected.total()} orders from {HUBS} hubs in {seconds:.1f} s,"
        f" {sum(met for _, met in results)} conflicts, all pictures equal, none lost"
    )


def run(orders: int, times: int = TIMES) -> None:
    """Start it all, measure, and stop it."""
    with ExitStack() as stack:
        yard = stack.enter_context(running_postgres()).new_yard()
        hubs = [stack.enter_context(hub_on(yard)) for _ in range(HUBS)]
        doors = [stack.enter_context(closing(Door(hub))) for hub in hubs]
        measure_seen(doors, times)
        measure_approved(doors[0], doors[1], stack.enter_context(new_home()), times)
        measure_revoked(doors[0], doors[1], times)
        # Anew: a hub closes a connection that nobody uses for long.
        rage([stack.enter_context(closing(Door(hub))) for hub in hubs], orders)


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
