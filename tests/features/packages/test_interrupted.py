"""A launcher that is installing is never killed: half a package would be taken for a whole one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.entries import Background, background
from tests.e2e.hub import toolyard
from tests.features.packages.shop import Shop

SERVERS = {"greeter": {"command": "npx", "args": ["-y", "hello"]}}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.publish("hello", "1.0")
    shop.slow()
    return shop


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 40
    while not holds():
        assert time.monotonic() < end
        threading.Event().wait(0.05)


def answers(yard: Background) -> bool:
    called = subprocess.run(
        toolyard("call", "greeter", "ping"), env=yard.env, capture_output=True, check=False
    )
    return called.returncode == 0


@pytest.mark.parametrize("how", ["restart", "down", "kill", "timeout"])
def test_an_installation_goes_on_whatever_happens_to_the_hub(shop: Shop, how: str) -> None:
    settings = {"PATH": shop.path, "TOOLYARD_CACHE_PACKAGES": "off"}
    if how == "timeout":
        settings["TOOLYARD_INSTALL_TIMEOUT"] = "0.5"
    with background(lambda _: SERVERS, env=settings, settle=False) as yard:
        until(lambda: shop.ran("npx") == 1)
        if how == "kill":
            os.kill(yard.pid, signal.SIGKILL)
        elif how == "timeout":
            until(lambda: "installing" in yard.run("status", "--json"))
        else:
            yard.run(how)
        assert shop.log == ["npx"], "nobody else may install it meanwhile"

        shop.hasten()
        until(lambda: answers(yard))

        assert shop.log[:2] == ["npx", "fetched"]
        assert "killed" not in shop.log


def test_an_installation_is_seen_and_outlasts_the_patience_for_a_start(shop: Shop) -> None:
    settings = {"PATH": shop.path, "TOOLYARD_START_TIMEOUT": "0.5"}
    with background(lambda _: SERVERS, env=settings, settle=False) as yard:
        until(lambda: re.search(r"greeter +installing, \d+ s ", yard.run("list")))

        shop.hasten()

        until(lambda: re.search(r"greeter +(ready|idle) ", yard.run("list")))
        assert shop.log[:2] == ["npx", "fetched"]


def test_a_launcher_that_was_left_to_finish_ends_with_its_server(shop: Shop) -> None:
    settings = {"PATH": shop.path, "TOOLYARD_CACHE_PACKAGES": "off"}
    with background(lambda _: SERVERS, env=settings, settle=False) as yard:
        until(lambda: shop.ran("npx") == 1)
        yard.run("down")
        left = children(yard.home)
        assert left, "the launcher and whoever looks after it"

        shop.hasten()
        until(lambda: not children(yard.home))
        assert shop.log == ["npx", "fetched"]


def children(home: Path) -> list[int]:
    """The processes that were started for this home and carry the mark of a hub."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes()
        except OSError:
            continue
        if f"HOME={home}".encode() in environ and b"TOOLYARD_OWNER=" in environ:
            found.append(int(folder.name))
    return found
