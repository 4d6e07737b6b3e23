"""A hub and its containers: memory shown and bounded, images run as they are."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub
from tests.executors.docker.site import IMAGE, Daemon, load_image
from toolyard.executors.probe_server import probe_command

pytestmark = [pytest.mark.executors, pytest.mark.timeout(120)]

HEAVY = "import subprocess, sys; held = b'x' * (48 << 20); subprocess.run(sys.argv[1:])"
"""Holds 48 MB beside the server that it runs."""
SECONDS = 30.0


def add(hub: RunningHub, name: str) -> None:
    tiny = [word.replace("${", "$${") for word in probe_command().argv]
    file = hub.home / "config" / "servers.json"
    said = json.loads(file.read_text())
    args = ["-c", HEAVY, *tiny]
    said["mcpServers"][name] = {"command": "python3", "args": args, "executor": "engine"}
    file.write_text(json.dumps(said))


def rows(hub: RunningHub) -> dict[str, dict[str, Any]]:
    found = json.loads(hub.get("/api/v1/instances")[1])["instances"]
    return {row["server"]: row for row in found}


def wait_for(hub: RunningHub, holds: Callable[[dict[str, dict[str, Any]]], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds(seen := rows(hub)):
        assert time.monotonic() < end, seen
        threading.Event().wait(0.1)


def test_an_executor_s_own_memory_limit_lets_the_idle_one_rest_and_says_why(here: Daemon) -> None:
    with new_home() as home, running_hub({}, home=home) as hub:
        words = ("--type", "docker", "--host", f"unix://{here.socket}", "-o", f"image={IMAGE}")
        hub.run("executor", "add", "engine", *words, "--memory-limit", "32")
        assert "32 MB" in hub.run("executor", "list")
        add(hub, "one")
        wait_for(hub, lambda seen: (seen.get("one", {}).get("memory") or 0) > 48 << 20)
        shown = hub.run("status", "--instances")
        assert " MB " in shown and "unknown" not in shown
        assert rows(hub)["one"]["executor"] == "engine"

        add(hub, "two")
        wait_for(hub, lambda seen: seen.get("two", {}).get("status") == "ready")
        note = rows(hub)["one"]["note"]
        assert rows(hub)["one"]["status"] == "idle"
        assert "make room for 'two': servers on engine use" in note
        assert note.endswith("MB of the 32 they may")

        hub.run("executor", "add", "engine", *words, "--memory-limit", "none")
        assert "pong" in hub.run("call", "one", "ping")
        found = rows(hub)
        assert found["one"]["status"] == found["two"]["status"] == "ready"


def test_an_entry_without_a_command_runs_its_image_and_says_so_where_there_is_none(
    here: Daemon,
) -> None:
    image = "toolyard-tiny:test"
    load_image(here, image, f"ENTRYPOINT {json.dumps(probe_command().argv)}")
    servers = {
        "own": {"executor": {"name": "engine", "image": image}},
        "lost": {"executor": {"image": image}},
    }
    with new_home() as home:
        with running_hub({}, home=home) as hub:
            words = ("--type", "docker", "--host", f"unix://{here.socket}")
            hub.run("executor", "add", "engine", *words)
        with running_hub(servers, home=home) as hub:
            assert "pong" in hub.run("call", "own", "ping")
            wait_for(hub, lambda seen: seen["lost"]["error"] is not None)
            error = rows(hub)["lost"]["error"]
            assert "its command is empty" in error["text"]
            assert "an executor that runs the image" in error["hint"]
