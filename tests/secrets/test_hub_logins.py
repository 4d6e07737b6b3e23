"""A real hub in front of a server that asks for a login."""

from __future__ import annotations

import json
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.hub import PATIENCE, RunningHub, running_hub, toolyard
from tests.secrets.issuer import Issuer

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@pytest.fixture
def hub(issuer: Issuer) -> Iterator[RunningHub]:
    with running_hub({"remote": {"url": issuer.mcp}}, env=NO_KEYRING) as found:
        yield found


def until(wanted: Callable[[], Any], what: str) -> None:
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not wanted():
        assert time.monotonic() < end, what
        pause.wait(0.02)


def server(hub: RunningHub) -> dict[str, Any]:
    found: dict[str, Any] = hub.status()["servers"][0]
    return found


def code(hub: RunningHub) -> str:
    problem = server(hub)["problem"]
    return str(problem["code"]) if problem else ""


def command(hub: RunningHub, *words: str) -> list[str]:
    return [*toolyard(*words), "--config", str(hub.home / "config" / "servers.json")]


def run(hub: RunningHub, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**hub.env, **NO_KEYRING}
    return subprocess.run(
        command(hub, *words), env=env, capture_output=True, text=True, timeout=PATIENCE
    )


def log_in(hub: RunningHub) -> str:
    """Log in as a person does who opens the printed page; gives what the command said."""
    with subprocess.Popen(
        command(hub, "auth", "login", "remote", "--no-browser"),
        env={**hub.env, **NO_KEYRING},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        page = next((line for line in process.stderr if "http" in line), "").strip()
        with urllib.request.urlopen(page, timeout=PATIENCE) as answer:
            assert answer.status == 200
        said, warned = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, warned
        return said + warned


def call(hub: RunningHub) -> dict[str, Any]:
    done = subprocess.run(
        toolyard("--json", "call", "remote", "whoami"),
        env=hub.env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def is_served(hub: RunningHub) -> bool:
    answer = call(hub)
    return "content" in answer and not answer.get("isError")


def test_a_server_that_wants_a_login_is_parked_until_somebody_logs_in(
    issuer: Issuer, hub: RunningHub
) -> None:
    problem = server(hub)["problem"]
    assert problem["code"] == "auth-needed"
    assert "toolyard auth login remote" in problem["hint"]
    before = len(issuer.asked)
    assert not is_served(hub)
    assert not is_served(hub)
    assert len(issuer.asked) == before, "a parked server was asked again"

    assert "logged in at 'remote'" in log_in(hub)

    until(lambda: server(hub)["status"] == "ready", f"not ready: {server(hub)}")
    assert is_served(hub)
    shown = json.loads(run(hub, "auth", "status", "--json").stdout)["logins"][0]
    assert (shown["state"], shown["issuer"]) == ("logged in", issuer.url)
    assert next(iter(issuer.valid)) not in json.dumps(hub.status())


def test_a_login_is_renewed_ahead_of_its_end_on_the_open_link(
    issuer: Issuer, hub: RunningHub
) -> None:
    issuer.life = 3
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")
    refused, opened = issuer.refused, issuer.asked.count("server/discover")

    until(lambda: issuer.refreshes >= 2, "it was not renewed")

    assert is_served(hub)
    assert issuer.refused == refused, "it was renewed too late"
    assert issuer.asked.count("server/discover") == opened, "the link was opened anew"


def test_a_token_that_was_revoked_is_replaced(issuer: Issuer, hub: RunningHub) -> None:
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")
    issuer.revoke()

    call(hub)

    until(lambda: issuer.refreshes == 1, "it was not renewed")
    until(lambda: is_served(hub), "the new token is not used")
    assert code(hub) == ""


def test_a_login_that_nobody_renews_parks_the_server(issuer: Issuer, hub: RunningHub) -> None:
    issuer.life, issuer.renews = 2, False
    log_in(hub)

    # Parked it was before the login as well; it is the end of this login that counts.
    until(lambda: issuer.denied, "nobody tried to renew it")
    until(lambda: code(hub) == "auth-needed", f"not parked: {server(hub)}")

    asked = len(issuer.asked)
    assert not is_served(hub)
    assert len(issuer.asked) == asked
    shown = json.loads(run(hub, "auth", "status", "--json").stdout)["logins"][0]
    assert shown["state"] == "login needed"
    issuer.life, issuer.renews = 3600, True
    log_in(hub)
    until(lambda: is_served(hub), "a new login does not help")


def test_an_issuer_that_is_out_of_order_is_asked_again_with_growing_pauses(
    issuer: Issuer, hub: RunningHub
) -> None:
    issuer.life = 2
    log_in(hub)
    issuer.failing = True
    until(lambda: issuer.failures, "nobody tried to renew it")

    issuer.failing = False

    until(lambda: is_served(hub), f"it did not come back: {server(hub)}")


def test_logging_out_ends_the_use_of_a_login(issuer: Issuer, hub: RunningHub) -> None:
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")

    done = run(hub, "auth", "logout", "remote")

    assert done.returncode == 0, done.stderr
    until(lambda: code(hub) == "auth-needed", "still let in")
    assert not is_served(hub)
    assert run(hub, "auth", "logout", "remote").returncode == 4


def test_the_control_door_begins_a_login(issuer: Issuer, hub: RunningHub) -> None:
    status, body = hub._send("POST", "/api/v1/auth/remote/login")
    assert status == 200, body

    with urllib.request.urlopen(json.loads(body)["url"], timeout=PATIENCE) as answer:
        assert answer.status == 200

    until(lambda: server(hub)["status"] == "ready", "not ready")
    logins = json.loads(hub.get("/api/v1/auth")[1])["logins"]
    assert [(each["state"], each["place"]) for each in logins] == [("logged-in", "file")]
    assert hub._send("POST", "/api/v1/auth/remote/logout")[0] == 200
    until(lambda: code(hub) == "auth-needed", "still let in")
    assert hub._send("POST", "/api/v1/auth/nobody/login")[0] == 404
