"""A profile for a client that is started as a program, and for one that is not started by it."""

from __future__ import annotations

import asyncio
import json
import subprocess

from tests.e2e.hub import new_home, running_hub, stdio_stub, toolyard
from tests.e2e.talk import Json, talking, text_of
from tests.features.approvals.yard import ask as control

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}


async def ask(env: dict[str, str], *flags: str) -> list[Json]:
    """Start the stdio entry, initialize, list the tools; what it answered."""
    process = await asyncio.create_subprocess_exec(
        *toolyard("mcp", *flags),
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    async with asyncio.timeout(60):
        out, _ = await process.communicate(lines)
    said = [json.loads(line) for line in out.splitlines()]
    return sorted((each for each in said if "id" in each), key=lambda each: each["id"])


async def test_a_client_that_names_a_profile_sees_it_or_nothing() -> None:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as hub:
            command = toolyard("profile", "set", "small", "--allow", "one/echo")
            await asyncio.to_thread(subprocess.run, command, env=hub.env, check=True)
            assert (home / "config" / "profiles" / "small.json").exists()
            _, listed = await ask(hub.env, "--profile", "small")
            names = [tool["name"] for tool in listed["result"]["tools"]]
            assert [name for name in names if not name.startswith("toolyard_")] == ["one__echo"]
            for answer in await ask(hub.env, "--profile=nothing"):
                assert "unknown profile 'nothing'; there are: small" in answer["error"]["message"]


async def test_the_variables_of_a_profile_reach_programs_that_run_for_its_clients_alone() -> None:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as hub:
            said = {"allow": ["one"], "environment": {"X_TENANT": "acme"}}
            assert control(hub, "PUT", "/api/v1/profiles/acme", said)[0] == 200
            asked = {"name": "X_TENANT"}
            async with (
                talking(hub) as plain,
                talking(hub, profile="acme") as tenant,
                talking(hub, profile="acme") as another,
            ):
                assert text_of(await plain.call("one__env", asked)) == ""
                # Started for the profile, and not once more by its first call.
                woken = await tenant.call("toolyard_activate", {"server": "one"})
                assert not woken["isError"]
                for each in (tenant, another):
                    assert text_of(await each.call("one__env", asked)) == "acme"
                    stable = {"server": "one", "tool": "env", "arguments": asked}
                    assert text_of(await each.call("toolyard_destroy", stable)) == "acme"
                assert text_of(await plain.call("one__env", asked)) == ""
            rows = control(hub, "GET", "/api/v1/instances")[1]["instances"]
            assert sorted(row["profile"] for row in rows) == ["", "acme"]
            assert len({row["pid"] for row in rows}) == 2
            shown = await asyncio.to_thread(hub.run, "status", "--instances")
            assert "the profile acme" in shown


async def test_each_profile_with_variables_has_a_process_of_its_own_and_is_named() -> None:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as hub:
            for name in ("acme", "bolt"):
                values = {"X_TENANT": f"${{UNSET_HERE:-{name}}}"}
                profile = {"allow": ["one"], "environment": values}
                assert control(hub, "PUT", f"/api/v1/profiles/{name}", profile)[0] == 200
            hidden = {"hide": ["one"], "environment": {"X_TENANT": "nobody"}}
            assert control(hub, "PUT", "/api/v1/profiles/blind", hidden)[0] == 200
            details = control(hub, "GET", "/api/v1/servers/one")[1]
            assert details["profiles"] == ["acme", "bolt"]
            asked = {"name": "X_TENANT"}
            async with talking(hub, profile="acme") as acme, talking(hub, profile="bolt") as bolt:
                assert text_of(await acme.call("one__env", asked)) == "acme"
                assert text_of(await bolt.call("one__env", asked)) == "bolt"
                changed = {"allow": ["one"], "environment": {"X_TENANT": "changed"}}
                assert control(hub, "PUT", "/api/v1/profiles/bolt", changed)[0] == 200
                assert text_of(await bolt.call("one__env", asked)) == "changed"
                assert text_of(await acme.call("one__env", asked)) == "acme"
