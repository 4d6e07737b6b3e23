"""A whole hub: what is installed is seen, updated and removed by its doors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, toolyard
from tests.features.packages.shop import Shop
from tests.fixtures.forking import run as run_forked

SERVERS = {
    "greeter": {"command": "npx", "args": ["-y", "hello"]},
    "other": {"command": "uvx", "args": ["hello"]},
}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.publish("hello", "1.0")
    return shop


@pytest.fixture
def hub(shop: Shop) -> Iterator[RunningHub]:
    with new_home() as home, running_hub(SERVERS, home=home, env={"PATH": shop.path}) as hub:
        until(lambda: len(packages(hub)) == 2)
        yield hub


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        threading.Event().wait(0.05)


def packages(hub: RunningHub) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(hub.get("/api/v1/packages")[1])["packages"]
    return found


def say(hub: RunningHub, *words: str, ends: int = 0) -> str:
    """What a command says; also what it complains of."""
    done = run_forked(toolyard(*words), env=hub.env)
    assert done.returncode == ends, done.stderr
    return done.stdout + done.stderr


def test_what_is_installed_is_seen_updated_and_removed(hub: RunningHub, shop: Shop) -> None:
    listed = say(hub, "executor", "packages")
    assert "greeter" in listed
    assert "1.0" in listed
    assert sorted(row["servers"] for row in packages(hub)) == [["greeter"], ["other"]]
    assert "there are: hello-" in say(hub, "executor", "packages", "remove", "nobody", ends=4)

    shop.publish("hello", "1.1")
    assert "hello 1.0 -> 1.1" in say(hub, "executor", "packages", "update", "greeter")
    assert sorted(row["version"] for row in packages(hub)) == ["1.0", "1.1"]
    assert say(hub, "executor", "packages", "update").count("1.1") == 2

    for name in ("greeter", "hello"):  # the second is clear, once there is only one
        say(hub, "executor", "packages", "remove", name)
    assert packages(hub) == []
    assert "nothing is installed" in say(hub, "executor", "packages")


def test_a_server_that_runs_as_installed_says_so_and_keeps_its_declared_launch(
    hub: RunningHub, shop: Shop
) -> None:
    say(hub, "server", "stop", "greeter")
    until(lambda: "pong" in say(hub, "call", "greeter", "ping"))
    until(lambda: "as installed" in say(hub, "status", "--instances"))

    row = json.loads(hub.get("/api/v1/servers/greeter")[1])
    assert row["launch"]["command"] == ["npx", "-y", "hello"]
    assert row["installed"]["package"] == "hello"
    assert row["installed"]["version"] == "1.0"
    assert row["problem"] is None
    assert shop.ran("npx") == 1
