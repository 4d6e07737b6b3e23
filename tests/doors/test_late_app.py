"""The control API and the page are loaded when somebody comes to them, and no sooner."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolyard as package
from tests.e2e.hub import environment, new_home, running_hub, toolyard
from toolyard.installation import GONE, GONE_HINT, REPLACED

PACKAGE = Path(package.__file__).parent

PROGRAM = Path(__file__).parents[1] / "fixtures" / "loading_hub.py"


def test_a_hub_that_serves_clients_has_loaded_nothing_of_the_api_and_the_page(home: Path) -> None:
    argv = [sys.executable, str(PROGRAM), str(home)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr

    before, statuses, after = json.loads(done.stdout)

    assert before == []
    assert statuses == [200] * 5
    assert {"starlette", "toolyard.features.hub.operations"} <= set(after)


def upgrade(copy: Path) -> None:
    """Put other files in the place of a package."""
    shutil.rmtree(copy)
    skip = shutil.ignore_patterns("__pycache__")
    # With the time of now, as installers do: the number of a file may be that of the one before.
    shutil.copytree(PACKAGE, copy, ignore=skip, copy_function=shutil.copy)


@pytest.mark.parametrize(("change", "why"), [(upgrade, REPLACED), (shutil.rmtree, GONE)])
def test_a_hub_that_cannot_load_them_any_more_says_so_and_can_be_restarted(
    tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    skip = shutil.ignore_patterns("__pycache__")
    copy = Path(shutil.copytree(PACKAGE, tmp_path / "site" / "toolyard", ignore=skip))
    env = {"PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    with new_home() as home, running_hub({}, home=home, env=env, settle=False) as hub:
        whole = environment(home)

        change(copy)

        status, body = hub.get("/api/v1/status")
        refusal = json.loads(body)
        assert (status, refusal["detail"], refusal["hint"]) == (503, why, GONE_HINT)
        restarted = subprocess.run(toolyard("restart"), env=whole, check=False)
        try:
            assert restarted.returncode == 0
            state = subprocess.run(toolyard("status"), env=whole, check=False, capture_output=True)
            assert state.returncode == 0, state.stderr
        finally:
            subprocess.run(toolyard("down"), env=whole, check=True, stdout=subprocess.DEVNULL)
