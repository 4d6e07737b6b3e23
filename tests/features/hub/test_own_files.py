"""A hub whose files are deleted under it: uv cleans its cache, or somebody removes Toolyard."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import toolyard as package
from tests.e2e.hub import PATIENCE, RunningHub, environment, new_home, running_hub, toolyard
from toolyard.core.problems import ProblemCode
from toolyard.installation import GONE

PACKAGE = Path(package.__file__).parent


def doctor(env: dict[str, str]) -> tuple[int, Any]:
    """What another, whole Toolyard says of the hub."""
    done = subprocess.run(
        toolyard("doctor", "--json"), env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout)


def wrong(findings: Any) -> list[str]:
    return [finding["code"] for finding in findings["findings"] if not finding["ok"]]


def wait_for_problem(hub: RunningHub) -> None:
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not any(row["code"] == ProblemCode.HUB_FILES for row in hub.status()["problems"]):
        assert time.monotonic() < end, hub.status()
        pause.wait(0.02)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of our package, which may be deleted."""
    skip = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "cache" / "toolyard", ignore=skip))


def test_a_hub_without_its_files_says_so_and_can_be_restarted(copied: Path) -> None:
    env = {"PYTHONPATH": str(copied.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    with new_home() as home, running_hub({}, home=home, env=env) as hub:
        whole = environment(home)
        assert doctor(whole)[0] == 0

        shutil.rmtree(copied)
        wait_for_problem(hub)

        code, findings = doctor(whole)
        assert (code, wrong(findings)) == (1, [ProblemCode.HUB_FILES])
        status, body = hub.get("/api/v1/clients")
        assert (status, json.loads(body)["detail"]) == (500, GONE)
        restarted = subprocess.run(toolyard("restart"), env=whole, check=False)
        try:
            assert restarted.returncode == 0
            assert doctor(whole)[0] == 0
        finally:
            subprocess.run(toolyard("down"), env=whole, check=True, stdout=subprocess.DEVNULL)


GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def test_a_client_whose_files_are_gone_is_told_so_when_the_hub_ends(copied: Path) -> None:
    with new_home() as home, running_hub({}, home=home) as hub:
        env = {**environment(home), "PYTHONPATH": str(copied.parent)}
        with subprocess.Popen(
            toolyard("mcp"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as client:
            watch = threading.Timer(PATIENCE, client.kill)
            watch.start()
            assert "result" in ask(client, 1, "initialize", GREETING)
            shutil.rmtree(copied)
            hub.process.kill()
            hub.process.wait()

            refused = ask(client, 2, "tools/list", {})

            watch.cancel()
            client.kill()
    assert "Toolyard was removed" in refused["error"]["message"]


def ask(client: subprocess.Popen[str], number: int, method: str, params: Any) -> Any:
    """Send a request to an entry, and give its answer."""
    assert client.stdin is not None and client.stdout is not None
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    client.stdin.write(json.dumps(request) + "\n")
    client.stdin.flush()
    answers = (json.loads(line) for line in client.stdout)
    return next(answer for answer in answers if answer.get("id") == number)
