"""A setup is planned, carried out and undone over the control API."""

from __future__ import annotations

import json
from pathlib import Path

from tests.control.company import send
from tests.doors.doors import open_doors

TOP = "/api/v1/setup"
TOKEN = "ghp_notARealTokenOnlyForThisTest0123"
BEFORE = json.dumps({"mcpServers": {"a": {"command": "x", "env": {"TOKEN": TOKEN}}}}).encode()


async def test_a_setup_is_planned_carried_out_and_undone(home: Path, no_keyring: None) -> None:
    cursor = home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_bytes(BEFORE)
    async with open_doors(home) as doors:
        tried = await send(doors, "GET", TOP)
        plan = tried.json()
        assert tried.status == 200 and TOKEN not in tried.body.decode()
        assert [server["action"] for server in plan["servers"]] == ["take"]
        assert cursor.read_bytes() == BEFORE

        assert (await send(doors, "POST", TOP, {"plan": "another"})).status == 412
        done = (await send(doors, "POST", TOP, {"plan": plan["id"]})).json()
        assert done["servers"] == ["a"] and "cursor" in done["connected"]
        assert TOKEN.encode() not in cursor.read_bytes()
        assert (await send(doors, "GET", TOP)).json()["servers"] == []

        assert (await send(doors, "POST", f"{TOP}/none/undo", {})).status == 404
        undone = await send(doors, "POST", f"{TOP}/{done['id']}/undo", {})
        assert undone.status == 200 and str(cursor) in undone.json()["restored"]
        assert cursor.read_bytes() == BEFORE
        assert (await send(doors, "POST", f"{TOP}/{done['id']}/undo", {})).status == 404


async def test_what_is_left_out_of_a_setup_stays_as_it_is(home: Path, no_keyring: None) -> None:
    two = {"a": {"command": "x", "env": {"TOKEN": TOKEN}}, "b": {"command": "y"}}
    cursor, gemini = home / ".cursor" / "mcp.json", home / ".gemini" / "settings.json"
    for path in (cursor, gemini):
        path.parent.mkdir()
        path.write_text(json.dumps({"mcpServers": two}))
    before = gemini.read_bytes()
    choice = {"leave_servers": ["a"], "leave_clients": ["gemini"]}
    async with open_doors(home) as doors:
        everything = (await send(doors, "GET", TOP)).json()
        plan = (await send(doors, "POST", f"{TOP}/preview", choice)).json()
        clients = {client["client"]: client for client in plan["clients"]}
        assert [server["action"] for server in plan["servers"]] == ["leave", "take"]
        assert clients["cursor"]["stays"] == ["a"] and clients["cursor"]["replaced"] == ["b"]
        assert clients["gemini"]["action"] == "skip" and clients["gemini"]["stays"] == ["a", "b"]

        # The plan of another choice is not the one that was shown.
        order = {"plan": everything["id"], **choice}
        assert (await send(doors, "POST", TOP, order)).status == 412
        done = (await send(doors, "POST", TOP, {"plan": plan["id"], **choice})).json()
        assert (done["servers"], done["secrets"]) == (["b"], [])
        assert done["connected"] == ["cursor"]
        entries = json.loads(cursor.read_text())["mcpServers"]
        assert entries["a"] == two["a"] and set(entries) == {"a", "toolyard"}
        assert gemini.read_bytes() == before
