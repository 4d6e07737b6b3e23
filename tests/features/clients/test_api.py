"""Clients are connected, disconnected and put back over the control API."""

from __future__ import annotations

from pathlib import Path

from tests.control.company import send
from tests.doors.doors import open_doors

TOP = "/api/v1/clients"
BEFORE = b'{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "a-secret-0123456789"}}}}'


async def test_a_client_is_connected_with_a_preview_and_put_back(home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(BEFORE)
    async with open_doors(home) as doors:
        tried = await send(doors, "POST", f"{TOP}/cursor/connect", {"dry_run": True})
        assert tried.status == 200 and '"toolyard"' in tried.json()["difference"]
        assert file.read_bytes() == BEFORE and "a-secret" not in tried.body.decode()

        done = (await send(doors, "POST", f"{TOP}/cursor/connect", {"http": True})).json()
        assert done["changed"] and done["what"] == "connected"
        assert b"Bearer ty_" in file.read_bytes() and "ty_" not in str(done)
        rows = (await send(doors, "GET", TOP)).json()["clients"]
        assert [each["client"] for each in rows if each["how"] == "http"] == ["cursor"]

        (token,) = (await send(doors, "GET", "/api/v1/tokens")).json()["tokens"]
        assert token["name"] == "client-cursor"
        (change,) = (await send(doors, "GET", f"{TOP}/changes")).json()["changes"]
        assert (change["id"], change["undone"]) == (done["id"], "")
        undone = await send(doors, "POST", f"{TOP}/changes/{change['id']}/undo", {})
        assert (undone.status, undone.json()["token_ended"]) == (200, "client-cursor")
        assert file.read_bytes() == BEFORE
        assert (await send(doors, "GET", "/api/v1/tokens")).json()["tokens"] == []

        await send(doors, "POST", f"{TOP}/cursor/connect", {})
        out = await send(doors, "POST", f"{TOP}/cursor/disconnect", {})
        assert out.json()["changed"]
        assert file.read_bytes() == BEFORE


async def test_what_cannot_be_done_is_said_with_its_status(home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(b"{broken")
    async with open_doors(home) as doors:
        broken = await send(doors, "POST", f"{TOP}/cursor/connect", {})
        assert broken.status == 422 and "line 1" in broken.json()["detail"]
        assert file.read_bytes() == b"{broken"
        assert (await send(doors, "POST", f"{TOP}/nobody/connect", {})).status == 404
        assert (await send(doors, "POST", f"{TOP}/changes/none/undo", {})).status == 404
        odd = await send(doors, "POST", f"{TOP}/cursor/connect", {"agent": "a b"})
        assert odd.status == 422
        file.write_bytes(b'{"mcpServers": {"toolyard": {"command": "other"}}}')
        assert (await send(doors, "POST", f"{TOP}/cursor/connect", {})).status == 409


async def test_only_the_change_that_was_previewed_is_written(home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(BEFORE)
    path = f"{TOP}/cursor/connect"
    async with open_doors(home) as doors:
        tried = (await send(doors, "POST", path, {"dry_run": True})).json()
        other = BEFORE.replace(b'"a"', b'"b"')
        file.write_bytes(other)
        late = await send(doors, "POST", path, {"difference": tried["difference"]})
        assert late.status == 422 and "meanwhile" in late.json()["detail"]
        assert file.read_bytes() == other

        file.write_bytes(BEFORE)
        done = await send(doors, "POST", path, {"difference": tried["difference"]})
        assert done.status == 200 and file.read_bytes() != BEFORE
        id_ = done.json()["id"]
        undo = f"{TOP}/changes/{id_}/undo"
        assert (await send(doors, "POST", undo, {"difference": "another"})).status == 422
        assert (await send(doors, "POST", undo, {})).status == 200
        assert file.read_bytes() == BEFORE


async def test_the_file_of_a_project_is_changed_where_one_is_named(home: Path) -> None:
    project = home / "work"
    project.mkdir()
    order = {"project": str(project)}
    async with open_doors(home) as doors:
        assert (await send(doors, "POST", f"{TOP}/vscode/connect", order)).status == 200
        assert (project / ".vscode" / "mcp.json").exists()
        rows = (await send(doors, "GET", f"{TOP}?project={project}")).json()["clients"]
        assert [row["client"] for row in rows if row["connected"]] == ["vscode"]
        assert (await send(doors, "POST", f"{TOP}/vscode/disconnect", order)).status == 200
        for odd in ("work", str(home / "none"), "x" * 300, "/a\0b"):
            answer = await send(doors, "POST", f"{TOP}/vscode/connect", {"project": odd})
            assert answer.status == 422, odd
