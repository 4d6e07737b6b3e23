"""The lock of a state directory: one hub at a time, and the second says who has it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.hub import environment, running_hub, toolyard
from toolyard.core.errors import ConfigError
from toolyard.records.holding import hold_state


def test_a_state_directory_has_one_holder_at_a_time(home: Path) -> None:
    with hold_state(home / "state", home / "run") as is_held:
        assert is_held
        with (
            pytest.raises(ConfigError, match=re.escape(f"'{home}/state' is in use")) as refused,
            hold_state(home / "state", home / "other"),
        ):
            pass
        assert f"TOOLYARD_RUNTIME_DIR={home}/run" in refused.value.hint
        with hold_state(home / "state2", home / "other") as other:
            assert other
    with hold_state(home / "state", home / "other") as again:
        assert again


def test_a_state_directory_that_cannot_be_locked_stops_nobody(home: Path) -> None:
    (home / "state" / "hub.lock").mkdir(parents=True)
    with hold_state(home / "state", home / "run") as is_held:
        assert not is_held


def test_a_second_hub_on_the_same_state_refuses_and_names_the_first(home: Path) -> None:
    with running_hub({}, home=home) as hub:
        env = {**environment(home), "TOOLYARD_RUNTIME_DIR": str(home / "run2")}
        second = run("up", env=env)
        assert second.returncode == 6
        assert f"'{home}/state' is in use by the hub at {hub.url} (pid {hub.process.pid})" in (
            second.stderr
        )
        assert f"hint: use that hub, with TOOLYARD_RUNTIME_DIR={home}/run" in second.stderr
        assert second.stdout == ""
        detached = run("up", "--detach", env=env)
        assert detached.returncode == 6 and "is in use by the hub at" in detached.stderr
        for words in (("list",), ("profile", "list"), ("add", "x", "--", "true")):
            reading = run(*words, env=env)
            assert reading.returncode == 0, reading.stderr
        assert hub.status()["pid"] == hub.process.pid


def run(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run our command line to its end."""
    return subprocess.run(
        toolyard(*words), env=env, capture_output=True, text=True, timeout=60, check=False
    )
