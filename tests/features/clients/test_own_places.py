"""A client that is started with little of the environment comes to the same hub all the same."""

from __future__ import annotations

import pytest

from toolyard.features.clients.ours import own_command
from toolyard.settings import XDG_HOMES, read_settings


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A home in which nothing was moved."""
    monkeypatch.setenv("HOME", "/srv/me")
    for name in (*XDG_HOMES, "TOOLYARD_HOME"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "carried"),
    [
        ({}, {}),
        ({"XDG_CONFIG_HOME": "/srv/me/.config"}, {}),
        ({"XDG_CONFIG_HOME": "relative"}, {}),
        ({"XDG_STATE_HOME": "/data/state"}, {"XDG_STATE_HOME": "/data/state"}),
        (
            {"TOOLYARD_HOME": "/data/ty", "XDG_STATE_HOME": "/data/state"},
            {"TOOLYARD_HOME": "/data/ty"},
        ),
    ],
)
def test_an_entry_names_the_places_that_are_not_the_usual_ones(
    surroundings: pytest.MonkeyPatch, variables: dict[str, str], carried: dict[str, str]
) -> None:
    for name, value in variables.items():
        surroundings.setenv(name, value)

    assert dict(own_command(read_settings({}, variables)).env) == carried


def test_whoever_starts_us_by_the_entry_finds_the_same_places(
    surroundings: pytest.MonkeyPatch,
) -> None:
    moved = {"HOME": "/srv/me", "XDG_CONFIG_HOME": "/data/config", "XDG_STATE_HOME": "/data/state"}
    for name, value in moved.items():
        surroundings.setenv(name, value)
    here = read_settings({}, moved)

    there = read_settings({}, {"HOME": "/srv/me", **dict(own_command(here).env)})

    assert (there.config_file, there.state_dir) == (here.config_file, here.state_dir)
