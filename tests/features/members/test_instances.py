"""Servers that run for the sessions of one member: so many, and as long as they are one."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.control.company import put_profile, send
from tests.doors.doors import Doors, Json
from tests.e2e.hub import RunningHub
from tests.e2e.talk import Talk, talking, text_of
from tests.features.members.team import Person, open_team
from tests.features.members.test_doors import members_kept
from tests.fixtures.signing_issuer import SigningIssuer
from tests.instances import folders
from tests.instances.yard import is_alive

ENTRY: Json = {"command": sys.executable, "args": [str(folders.__file__)]}


@dataclass(frozen=True, slots=True)
class MembersHub(RunningHub):
    """A hub as a member reaches it."""

    bearer: str

    @property
    def token(self) -> str:
        """The token that opens it."""
        return self.bearer


@asynccontextmanager
async def team_with_folders(
    home: Path, issuer: SigningIssuer, settings: Json | None = None, **limits: Any
) -> AsyncIterator[Doors]:
    """A hub whose server runs for each session, because it asks for the folders of its client."""
    async with open_team(home, issuer, {"fs": ENTRY}, **(settings or {})) as doors:
        await put_profile(doors, "fs", allow=["fs"])
        order = {"profiles": ["fs"], **limits}
        assert (await send(doors, "PUT", "/api/v1/admissions/developers", order)).status == 200

        async def is_known() -> bool:
            return any("folders" in text for text in (await doors.server("fs"))["asks"])

        await doors.until(is_known)
        yield doors


@asynccontextmanager
async def window(doors: Doors, issuer: SigningIssuer, who: str, name: str) -> AsyncIterator[Talk]:
    """A session of a member, at work in a folder of its name."""
    token = Person(doors, issuer, who).token
    hub = MembersHub(f"http://127.0.0.1:{doors.port}", doors.home, None, token)  # type: ignore[arg-type]
    answers = {"roots/list": {"roots": [{"uri": f"file:///{name}"}]}}
    async with talking(hub, "legacy", "http", name=name, answers=answers) as talk:
        yield talk


async def pid_of(talk: Talk) -> int:
    """The process that serves a session."""
    pid: int = json.loads(text_of(await talk.call("fs__folders")))["pid"]
    return pid


async def test_an_admission_limits_the_servers_that_run_for_each_member(
    home: Path, issuer: SigningIssuer
) -> None:
    async with (
        team_with_folders(home, issuer, instances=1) as doors,
        window(doors, issuer, "ann", "first") as first,
        window(doors, issuer, "ann", "second") as second,
        window(doors, issuer, "bob", "other") as other,
    ):
        pid, others = await pid_of(first), await pid_of(other)
        assert is_alive(await pid_of(second))

        async def is_over() -> bool:
            return not is_alive(pid)

        await doors.until(is_over)
        assert await pid_of(other) == others


async def test_what_runs_for_a_removed_member_ends_at_once(
    home: Path, issuer: SigningIssuer
) -> None:
    async with (
        team_with_folders(home, issuer) as doors,
        window(doors, issuer, "bob", "other") as other,
        window(doors, issuer, "ann", "first") as first,
    ):
        pid, others = await pid_of(first), await pid_of(other)
        await members_kept(doors)
        assert (await send(doors, "DELETE", "/api/v1/members/ann")).status == 200
        rows = (await doors.get("/api/v1/instances"))["instances"]
        assert [row["client"] for row in rows if row["client"]] == ["other"]

        async def is_over() -> bool:
            return not is_alive(pid)

        await doors.until(is_over)
        assert await pid_of(other) == others
