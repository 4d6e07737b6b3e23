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
