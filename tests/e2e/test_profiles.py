"""A profile for a client that is started as a program, and for one that is not started by it."""

from __future__ import annotations

import asyncio
import json
import subprocess

from tests.e2e.hub import new_home, running_hub, stdio_stub, toolyard
from tests.e2e.talk import Json

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
    async with asyncio.timeout(20):
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
