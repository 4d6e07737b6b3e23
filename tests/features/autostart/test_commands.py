"""`toolyard service` where no systemd can be reached."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard


@pytest.fixture
def unit(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the unit; nobody's systemd can be reached."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    return home / "config" / "systemd" / "user" / "toolyard.service"


def test_a_dry_run_shows_the_unit_and_writes_nothing(toolyard: Toolyard, unit: Path) -> None:
    done = toolyard("service", "install", "--dry-run", "--port", "8000", "--json")

    answer = done.json
    assert (done.code, answer["file"], answer["present"]) == (0, str(unit), "absent")
    assert "up --port=8000\n" in answer["text"]
    assert "Environment=PATH=" in answer["text"]
    assert not unit.exists()
    assert answer["text"] in toolyard("service", "install", "--dry-run", "--port", "8000").out


def test_macos_gets_a_property_list(
    toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("TOOLYARD_HOME", str(home))

    answer = toolyard("service", "install", "--dry-run", "--json").json

    assert answer["file"] == str(home / "Library" / "LaunchAgents" / "toolyard.plist")
    assert "<string>up</string>" in answer["text"]


def test_a_config_file_that_is_not_there_is_refused(toolyard: Toolyard, unit: Path) -> None:
    done = toolyard("service", "install", "--dry-run", "--config", "/nowhere/servers.json")

    assert done.code == 6


def test_nothing_is_written_where_systemd_cannot_be_reached(toolyard: Toolyard, unit: Path) -> None:
    done = toolyard("service", "install", "--yes")

    assert (done.code, unit.exists()) == (1, False)
    assert "systemd cannot be used here: " in done.err
    assert "toolyard up --detach" in done.err


def test_without_a_service_there_is_nothing_to_remove(toolyard: Toolyard, unit: Path) -> None:
    assert toolyard("service", "remove", "--yes").code == 4
    done = toolyard("service", "status")
    assert (done.code, "no service is installed" in done.out) == (0, True)
