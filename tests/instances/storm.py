"""Clients that use one server at once, each in its own way, and know what must come back."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.e2e.talk import Json, Talk, text_of
from tests.instances.crowd import STEPS

CROWD = Path(__file__).with_name("crowd.py")
PROGRESS = "notifications/progress"
Connect = Callable[..., AbstractAsyncContextManager[Talk]]


def crowd(era: str) -> Json:
    """How the server of the storm is started."""
    return {"command": sys.executable, "args": [str(CROWD), era]}


@dataclass(slots=True)
class Storm:
    """What a storm came to; everything but the first three must be empty."""

    calls: int = 0
    cancelled: int = 0
    refused: int = 0
    crossed: list[Any] = field(default_factory=list)
    """What reached the wrong client."""
    lost: list[Any] = field(default_factory=list)
    """What never came."""

    async def client(self, connect: Connect, name: str, era: str, calls: int) -> None:
        """One client: it calls, watches progress, is asked, and changes its mind."""
        async with connect(era, name=name) as talk:
            talk.reply_to = partial(self._reply, name)  # type: ignore[method-assign]
            for number in range(calls):
                arguments = {"who": name, "n": number}
                kind = ("echo", "echo", "steps", "ask", "echo", "wait")[number % 6]
                await getattr(self, kind)(talk, arguments)
                self.calls += 1

    def _reply(self, name: str, asked: Json) -> Json:
        message = asked["params"]["message"]
        if message.split(" ")[0] != name:
            self.crossed.append((name, asked))
        return {"action": "accept", "content": {"name": f"{name} answers {message}"}}

    async def echo(self, talk: Talk, arguments: Json) -> None:
        """A plain call."""
        self._compare(talk, arguments, text_of(await talk.call("crowd__echo", arguments)))

    def _compare(self, talk: Talk, arguments: Json, said: str) -> None:
        if said != f"{arguments['who']} {arguments['n']}":
            self.crossed.append((talk.info["name"], arguments, said))

    async def steps(self, talk: Talk, arguments: Json) -> None:
        """A call with progress: all of it, and nobody else's."""
        talk.heard.clear()
        token = f"{arguments['who']}-{arguments['n']}"
        meta = {"progressToken": token}
        said = await talk.call("crowd__steps", arguments, meta=meta)
        self._compare(talk, arguments, text_of(said))
        wanted = [f"{arguments['who']} {arguments['n']} {step}" for step in range(STEPS)]
        heard = [m["params"] for m in talk.heard if m["method"] == PROGRESS]
        if [each["message"] for each in heard] != wanted:
            self.lost.append((arguments, heard))
        if any(each["progressToken"] != token for each in heard):
            self.crossed.append((arguments, heard))

    async def ask(self, talk: Talk, arguments: Json) -> None:
        """A call that asks: the answer that comes back is our own, or it was refused."""
        said = text_of(await talk.call("crowd__ask", arguments))
        if said == "refused":
            self.refused += 1
            return
        name = arguments["who"]
        if json.loads(said)["content"]["name"] != f"{name} answers {name} {arguments['n']}":
            self.crossed.append((arguments, said))

    async def wait(self, talk: Talk, arguments: Json) -> None:
        """A call that would never end, and is taken back: at once, or when it runs."""
        message = talk.message("tools/call", {"name": "crowd__wait", "arguments": arguments})
        waiting = talk.group.create_task(talk.exchange(message))
        await asyncio.sleep(0.02 if arguments["n"] // 6 % 2 else 0)
        await talk.cancel(message["id"], waiting)
        self.cancelled += 1

    async def stop_running(self, connect: Connect) -> None:
        """A call that certainly runs when it is taken back."""
        async with connect("legacy", name="patient") as talk:
            params = {"name": "crowd__wait", "arguments": {"who": "patient", "n": 0}}
            message = talk.message("tools/call", params, {"progressToken": "patient"})
            waiting = talk.group.create_task(talk.exchange(message))
            await talk.wait_heard(PROGRESS)
            await talk.cancel(message["id"], waiting)
        self.cancelled += 1

    async def tally(self, connect: Connect) -> Json:
        """What the server says of it all, once no cancelled call runs any more."""
        async with connect("legacy", name="last") as talk, asyncio.timeout(60):
            while True:
                said: Json = json.loads(text_of(await talk.call("crowd__tally")))
                if said["running"] == 0:
                    return said
                await asyncio.sleep(0.05)


async def rage(connect: Connect, clients: int, calls: int, eras: tuple[str, ...]) -> Storm:
    """A whole storm."""
    storm = Storm()
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            era = eras[number % len(eras)]
            group.create_task(storm.client(connect, f"c{number}", era, calls))
    return storm
