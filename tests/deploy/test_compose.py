"""The compose files: one hub, or a hub and a PostgreSQL, with settings that the hub has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from toolyard.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
FILES = ("compose.yaml", "compose.team.yaml")
VARIABLES = {setting.variable for setting in SETTINGS} | {"PGPASSWORD"}


def services(file: str) -> dict[str, dict]:
    """The services of a file."""
    read: dict[str, dict] = yaml.safe_load((ROOT / file).read_text("utf-8"))["services"]
    return read


@pytest.mark.parametrize("file", FILES)
def test_every_variable_of_the_hub_is_a_setting_of_ours(file: str) -> None:
    assert set(services(file)["toolyard"]["environment"]) <= VARIABLES


@pytest.mark.parametrize("file", FILES)
def test_no_secret_has_a_default(file: str) -> None:
    names = r"\$\{(\w*(?:KEY|TOKEN|PASSWORD)):([-?])([^}]*)"
    secrets = re.findall(names, (ROOT / file).read_text("utf-8"))

    assert secrets
    assert [name for name, how, text in secrets if how == "-" and text] == []


def test_a_port_is_published_on_the_loopback_alone() -> None:
    assert services("compose.yaml")["toolyard"]["ports"] == ["127.0.0.1:7420:7420"]


def test_the_hub_for_a_team_is_the_same_hub_beside_a_healthy_database() -> None:
    team = services("compose.team.yaml")

    assert team["toolyard"]["extends"] == {"file": "compose.yaml", "service": "toolyard"}
    assert team["toolyard"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert "healthcheck" in team["postgres"]
