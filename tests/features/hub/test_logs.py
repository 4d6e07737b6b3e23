from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import toolyard as package
from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from toolyard.console.exits import Exit

ENV = {"PYTHONPATH": str(Path(package.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}


def log_file(home: Path) -> Path:
    file = home / "runtime" / "toolyard" / "hub.log"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    return file


def test_the_lines_of_a_server_come_from_the_hub(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("logs", "files").out == "one\ntwo\nthree\n"
    assert toolyard("logs", "files", "-n", "2", "--json").json == {"lines": ["two", "three"]}


def test_the_lines_of_a_server_are_followed_until_the_hub_ends(
    toolyard: Toolyard, hub: StandIn
) -> None:
    done = toolyard("logs", "files", "-f")

    assert (done.code, done.out) == (Exit.OK, "one\ntwo\nthree\n")
    assert hub.asked[-1][0] == "/api/v1/servers/files/log?follow=1"


def test_an_unknown_server_has_no_log(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("logs", "x/../y").code == Exit.NOT_FOUND
    assert hub.asked[-1][0] == "/api/v1/servers/x%2F..%2Fy/log"


def test_the_log_of_the_hub_is_there_also_after_its_end(toolyard: Toolyard, home: Path) -> None:
    log_file(home).write_text("".join(f"line {n}\n" for n in range(100_000)) + "last")

    assert toolyard("logs", "-n", "2").out == "line 99999\nlast\n"


def test_without_hub_and_log_there_is_nothing_to_show(toolyard: Toolyard) -> None:
    assert toolyard("logs").code == Exit.NO_HUB


def test_a_hub_in_the_foreground_has_no_log(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("logs").code == Exit.NOT_FOUND


def test_the_log_of_the_hub_is_followed(home: Path) -> None:
    file = log_file(home)
    file.write_text("old\n")
    with subprocess.Popen(
        [sys.executable, "-m", "toolyard", "logs", "-f"],
        env={**os.environ, **ENV},
        stdout=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout
        assert follower.stdout.readline() == "old\n"
        with file.open("a") as log:
            log.write("new")
            log.flush()
            log.write("er\n")
        assert follower.stdout.readline() == "newer\n"
        follower.send_signal(2)
        assert follower.wait(60) == Exit.INTERRUPTED
