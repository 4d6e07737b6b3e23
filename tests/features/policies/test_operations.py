"""Policies over the control API: previewed, written with care, and taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import send, servers
from tests.doors.doors import Doors, open_doors

DOCS = {"url": "http://localhost:9/mcp"}
LOCAL = {"command": "no-such-program", "args": ["-x"]}


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_doors(home, {"one": servers()["one"]}) as doors:
        await doors.settled()
        yield doors


async def give(doors: Doors, agent: str, enabled: bool = True, **entries: Any) -> None:
    body = {"enabled": enabled, "servers": entries}
    answer = await send(doors, "PUT", f"/api/v1/agents/{agent}/config", body)
    assert answer.status == 200 and answer.json()["noticed"], answer


async def put_policy(doors: Doors, executor: str, **body: Any) -> None:
    answer = await send(doors, "PUT", f"/api/v1/policies/{executor}", body)
    assert answer.status == 200 and answer.json()["noticed"], answer


async def resolve(doors: Doors, query: str) -> Any:
    return await doors.get(f"/api/v1/resolve?{query}")


async def preview(doors: Doors, executor: str, body: Any) -> list[Any]:
    answer = await send(doors, "POST", f"/api/v1/policies/{executor}/preview", body)
    assert answer.status == 200, answer
    changes: list[Any] = answer.json()["changes"]
    return changes


async def test_a_preview_names_exactly_whose_plans_would_change(yard: Doors) -> None:
    await give(yard, "codex", docs=DOCS, local=LOCAL)
    await give(yard, "cursor", docs=DOCS)
    await give(yard, "gemini", one={"server": "one"})
    await give(yard, "qwen", enabled=False, docs=DOCS, local=LOCAL)
    assert await preview(yard, "local", {}) == []
    assert await preview(yard, "local", {"deny": ["docs"]}) == [
        {"agent": "codex", "executor": "local", "gained": [], "lost": ["docs"], "changed": []},
        {"agent": "cursor", "executor": "local", "gained": [], "lost": ["docs"], "changed": []},
    ]
    rewritten = await preview(yard, "docker", {"http_url_rewrite": {"localhost": "docs"}})
    assert [(c["agent"], c["executor"], c["changed"]) for c in rewritten] == [
        ("codex", "docker", ["docs"]),
        ("cursor", "docker", ["docs"]),
    ]
    assert (await resolve(yard, "agent=codex"))["refusals"] == []  # nothing was saved
    await put_policy(yard, "local", deny=["docs"])
    back = await send(yard, "POST", "/api/v1/policies/local/preview?reset=true", {})
    assert [(c["agent"], c["gained"]) for c in back.json()["changes"]] == [
        ("codex", ["docs"]),
        ("cursor", ["docs"]),
    ]


async def test_a_policy_is_written_with_care_and_taken_back(yard: Doors) -> None:
    path = "/api/v1/policies/docker"
    rows = {row["executor"]: row for row in (await yard.get("/api/v1/policies"))["policies"]}
    assert {"local", "docker", "ssh", "kubernetes"} <= set(rows)
    assert rows["docker"]["policy_of"] == "the default"
    answer = await send(yard, "PUT", path, {"allow_stdio": "no", "alow": []})
    assert answer.status == 422
    assert [fault["field"] for fault in answer.json()["errors"]] == ["allow_stdio", "alow"]
    await put_policy(yard, "docker", allow_sse=False)
    shown = await send(yard, "GET", path)
    assert shown.json()["policy"]["allow_sse"] is False
    assert shown.json()["policy_of"] == "docker"
    assert (await send(yard, "PUT", path, {}, If_Match='"0"')).status == 412
    etag = shown.headers["etag"]
    assert (await send(yard, "DELETE", path, None, If_Match=etag)).status == 200
    assert (await send(yard, "DELETE", path)).status == 404
    assert (await send(yard, "PUT", "/api/v1/policies/mars", {})).status == 404


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("local_pc", "local"),
        ("local_docker", "docker"),
        ("remote_docker", "remote-docker"),
        ("remote_ssh", "ssh"),
        ("k8s_operator", "kubernetes"),
    ],
)
async def test_places_are_known_by_other_names_too(yard: Doors, name: str, meant: str) -> None:
    await give(yard, "codex", docs=DOCS)
    await put_policy(yard, name, deny=["docs"])
    made = await resolve(yard, f"agent=codex&executor={meant}")
    assert [refusal["code"] for refusal in made["refusals"]] == ["denied"]
    assert (await resolve(yard, f"agent=codex&executor={name}"))["executor"] == meant
