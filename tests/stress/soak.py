"""A hub under a steady load for an hour: does anything grow?

    python tests/stress/soak.py [--minutes 60] [--warm-up 10] [--every 10] [--trace] [--leak]

Clients of both eras at both doors make some 70 calls a second: plain ones, large ones, ones that
report, ask, fail and are cancelled. Meanwhile clients come and go, each with a server of its own,
one server is killed every 15 s and another, over HTTP, every minute. Every 10 s the hub's memory,
descriptors, tasks, threads, children and files are measured. It prints how much each of them grew
per hour after the warm-up, with the standard error, and ends with 1 if a growth is sure and more
than is allowed, or if a call was not answered exactly once. `--leak` is the control that must fail;
`--trace` says which lines hold what grew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.hub import RunningHub, entry, new_home, running_hub
from tests.e2e.talk import Talk, talking
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import STUB, stub_command
from tests.instances.yard import write_lists
from tests.stress.slopes import Slope, slope

ROOT = Path(__file__).resolve().parents[2]
COUNTED = Path(__file__).with_name("counted_hub.py")
NOTES = ROOT / "tests" / "instances" / "notes.py"
MORTAL = f"soak-mortal-{os.getpid()}"
KINDS = [(era, door) for era in ("legacy", "modern") for door in ("line", "http")]
CLIENTS = 8
PAUSE = 0.1
"""Seconds between two calls of a client, on the average."""
KILL_SECONDS = 15.0
RESTART_SECONDS = 60.0
CHURN_SECONDS = 1.0
HISTORY_ROWS = 10_000
"""Calls that the history keeps: as many come during the warm-up, so that its pages grow no more."""
ALLOWED = {
    "rss_mib": 3.0,
    "pss_mib": 3.0,
    "descriptors": 2.0,
    "tasks": 2.0,
    "threads": 1.0,
    "children": 1.0,
    "blocks": 5000.0,
    "state_mib": 2.0,
}
"""The growth per hour that is not worth a restart in a year."""


@dataclass
class Score:
    """The ends of all calls."""

    sent: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        """Calls that came to an end."""
        return self.ends.total()


class Client:
    """A client that does this and that, and judges each answer."""

    def __init__(self, talk: Talk, name: str, score: Score) -> None:
        self.talk, self.name, self.score = talk, name, score
        self.count = 0

    async def work(self, chance: random.Random) -> None:
        """Do one thing."""
        self.talk.heard.clear()
        self.talk.asked.clear()
        self.count += 1
        works: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (lambda: self.echo(chance.choice(("old", "new"))), 50),
            (lambda: self.echo("web", is_mortal=True), 12),
            (lambda: self.echo("mortal", is_mortal=True), 6),
            (self.large, 4),
            (self.steps, 6),
            (self.ask, 4),
            (self.fail, 8),
            (self.unknown, 4),
            (self.list, 4),
            (self.cancel, 2),
        ]
        (work,) = chance.choices([work for work, _ in works], [weight for _, weight in works])
        await work()

    async def call(self, tool: str, arguments: dict[str, Any], **meta: Any) -> dict[str, Any]:
        """Call a tool; the whole response to its last round."""
        self.score.sent += 1
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        response = await self.talk.request("tools/call", params, meta=meta)
        while response.get("result", {}).get("resultType") == "input_required":
            asked = response["result"]
            replies = {k: self.talk.reply_to(q) for k, q in asked["inputRequests"].items()}
            state = {"requestState": asked["requestState"]} if "requestState" in asked else {}
            more = {**params, "inputResponses": replies, **state}
            response = await self.talk.request("tools/call", more)
        return response

    def judge(self, kind: str, response: dict[str, Any], expected: str, *, may_die: bool) -> None:
        """Count an answer; note one that is not this client's, or a failure without a reason."""
        text = json.dumps(response)
        if expected in text:
            self.score.ends[kind] += 1
        elif may_die and ("error" in response or response["result"].get("isError")):
            self.score.ends[f"{kind}, server gone"] += 1
        else:
            self.score.ends[f"{kind}, wrong"] += 1
            self.score.wrong.append(f"{self.name} {kind}: {text[:300]}")

    async def echo(self, server: str, *, is_mortal: bool = False) -> None:
        """Be told what it said."""
        mark = f"{self.name}-{self.count}."
        response = await self.call(f"{server}__echo", {"text": mark})
        self.judge(f"echo {server}", response, mark, may_die=is_mortal)

    async def large(self) -> None:
        """Get a large answer."""
        response = await self.call("old__payload", {"kib": 64})
        self.judge("large", response, "x" * (64 << 10), may_die=False)

    async def steps(self) -> None:
        """Be told of progress."""
        response = await self.call("new__progress", {"n": 3}, progressToken=self.name)
        self.judge("progress", response, "3 steps", may_die=False)

    async def ask(self) -> None:
        """Be asked."""
        response = await self.call("new__ask", {"question": self.name})
        self.judge("question", response, "Ada", may_die=False)

    async def fail(self) -> None:
        """Fail, in either way."""
        mark = f"{self.name}-{self.count}."
        response = await self.call("old__fail", {"text": mark})
        self.judge("tool error", response, mark, may_die=False)
        response = await self.call("new__error", {"message": mark})
        self.judge("error", response, mark, may_die=False)

    async def unknown(self) -> None:
        """Call what is not there, under a new name each time."""
        response = await self.call(f"old__nothing{self.count}", {})
        self.judge("unknown", response, '"error"', may_die=False)

    async def list(self) -> None:
        """Read the lists."""
        self.score.sent += 1
        response = await self.talk.request("tools/list")
        self.judge("list", response, "old__echo", may_die=False)

    async def cancel(self) -> None:
        """Begin a call, and take it back once it runs."""
        asked = {"name": "new__progress", "arguments": {"n": 5000, "ms": 20}}
        message = self.talk.message("tools/call", asked, {"progressToken": self.name})
        waiting = self.talk.group.create_task(self.talk.exchange(message))
        await self.talk.wait_heard("notifications/progress")
        await self.talk.cancel(message["id"], waiting)
        with suppress(asyncio.CancelledError):
            response = await waiting
            if response and "was cancelled" not in json.dumps(response.get("error")):
                self.score.wrong.append(f"{self.name}, cancelled: {json.dumps(response)[:300]}")
        self.score.events["calls cancelled"] += 1


async def pause(seconds: float, stop: asyncio.Event) -> bool:
    """Wait, but not beyond the end; true if there is more to do."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
    return not stop.is_set()


async def stay(hub: RunningHub, number: int, score: Score, stop: asyncio.Event) -> None:
    """Work as one client from the beginning to the end."""
    era, door = KINDS[number % len(KINDS)]
    chance = random.Random(number)
    async with talking(hub, era, door, name=f"soak-{era}-{door}") as talk:
        client = Client(talk, f"c{number}", score)
        while await pause(chance.uniform(0, 2 * PAUSE), stop):
            await client.work(chance)


async def churn(hub: RunningHub, score: Score, stop: asyncio.Event) -> None:
    """Come, call and leave; every fourth time as an agent with a server for each session."""
    chance, number = random.Random(0), 0
    while await pause(CHURN_SECONDS, stop):
        number += 1
        era, door = KINDS[number % len(KINDS)]
        async with talking(hub, era, door, name=f"guest-{number % 50}") as talk:
            client = Client(talk, f"g{number}", score)
            for _ in range(3):
                await client.work(chance)
        if number % 4 == 0:
            async with talking(hub, era, agent="codex", name="codex") as talk:
                client = Client(talk, f"a{number}", score)
                client.judge("own", await client.call("n__all", {}), "[]", may_die=False)
        score.events["sessions"] += 1


async def kill(score: Score, stop: asyncio.Event) -> None:
    """Kill a server over stdio now and then."""
    while await pause(KILL_SECONDS, stop):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                if MORTAL.encode() in words and str(STUB).encode() in words:
                    os.kill(int(name), signal.SIGKILL)
                    score.events["kills"] += 1


async def serve_web(port: int, score: Score, stop: asyncio.Event) -> None:
    """Keep a server over HTTP, and kill it now and then."""
    command = [sys.executable, str(STUB), "http", "--name", "web", "--port", str(port)]
    while not stop.is_set():
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        await pause(RESTART_SECONDS, stop)
        process.kill()
        await process.wait()
        score.events["restarts over HTTP"] += 1


class Gauge:
    """Measures a hub from outside, and asks it for what only it can count."""

    def __init__(self, hub: RunningHub, door: Path) -> None:
        self.hub, self.door = hub, door
        self.proc = Path(f"/proc/{hub.process.pid}")

    def ask(self, word: bytes) -> Any:
        """Ask the hub's counter."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(60)
            line.connect(str(self.door))
            line.sendall(word)
            return json.loads(b"".join(iter(lambda: line.recv(65536), b"")))

    def sample(self) -> dict[str, float]:
        """Measure everything once."""
        rollup = dict(
            line.split(":", 1) for line in (self.proc / "smaps_rollup").read_text().splitlines()[1:]
        )
        sizes = {path.name: path.stat().st_size for path in self.files()}
        return {
            "rss_mib": int(rollup["Rss"].split()[0]) / 1024,
            "pss_mib": int(rollup["Pss"].split()[0]) / 1024,
            "descriptors": len(os.listdir(self.proc / "fd")),
            "children": sum(
                len(path.read_text().split()) for path in self.proc.glob("task/*/children")
            ),
            "state_mib": sum(sizes.values()) / (1 << 20),
            "database_mib": sum(n for name, n in sizes.items() if "toolyard.db" in name)
            / (1 << 20),
            **self.ask(b"count"),
        }

    def files(self) -> Iterator[Path]:
        """The files that the hub keeps."""
        for path in self.hub.home.rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    yield path


async def watch(
    gauge: Gauge, every: float, samples: list[dict[str, float]], stop: asyncio.Event
) -> None:
    """Measure now and then."""
    began = time.monotonic()
    while await pause(every, stop):
        sample = await asyncio.to_thread(gauge.sample)
        samples.append({"seconds": time.monotonic() - began, **sample})
        if len(samples) % 30 == 0:
            shown = ", ".join(f"{name} {value:.1f}" for name, value in samples[-1].items())
            print(f"  {shown}", flush=True)


async def soak(hub: RunningHub, gauge: Gauge, port: int, options: argparse.Namespace) -> Any:
    """Load the hub for so long; what came of the calls, and all measurements."""
    score, stop, samples = Score(), asyncio.Event(), list[dict[str, float]]()
    loop = asyncio.get_running_loop()
    if options.trace:
        loop.call_later(options.warm_up * 60, lambda: gauge.ask(b"where"))
    async with asyncio.TaskGroup() as outer:
        outer.create_task(serve_web(port, score, web := asyncio.Event()))
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(CLIENTS):
                    group.create_task(stay(hub, number, score, stop))
                group.create_task(churn(hub, score, stop))
                group.create_task(kill(score, stop))
                group.create_task(watch(gauge, options.every, samples, stop))
                loop.call_later(options.minutes * 60, stop.set)
        except* Exception:
            score.wrong.append(traceback.format_exc())  # what was measured until then is kept
        if options.trace:
            print(*await asyncio.to_thread(gauge.ask, b"where"), sep="\n")
        web.set()
    return score, samples


@contextmanager
def counted_hub(port: int, options: argparse.Namespace) -> Iterator[tuple[RunningHub, Gauge]]:
    """A hub whose insides can be counted."""
    with new_home() as home:
        door = home / "count.sock"
        switches = [f"--{name}" for name in ("trace", "leak") if getattr(options, name)]
        notes = [sys.executable, "-I", "-S", str(NOTES), "kept"]
        own = {**entry(notes), "mode": "per_session"}
        write_lists(home, {"codex": {"n": own}}, {})
        servers = {
            "old": entry(stub_command("--name", "old", "--era", "legacy")),
            "new": entry(stub_command("--name", "new", "--era", "modern")),
            "mortal": entry(stub_command("--name", MORTAL)),
            "web": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"},
        }
        env = {"TOOLYARD_HISTORY_ROWS": str(HISTORY_ROWS)}
        within = [sys.executable, str(COUNTED), str(door), *switches]
        with running_hub(servers, home=home, env=env, within=within) as hub:
            yield hub, Gauge(hub, door)


def judge(samples: list[dict[str, float]], warm_up: float) -> dict[str, Slope]:
    """Return the growth of everything per hour, once the hub was warm."""
    warm = [sample for sample in samples if sample["seconds"] >= warm_up]
    names = [name for name in samples[0] if name != "seconds"]
    return {name: slope([(s["seconds"], s[name]) for s in warm]) for name in names}


def report(score: Score, samples: list[dict[str, float]], options: argparse.Namespace) -> int:
    """Print and keep what was measured; 1 if something grows or was answered wrongly."""
    slopes = judge(samples, options.warm_up * 60)
    grown = [name for name, most in ALLOWED.items() if slopes[name].least > most]
    for name, line in slopes.items():
        first = next(s[name] for s in samples if s["seconds"] >= options.warm_up * 60)
        print(f"  {name}: {first:.1f} to {samples[-1][name]:.1f}, {line} per hour")
    print(f"  {dict(score.ends)}, {dict(score.events)}")
    for text in score.wrong[:20]:
        print(f"  WRONG {text}")
    options.report.parent.mkdir(parents=True, exist_ok=True)
    kept = {"ends": score.ends, "events": score.events, "samples": samples, "wrong": score.wrong}
    options.report.write_text(json.dumps(kept))
    is_once = score.sent == score.answered and not score.wrong
    shown = ("rss_mib", "pss_mib", "descriptors", "tasks", "children", "state_mib")
    growth = ", ".join(f"{name} {slopes[name]}" for name in shown)
    print(
        f"{'ok  ' if is_once and not grown else 'FAIL'} {options.minutes:g} minutes,"
        f" {score.sent:,} calls, {score.answered:,} ended, {len(score.wrong)} wrong,"
        f" {score.events['kills']} kills, {score.events['sessions']:,} sessions;"
        f" growth per hour: {growth}{f'; TOO MUCH: {grown}' if grown else ''}"
    )
    return 0 if is_once and not grown else 1


def main() -> int:
    """Soak a hub, and judge it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=10)
    parser.add_argument("--every", type=float, default=10, help="seconds between measurements")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--leak", action="store_true")
    parser.add_argument("--report", type=Path, default=ROOT / ".cache" / "proof" / "soak.json")
    options = parser.parse_args()
    port = free_port()
    with counted_hub(port, options) as (hub, gauge):
        score, samples = asyncio.run(soak(hub, gauge, port, options))
    return report(score, samples, options)


if __name__ == "__main__":
    sys.exit(main())
