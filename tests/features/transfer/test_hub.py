"""Documents applied to a running hub: the same orders, seen at once."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.doors.doors import NOBODY, Answer, Doors, Json, open_doors
from tests.features.approvals.yard import says, tool
from tests.features.transfer.yards import WHOLE
from tests.fixtures.postgres import SharedYard
from toolyard.console.here import run_here
from toolyard.features.transfer.operations import ApplyDocument, apply_document
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.settings import read_settings

KINDS = (
    *("server", "added", "profile", "quirk", "app", "agent", "config", "override", "policy"),
    *("site", "token", "mark", "admission", "member"),
)
"""The kinds of records that people order."""


async def apply(doors: Doors, document: Any, query: str = "", **head: str) -> Answer:
    names = {key.replace("_", "-"): value for key, value in head.items()}
    body = json.dumps(document).encode()
    return await doors.ask("POST", f"/api/v1/apply{query}", body, names)


async def made(doors: Doors, document: Any, query: str = "") -> Json:
    """Apply a document that must succeed."""
    answer = await apply(doors, document, query)
    applied: Json = answer.json()
    assert answer.status == 200 and applied["failed"] is None, applied
    assert all(change["done"] for change in applied["changes"])
    return applied


async def export(doors: Doors) -> Json:
    document: Json = (await doors.get("/api/v1/export"))["document"]
    return document


def switched_off() -> Json:
    """The document with something in every section, whose servers nobody starts."""
    document: Json = json.loads(json.dumps(WHOLE))
    document["servers"]["git"]["disabled"] = True
    document["catalog"]["shop"]["enabled"] = False
    document["lists"]["mine"]["enabled"] = False
    return document


async def test_a_yard_goes_from_a_hub_on_files_to_one_on_postgresql(
    home: Path, shared_yard: SharedYard
) -> None:
    document = switched_off()
    for name in ("a", "b"):
        (home / name).mkdir()
    async with open_doors(home / "a", NOBODY) as files:
        await made(files, document, "?prune=true")
        assert await export(files) == document
        exported = await export(files)
    async with open_doors(home / "b", **shared_yard.settings) as shared:
        await made(shared, exported)
        assert await export(shared) == document
        assert (await made(shared, exported, "?prune=true"))["changes"] == []
        empty: Json = {section: {} for section in document if section != "approvals"}
        await made(shared, {**empty, "version": 1}, "?prune=true")
        assert {name for name, body in (await export(shared)).items() if body} == {"version"}


async def test_who_decided_on_another_state_is_told_with_412(home: Path) -> None:
    async with open_doors(home, NOBODY) as doors:
        profiles = {"version": 1, "profiles": {"p": {"allow": ["git"]}}}
        preview = await apply(doors, profiles, "?dry_run=true")
        head = {"If_Match": preview.headers["etag"]}
        await made(doors, {"version": 1, "quirks": {"cursor": {"most_tools": 40}}})
        refused = await apply(doors, profiles, "", **head)
        assert refused.status == 412, refused
        assert (await doors.ask("GET", "/api/v1/profiles/p")).status == 404
        exported = await doors.ask("GET", "/api/v1/export")
        done = await apply(doors, profiles, "", If_Match=exported.headers["etag"])
        assert done.status == 200 and done.json()["failed"] is None


async def test_where_it_stops_the_rest_is_not_done_and_a_second_time_goes_on(home: Path) -> None:
    document: Json = {
        "version": 1,
        "executors": {
            "box": {"type": "docker", "host": "tcp://127.0.0.1:9"},
            "cluster": {"type": "kubernetes", "options": {"colour": "green"}},
        },
        "profiles": {"p": {"allow": ["git"]}},
    }
    async with open_doors(home, NOBODY) as doors:
        applied = (await apply(doors, document)).json()
        assert applied["failed"]["name"] == "cluster" and "colour" in applied["failed"]["text"]
        assert [change["done"] for change in applied["changes"]] == [True, False, False]
        document["executors"]["cluster"] = {"type": "kubernetes"}
        names = [change["name"] for change in (await made(doors, document))["changes"]]
        assert names == ["cluster", "p"]


async def test_a_document_with_faults_is_refused_with_all_of_them(home: Path) -> None:
    async with open_doors(home, NOBODY) as doors:
        refused = await apply(doors, {"version": 1, "servers": {"a": {}, "b": {"x": 1}}})
        assert refused.status == 422
        assert len(refused.json()["errors"]) == 2
        assert (await apply(doors, [])).status == 422


async def test_what_a_document_approves_is_compared_with_the_first_start(home: Path) -> None:
    """A tool that says something else than what was reviewed is held from the beginning."""
    entry = says(home, "shop", tool("look"), tool("buy", "does it, and more"))
    approved = {"launch": True, "tools": {"look": tool("look"), "buy": tool("buy")}}
    document = {
        "version": 1,
        "servers": {"shop": entry},
        "approvals": {"shop@configured": approved},
    }
    async with open_doors(home, NOBODY) as doors:
        await made(doors, document)

        async def listed() -> bool:
            return "shop__look" in await doors.tools()

        await doors.until(listed)
        assert "shop__buy" not in await doors.tools()
        assert (await doors.server("shop"))["held"] == ["buy"]
        reviewed = {"tools": {"buy": tool("buy", "does it, and more")}}
        await made(doors, {"version": 1, "approvals": {"shop@configured": reviewed}})
        assert (await doors.server("shop"))["held"] == []
        exported = (await export(doors))["approvals"]["shop@configured"]
        assert set(exported["tools"]) == {"look", "buy"}


def ordered_by(yard: SharedYard) -> dict[str, set[str]]:
    """Those who wrote or removed the records of each kind."""
    database = SharedDatabase(yard.address, yard.schema, follows=False)
    with closing(database), database.transaction() as connection:
        rows = connection.execute("SELECT kind, by FROM records").fetchall()
    writers: dict[str, set[str]] = {}
    for kind, by in rows:
        writers.setdefault(kind, set()).add(by)
    return writers


async def test_every_record_of_a_shared_yard_says_who_ordered_it(
    home: Path, shared_yard: SharedYard
) -> None:
    document = switched_off()
    async with open_doors(home, **shared_yard.settings) as doors:
        await made(doors, document)
        await doors.ask("POST", "/api/v1/tokens", b'{"name": "mine"}')
        writers = ordered_by(shared_yard)
        for kind in KINDS:
            assert writers[kind] == {"control"}, (kind, writers)
        # What is removed says so, too.
        empty: Json = {section: {} for section in document if section != "approvals"}
    settings = read_settings({}, {"TOOLYARD_HOME": str(home), **shared_yard.environment})
    order = ApplyDocument({**empty, "version": 1}, prune=True)
    removed = await asyncio.to_thread(run_here, settings, apply_document, order)
    assert removed.answer.failed is None
    for kind in set(KINDS) - {"token"}:
        assert ordered_by(shared_yard)[kind] == {"command line"}, kind
