"""Calls about what lies outside of the yard: catalogs, clients' files, apps, logins, packages."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import keyring

from tests.features.apps.test_operations import define
from tests.features.catalog.registry import Shop as Registry
from tests.features.catalog.registry import shop as serving
from tests.features.packages.shop import Shop
from tests.fixtures.issuer import issuing
from tests.fixtures.keyrings import InMemory
from tests.fixtures.stub_run import running_http_stub
from tests.golden.recorder import Recorder, Yard
from toolyard.announce import Announcements, describe, user_path

CATALOG = "/api/v1/catalog"
PUBLISHED = "/v0.1/servers"
CLIENTS = "/api/v1/clients"
SETUP = "/api/v1/setup"
APPS = "/api/v1/apps"
PACKAGES = "/api/v1/packages"
MINE = {
    "name": "mine",
    "title": "Mine",
    "description": "A golden server.",
    "category": "gold",
    "runtime": {
        "command": sys.executable,
        "args": ["-m", "toolyard.example"],
        "env": {"MINE_KEY": "${MINE_KEY}"},
    },
    "authorization": {"type": "api_key", "variables": [{"name": "MINE_KEY", "required": True}]},
}


async def catalog(record: Recorder) -> None:
    """Definitions looked at, written, added, dropped and imported."""
    async with record.yard() as yard:
        await yard.ask("PUT", f"{CATALOG}/mine", MINE)
        await yard.ask("PUT", f"{CATALOG}/mine", {"name": "mine"})
        await yard.ask("GET", f"{CATALOG}/mine")
        await yard.ask("GET", f"{CATALOG}/0-9-8-7")
        await yard.ask("GET", f"{CATALOG}?search=mine&category=gold")
        await yard.ask("POST", f"{CATALOG}/mine/add", {})
        added = {"values": {"MINE_KEY": "1"}, "enabled": False}
        await yard.ask("POST", f"{CATALOG}/mine/add", added)
        await yard.ask("GET", f"{CATALOG}?added=true")
        await yard.ask("POST", f"{CATALOG}/mine/drop")
        await yard.ask("DELETE", f"{CATALOG}/mine")
        await yard.ask("DELETE", f"{CATALOG}/mine")
        with serving(Registry()) as url:
            await yard.ask("GET", f"/api/v1/published?registry={quote(url)}&search=weather&limit=1")
            await yard.ask("GET", "/api/v1/published?registry=ftp://nowhere")
            wanted = {"name": "io.example/weather", "registry": url}
            await yard.ask("POST", f"{CATALOG}/import", wanted)
            await yard.ask("POST", f"{CATALOG}/import", {**wanted, "name": "io.example/none"})


async def published(record: Recorder) -> None:
    """Our own catalog as others read it."""
    async with record.yard() as yard:
        for name in ("mine", "mine-too"):
            body = json.dumps({**MINE, "name": name, "version": "1.2.3"}).encode()
            assert (await yard.doors.ask("PUT", f"{CATALOG}/{name}", body)).status == 200
        page = await yard.ask("GET", f"{PUBLISHED}?search=golden&limit=1")
        name = page["servers"][0]["server"]["name"]
        one = f"{PUBLISHED}/{quote(name, safe='')}/versions"
        await yard.ask("GET", one)
        await yard.ask("GET", f"{one}/latest")
        await yard.ask("GET", f"{one}/99")
        await yard.ask("GET", f"{PUBLISHED}/nobody/versions")
        await yard.ask("GET", f"{PUBLISHED}?updated_since=soon")


async def secrets(record: Recorder) -> None:
    """Secrets in a keyring, and a login at a server."""
    keyring.set_keyring(InMemory())
    with issuing() as issuer:
        known = {
            "remote": {"url": issuer.mcp},
            "web": {"command": "x", "env": {"A": "${keyring:a}"}},
        }
        async with record.yard(known) as yard:
            await yard.ask("PUT", "/api/v1/secrets/a", {"value": "only-for-this-test"})
            await yard.ask("PUT", "/api/v1/secrets/a", {"value": ""})
            await yard.ask("GET", "/api/v1/secrets")
            await yard.ask("DELETE", "/api/v1/secrets/a")
            await yard.ask("DELETE", "/api/v1/secrets/b")
            await yard.ask("GET", "/api/v1/auth")
            page = await yard.ask("POST", "/api/v1/auth/remote/login")
            await asyncio.to_thread(_agree, page["url"])
            await yard.doors.until(lambda: _is_ready(yard, "remote"))
            await yard.ask("GET", "/api/v1/auth")
            await yard.ask("POST", "/api/v1/auth/web/login")
            await yard.ask("POST", "/api/v1/auth/remote/logout")
            await yard.ask("POST", "/api/v1/auth/remote/logout")


def _agree(url: str) -> None:
    """Do as a person who opens the page and agrees."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.status == 200


async def _is_ready(yard: Yard, name: str) -> bool:
    status: str = (await yard.doors.server(name))["status"]
    return status == "ready"


async def clients(record: Recorder) -> None:
    """Clients' files changed and put back."""
    file = record.home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    file.chmod(0o644)
    async with record.yard() as yard:
        await yard.ask("GET", CLIENTS)
        await yard.ask("POST", f"{CLIENTS}/cursor/connect", {"dry_run": True})
        done = await yard.ask("POST", f"{CLIENTS}/cursor/connect", {"http": True})
        await yard.ask("GET", f"{CLIENTS}/changes")
        await yard.ask("POST", f"{CLIENTS}/changes/{done['id']}/undo", {})
        await yard.ask("POST", f"{CLIENTS}/codex/connect", {"agent": "codex"})
        await yard.ask("POST", f"{CLIENTS}/codex/disconnect", {})
        await yard.ask("POST", f"{CLIENTS}/nobody/connect", {})
        await yard.ask("POST", f"{CLIENTS}/cursor/connect", {"agent": "a b"})
        await yard.ask("POST", f"{CLIENTS}/changes/none/undo", {})


async def setup(record: Recorder) -> None:
    """All clients brought into the yard, and that undone."""
    keyring.set_keyring(InMemory())
    file = record.home / ".gemini" / "settings.json"
    file.parent.mkdir()
    entry = {"command": "x", "env": {"TOKEN": "only-for-this-test"}, "excludeTools": ["rm"]}
    guarded = {"command": "y", "sandbox": True}
    file.write_text(json.dumps({"mcpServers": {"a": entry, "b": guarded}}))
    async with record.yard() as yard:
        plan = await yard.ask("GET", SETUP)
        await yard.ask("POST", f"{SETUP}/preview", {"leave_servers": ["a"]})
        await yard.ask("POST", SETUP, {"plan": "another"})
        done = await yard.ask("POST", SETUP, {"plan": plan["id"]})
        await yard.ask("POST", f"{SETUP}/{done['id']}/undo", {})
        await yard.ask("POST", f"{SETUP}/none/undo", {})


async def apps(record: Recorder) -> None:
    """Apps and their programs."""
    mark = define(record.home)
    async with record.yard() as yard:
        await yard.ask("GET", APPS)
        await yard.ask("POST", f"{APPS}/studio/scan")
        await yard.ask("GET", f"{APPS}/nothing")
        await yard.ask("GET", f"{APPS}/studio/installed")
        await yard.ask("POST", f"{APPS}/studio/launch", {"label": "Studio"})
        await yard.doors.until(lambda: _exists(mark))
        await yard.ask("POST", f"{APPS}/studio/launch", {"label": "Studio Dev"})
        await yard.ask("PUT", f"{APPS}/atelier", {"variants": {"dev": 9}, "match": "at"})
        await yard.ask("PUT", f"{APPS}/atelier", {"variants": {}})
        await yard.ask("POST", f"{APPS}/atelier/scan")
        await yard.ask("GET", f"{APPS}/atelier")
        await yard.ask("DELETE", f"{APPS}/atelier")
        await yard.ask("DELETE", f"{APPS}/kunobi")


async def _exists(path: Path) -> bool:
    return path.exists()


async def announced(record: Recorder) -> None:
    """Servers that announced themselves, one here and one elsewhere."""
    far: dict[str, Any] = {"name": "far", "pid": 7, "host": "another-host", "started_at": "soon"}
    with running_http_stub("--name", "near", "--only", "echo", "--tools-only") as url:
        near = describe("near", url, tools=["echo"], version="1.2")
        async with record.yard() as yard:
            file = Announcements(user_path())
            file.register_server("near_1", near)
            file.register_server("far_7", {**far, "http": 3})
            await yard.doors.until(lambda: _are_listed(yard))
            await yard.ask("GET", "/api/v1/announced")


async def _are_listed(yard: Yard) -> bool:
    answer = await yard.doors.get("/api/v1/announced")
    rows = {row["name"]: row["status"] for row in answer["servers"]}
    return rows == {"near": "ready", "far": "waits"} and bool(answer["problems"])


async def packages(record: Recorder) -> None:
    """Packages that were installed for servers."""
    shop = Shop(record.home)
    shop.publish("hello", "1.0")
    async with record.yard({"greeter": {"command": "npx", "args": ["-y", "hello"]}}) as yard:
        await yard.doors.until(lambda: _is_installed(yard))
        await yard.ask("GET", PACKAGES)
        await yard.ask("GET", "/api/v1/servers/greeter")
        shop.publish("hello", "1.1")
        await yard.ask("POST", f"{PACKAGES}/greeter/update")
        shop.close()
        await yard.ask("POST", f"{PACKAGES}/greeter/update")
        await yard.ask("DELETE", f"{PACKAGES}/nobody")
        await yard.ask("DELETE", f"{PACKAGES}/greeter")


async def _is_installed(yard: Yard) -> bool:
    return bool((await yard.doors.get(PACKAGES))["packages"])
