"""`toolyard service` with a real systemd, and hubs that it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.hub import toolyard
from tests.features.autostart.systemd import user_systemd
from tests.fixtures.ports import free_port
from toolyard.records.runfile import HubState, RunDir

PATIENCE = 60.0


class Supervised:
    """Our command line in a process of its own, beside a real systemd."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.unit = home / "config" / "systemd" / "user" / "toolyard.service"

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            toolyard(*words), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout if not code else done.stderr

    @property
    def hub(self) -> HubState | None:
        return RunDir(self.home / "runtime" / "toolyard").read()

    @property
    def status(self) -> dict[str, object]:
        return dict(json.loads(self.run("service", "status", "--json")))

    def until(self, holds: Callable[[], bool]) -> None:
        pause = threading.Event()
        for _ in range(int(PATIENCE / 0.05)):
            if holds():
                return
            pause.wait(0.05)
        raise AssertionError("it did not happen")


@pytest.fixture
def service(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervised]:
    """A home with a systemd in which nothing is installed; nothing runs afterwards."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("TOOLYARD_PORT", str(free_port()))
    with user_systemd(home):
        made = Supervised(home)
        try:
            yield made
        finally:
            if made.unit.exists():
                made.run("service", "remove", "--yes", "--force")
            elif made.hub is not None:
                made.run("down")


def test_the_service_takes_over_from_a_running_hub_and_is_removed_without_a_trace(
    service: Supervised,
) -> None:
    before = sorted(service.unit.parents[2].rglob("*"))
    service.run("up", "--detach", "--expose", "search")
    first = service.hub
    answer = json.loads(service.run("service", "install", "--yes", "--json"))

    second = service.hub
    assert first is not None and second is not None
    assert (second.pid != first.pid, answer["url"]) == (True, second.url)
    assert "--expose=search" in service.unit.read_text()
    assert service.status["running"] is service.status["enabled"] is True

    service.run("service", "remove", "--yes")
    assert service.hub is None
    after = [path for path in service.unit.parents[2].rglob("*") if not path.is_dir()]
    assert after == [path for path in before if not path.is_dir()]
    service.run("service", "remove", "--yes", code=4)


def test_a_hub_of_the_service_that_is_killed_or_restarted_is_the_services_again(
    service: Supervised,
) -> None:
    service.run("service", "install", "--yes")
    first = service.hub
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    service.until(lambda: service.hub is not None and service.hub.pid != first.pid)

    second = service.hub
    service.run("restart")
    third = service.hub
    assert second is not None and third is not None and third.pid != second.pid
    assert service.status["running"] is True
    assert "journalctl" in service.run("logs", code=4)
    assert "toolyard service install" in service.run("restart", "--expose", "all", code=5)

    service.run("down")
    assert service.hub is None
    assert service.status["running"] is False


def test_a_unit_that_was_edited_is_kept(service: Supervised) -> None:
    service.unit.parent.mkdir(parents=True)
    service.unit.write_text("[Service]\nExecStart=/bin/true\n")

    assert "edited by hand" in service.run("service", "install", "--yes", code=5)
    assert "edited by hand" in service.run("service", "remove", "--yes", code=5)
    assert service.unit.read_text() == "[Service]\nExecStart=/bin/true\n"
    assert service.status["edited"] is True
    service.run("service", "remove", "--yes", "--force")
    assert not service.unit.exists()
