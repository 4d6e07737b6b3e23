"""Real hubs that share a key, each with its own process, home and port; a client between them."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2

from tests.e2e.hub import (
    TOKEN,
    RunningHub,
    new_home,
    running_hub,
    scripted,
    stdio_stub,
)
from tests.e2e.talk import ALL, ANSWERS, PATIENCE, PLAIN, HttpTalk, Json
from tests.fixtures.ports import free_port
from tests.fixtures.postgres import SharedYard
from tests.fixtures.stub_run import running_http_stub, stub_command

KEY = "fake-key-for-these-tests-alone-0123456789"
"""Nobody's key."""
Servers = Callable[[Path], Mapping[str, Any]]
"""Gives the servers of a hub, of whose own home they may be."""


@contextmanager
def running_fleet(
    servers: Servers, keys: Sequence[str], **settings: str
) -> Iterator[list[RunningHub]]:
    """Hubs called r1, r2 and so on, one for each key; `settings` are more of their variables.

    They share the token, and nothing on disk. A hub with an empty key is on its own.
    """
    with ExitStack() as stack:
        hubs = []
        for number, key in enumerate(keys, 1):
            home = stack.enter_context(new_home())
            env = {"TOOLYARD_REPLICA": f"r{number}", "TOOLYARD_KEY": key, **settings}
            hub = running_hub(servers(home), home=home, env=env)
            hubs.append(stack.enter_context(hub))
        yield hubs


@dataclass(frozen=True, slots=True)
class SharedHub:
    """A hub that shares a database with others, and passes on to them."""

    name: str
    hub: RunningHub
    peer_port: int


@contextmanager
def running_shared_fleet(
    yard: SharedYard, count: int, more: Mapping[str, Json] = MappingProxyType({}), **settings: str
) -> Iterator[list[SharedHub]]:
    """Hubs called r1, r2 and so on that share a yard, a key and a token, and know each other.

    All have the server `old`, a stub, which one of them runs; it records at the home of the first.
    `more` are the entries of further servers.
    """
    with ExitStack() as stack:
        hubs = [stack.enter_context(shared_hub(yard, n + 1, settings)) for n in range(count)]
        command, *args = stub_command("--name", "old", "--era", "legacy", "--tasks")
        record = ["--record", str(hubs[0].hub.record("old"))]
        old = {"command": command, "args": [*args, *record]}
        for name, entry in {"old": old, **more}.items():
            ask(hubs[0].hub, "POST", "servers", {"name": name, "entry": entry})
        for shared in hubs:
            until(partial(knows, shared.hub, count, 1 + len(more)))
        yield hubs


@contextmanager
def shared_hub(yard: SharedYard, number: int, settings: Mapping[str, str]) -> Iterator[SharedHub]:
    """Run a hub that shares a yard and has a door for its peers."""
    peer_port = free_port()
    env = {
        **yard.environment,
        "TOOLYARD_KEY": KEY,
        "TOOLYARD_REPLICA": f"r{number}",
        "TOOLYARD_PEER_PORT": str(peer_port),
        **settings,
    }
    with running_hub(None, env=env) as hub:
        yield SharedHub(f"r{number}", hub, peer_port)


def ask(hub: RunningHub, method: str, path: str, body: Json | None = None) -> Json:
    """Give a hub an order that it must carry out; its answer."""
    head = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(headers=head, timeout=PATIENCE, **PLAIN) as client:
        answer = client.request(method, f"{hub.url}/api/v1/{path}", json=body)
    assert answer.status_code < 300, answer.text
    found: Json = answer.json()
    return found


def knows(hub: RunningHub, replicas: int, servers: int = 1) -> bool:
    """Tell whether a hub knows so many hubs, and the tools of so many servers."""
    alive = ask(hub, "GET", "replicas")["replicas"]
    listed = ask(hub, "GET", "servers")["servers"]
    return len(alive) == replicas and sum(bool(server["tools"]) for server in listed) == servers


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not holds():
        assert time.monotonic() < end
        pause.wait(0.05)


@contextmanager
def usual_servers() -> Iterator[Servers]:
    """One server behind an address for all hubs, `web`; for each hub processes of its own.

    These are `old`, a stub; and `shelf`, which gives out a link that it does not list.
    """
    with running_http_stub("--name", "web", "--era", "legacy") as url:
        yield lambda home: {
            "web": {"url": url},
            "old": stdio_stub("old", home, "--era", "legacy", "--tasks"),
            "shelf": scripted(home, "shelf", SHELF, tools={}, resources={}),
        }


SHELF = {
    "tools/list": '{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}',
    "tools/call find": '{"content":[{"type":"resource_link","uri":"book://9","name":"9"}]}',
    "resources/list": '{"resources":[]}',
    "resources/read book://9": '{"contents":[{"uri":"book://9","text":"the ninth"}]}',
}


class Wanderer(HttpTalk):
    """A client that may go to another hub with every message, as behind a balancer."""

    hubs: Sequence[RunningHub]
    answers_at: RunningHub | None = None
    """The hub that gets its answers to questions, if not the one that is called."""
    refusals: list[Json]
    """The answers that were not taken."""

    ring: Iterator[RunningHub] | None = None
    """The hubs that its messages go to in turn, if it does not stay where it is."""

    async def exchange(self, message: Json) -> Json:
        self._next()
        return await super().exchange(message)

    def _next(self) -> None:
        if self.ring is not None:
            self.go(next(self.ring))

    def go(self, hub: RunningHub) -> None:
        """Speak to this hub from now on."""
        self.url = hub.mcp + self.path

    async def status(self, method: str = "ping", token: str = TOKEN) -> int:
        """Send a request, with some token; the status of HTTP."""
        message = self.message(method, {})
        headers = {**self.headers(message), "Authorization": f"Bearer {token}"}
        return (await self.http.post(self.url, json=message, headers=headers)).status_code

    async def end(self) -> int:
        """End the session; the status of HTTP."""
        return (await self.http.delete(self.url, headers=self.session)).status_code

    async def say(self, message: Json) -> None:
        self._next()
        url = self.answers_at.mcp + self.path if self.answers_at is not None else self.url
        answer = await self.http.post(url, json=message, headers=self.headers(message))
        if answer.status_code != 202:
            self.refusals.append({"status": answer.status_code, **answer.json()})

    @asynccontextmanager
    async def opened(self, hub: RunningHub) -> AsyncIterator[None]:
        """Begin at a hub, and hold no stream."""
        self.go(hub)
        self.session, self.refusals = {}, []
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=bearer, timeout=PATIENCE, **PLAIN) as self.http:
            await self.greet()
            yield


@asynccontextmanager
async def wandering(
    hub: RunningHub,
    era: str = "legacy",
    *,
    name: str = "wanderer",
    path: str = "",
    capabilities: Json | None = None,
) -> AsyncIterator[Wanderer]:
    """A client of this era that begins at a hub."""
    talk = Wanderer(era, name, ALL if capabilities is None else capabilities, ANSWERS)
    talk.path = path
    async with talk.group, talk.opened(hub):
        yield talk
