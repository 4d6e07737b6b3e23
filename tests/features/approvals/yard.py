"""A yard whose servers say what a test wants, and change their minds when it wants."""

from __future__ import annotations

import http.client
import json
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.hub import TOKEN, RunningHub, scripted, toolyard
from tests.fixtures.forking import run as run_forked

PATIENCE = 60.0
Json = dict[str, Any]


def tool(name: str, description: str = "does it", **more: Any) -> Json:
    """A tool's definition."""
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
        **more,
    }


def says(home: Path, name: str, *tools: Json) -> Json:
    """The entry of a server that offers these tools, each of which can be called."""
    replies = {"tools/list": json.dumps({"tools": list(tools)})}
    for each in tools:
        content = [{"type": "text", "text": f"{each['name']} was done"}]
        replies[f"tools/call {each['name']}"] = json.dumps({"content": content})
    return scripted(home, name, replies, tools={"listChanged": True})


def speaks(home: Path, name: str, instructions: str = "", **offers: list[Json]) -> Json:
    """The entry of a server with these offers of every kind, each of which can be used."""
    entry = says(home, name, *offers.get("tools", []))
    file = home / f"{name}.script.json"
    script = json.loads(file.read_text())
    script["capabilities"] |= {"prompts": {"listChanged": True}, "resources": {}}
    replies = {f"{kind}/list": {kind: offers.get(kind, [])} for kind in ("prompts", "resources")}
    replies["resources/templates/list"] = {"resourceTemplates": offers.get("templates", [])}
    for prompt in offers.get("prompts", []):
        text = {"type": "text", "text": prompt["name"]}
        replies[f"prompts/get {prompt['name']}"] = {"messages": [{"role": "user", "content": text}]}
    for resource in offers.get("resources", []):
        content = {"uri": resource["uri"], "text": "what is in it"}
        replies[f"resources/read {resource['uri']}"] = {"contents": [content]}
    script["replies"] |= {method: json.dumps(reply) for method, reply in replies.items()}
    file.write_text(json.dumps({**script, "instructions": instructions}))
    return entry


def ask(hub: RunningHub, method: str, path: str, body: Json | None = None) -> tuple[int, Any]:
    """Ask the control door: status, and the answer as JSON."""
    connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def order(hub: RunningHub, server: str, what: str, body: Json | None = None) -> Json:
    """Give an order about a server that must succeed."""
    status, answer = ask(hub, "POST", f"/api/v1/servers/{server}/{what}", body or {})
    assert status == 200, answer
    return answer


def described(hub: RunningHub, alias: str) -> Json:
    """What the status says of one server."""
    return next(each for each in hub.status()["servers"] if each["alias"] == alias)


def until(holds: Callable[[], Any], why: str = "it did not come true") -> Any:
    """Wait until something holds; give it."""
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not (found := holds()):
        assert time.monotonic() < end, why
        pause.wait(0.02)
    return found


def command(
    home: Path, *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run our own program, in the home of a hub."""
    from tests.e2e.hub import environment

    return run_forked(toolyard(*words), env={**environment(home), **(env or {})}, cwd=cwd)
