"""Real hubs that share a key, each with its own process, home and port; a client between them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.e2e.hub import TOKEN, RunningHub, new_home, running_hub, scripted, stdio_stub
from tests.e2e.talk import ALL, ANSWERS, PATIENCE, PLAIN, HttpTalk, Json
from tests.fixtures.stub_run import running_http_stub

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
