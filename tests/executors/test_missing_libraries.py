"""Executors whose library is not installed say so, and how to get it, at every door."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.hub import PATIENCE, RunningHub, environment, new_home, running_hub, toolyard

LIBRARIES = ("asyncssh", "aiodocker")


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """A hub in whose Python none of the libraries can be imported."""
    with new_home() as home:
        hidden = home / "hidden"
        hidden.mkdir()
        for name in LIBRARIES:
            text = f"raise ModuleNotFoundError(\"No module named '{name}'\")\n"
            (hidden / f"{name}.py").write_text(text)
        path = f"{hidden}:{environment(home)['PYTHONPATH']}"
        with running_hub({}, home=home, env={"PYTHONPATH": path}) as running:
            yield running


def run(hub: RunningHub, *words: str) -> subprocess.CompletedProcess[str]:
    command = toolyard(*words)
    return subprocess.run(command, env=hub.env, capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("kind", "library", "flags"),
    [
        ("ssh", "asyncssh", ("--host", "me@127.0.0.1")),
        ("docker", "aiodocker", ("--host", "unix:///nowhere.sock")),
    ],
)
def test_an_executor_without_its_library_names_it_and_the_command(
    hub: RunningHub, kind: str, library: str, flags: tuple[str, ...]
) -> None:
    added = run(hub, "executor", "add", f"my-{kind}", "--type", kind, *flags)
    assert added.returncode == 0, added.stderr

    tried = run(hub, "--json", "executor", "test", f"my-{kind}")

    trial = json.loads(tried.stdout)  # one document, also where it failed
    assert (tried.returncode, trial["ok"]) == (1, False)
    assert f"the library {library}" in trial["failed"]
    assert f"pip install 'toolyard[{kind}]'" in trial["hint"]
    assert "ModuleNotFoundError" not in json.dumps(hub.status())
