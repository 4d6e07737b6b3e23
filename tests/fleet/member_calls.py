"""Mixed calls of two members over two hubs: each answer must name the credential of its caller."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.control.company import entry, put_profile
from tests.doors.doors import Doors, open_doors
from tests.features.members.team import Person, admit, log_in_at_server
from tests.fixtures.naming_issuer import NamingIssuer
from tests.fixtures.ports import free_ports
from tests.fixtures.postgres import SharedYard
from tests.fixtures.signing_issuer import SigningIssuer

KEY = ("a-key-of-these-tests-0123456789-abcdef",)
SECRETS = {"ann": "secret-of-ann-4711-abcdef", "bob": "secret-of-bob-0815-abcdef"}
AT_ONCE = 16
REGION_BYTES = 64 << 20
"""The largest part of a process's memory that is read at a time."""


class MemberFleet:
    """Two hubs, and two members with credentials of their own for a process and an address."""

    def __init__(
        self, hubs: tuple[Doors, Doors], people: SigningIssuer, remote: NamingIssuer
    ) -> None:
        self.hubs, self.remote = hubs, remote
        self._issuer = people
        self.people: dict[str, list[Person]] = {}
        for name in SECRETS:
            self._enter(name, int(time.time()))

    def _enter(self, name: str, issued_at: int) -> None:
        about: dict[str, Any] = {"aud": "team", "scope": "toolyard:own", "iat": issued_at}
        self.people[name] = [Person(hub, self._issuer, name, **about) for hub in self.hubs]

    def come_back(self, name: str) -> None:
        """Give a member who was removed a token that is newer than that."""
        self._enter(name, int(time.time()) + 30)

    async def prepare(self) -> None:
        """Give both members their credentials, and wait until both hubs know the servers."""
        for name, value in SECRETS.items():
            person = self.people[name][0]
            order = await person.order("PUT", "/api/v1/my/secrets/whose", {"value": value})
            assert order.status == 200, order
            self.remote.person = name
            await log_in_at_server(person, "remote")
        for place, hub in enumerate(self.hubs):

            async def is_known(place: int = place) -> bool:
                tools = [await self.people[name][place].tools() for name in SECRETS]
                return all({"remote__whoami", "mine__env"} <= {*seen} for seen in tools)

            await hub.until(is_known, 120)
            for name in SECRETS:

                async def is_in(name: str = name, place: int = place) -> bool:
                    return await self.call(name, place, "remote__whoami") == name

                await hub.until(is_in, 120)

    async def call(self, name: str, place: int, tool: str) -> str:
        """Call a tool as a member at a hub; the text of the answer."""
        arguments = {"name": "WHOSE"} if tool == "mine__env" else {}
        answer = await self.people[name][place].call(tool, **arguments)
        content = answer.get("result", {}).get("content")
        return str(content[0]["text"]) if content else f"no answer: {answer}"

    async def storm(self, calls: int, seed: int) -> Counter[str]:
        """Make that many calls; count those that were answered right, wrong, and not at all."""
        choose, outcomes = random.Random(seed), Counter[str]()
        orders = iter(
            [
                (choose.choice([*SECRETS]), choose.randrange(2), choose.choice(["mine", "remote"]))
                for _ in range(calls)
            ]
        )

        async def work() -> None:
            for name, place, server in orders:
                tool = "mine__env" if server == "mine" else "remote__whoami"
                right = SECRETS[name] if server == "mine" else name
                text = await self.call(name, place, tool)
                others = [other for other in SECRETS if other != name]
                is_crossed = any(other in text for other in others)
                outcomes["right" if text == right else "crossed" if is_crossed else text] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
        return outcomes

    async def processes(self) -> set[int]:
        """The processes that run for members, at either hub."""
        pids: set[int] = set()
        for hub in self.hubs:
            rows = (await hub.get("/api/v1/instances"))["instances"]
            pids |= {row["pid"] for row in rows if row["pid"] and row["mode"] == "per_member"}
        return pids


@asynccontextmanager
async def open_fleet(
    home: Path, yard: SharedYard, people: SigningIssuer, remote: NamingIssuer
) -> AsyncIterator[MemberFleet]:
    """Two hubs that share a database, and lend each other the links of processes."""
    ports = free_ports(2)
    shared = {**yard.settings, "key": KEY, "issuer": people.url, "audience": ("team",)}
    for name in ("a", "b"):
        (home / name).mkdir()
    async with (
        open_doors(home / "a", replica="a", peer_port=ports[0], **shared) as one,
        open_doors(home / "b", replica="b", peer_port=ports[1], **shared) as other,
    ):
        mine = {**entry("mine", "--only", "env,echo"), "env": {"WHOSE": "${member:whose}"}}
        for name, written in {
            "mine": mine,
            "remote": {"url": remote.mcp, "login": "member"},
        }.items():
            order = {"name": name, "entry": written}
            answer = await send_order(one, order)
            assert answer < 300, answer
        await put_profile(one, "both", allow=["remote", "mine"])
        await admit(one, "developers", "both")
        fleet = MemberFleet((one, other), people, remote)
        await fleet.prepare()
        yield fleet


async def send_order(hub: Doors, order: Mapping[str, object]) -> int:
    """Write a server down; the status."""
    from tests.control.company import send

    return (await send(hub, "POST", "/api/v1/servers", order)).status


def memory_of(pid: int) -> bytes:
    """All that can be read of a process: its environment, and its memory."""
    parts = [Path(f"/proc/{pid}/environ").read_bytes()]
    maps = Path(f"/proc/{pid}/maps").read_text()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) r", maps, re.MULTILINE):
            start, size = int(begin, 16), int(end, 16) - int(begin, 16)
            with suppress(OSError, ValueError, OverflowError):
                memory.seek(start)
                parts.append(memory.read(min(size, REGION_BYTES)))
    return b"".join(parts)
