"""A real hub in front of a server that asks for a login."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import PATIENCE, TOKEN, RunningHub, running_hub, toolyard
from tests.fixtures.forking import Forked
from tests.fixtures.forking import run as run_forked
from tests.fixtures.issuer import Issuer, issuing

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
    return run_forked(command(hub, *words), env=env)


def log_in(hub: RunningHub) -> str:
    """Log in as a person does who opens the printed page; gives what the command said."""
    with Forked(
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


def call(hub: RunningHub, server: str = "remote") -> dict[str, Any]:
    done = run_forked(toolyard("--json", "call", server, "whoami"), env=hub.env)
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

    assert "logged in to 'remote'" in log_in(hub)

    until(lambda: server(hub)["status"] == "ready", f"not ready: {server(hub)}")
    assert is_served(hub)
    shown = json.loads(run(hub, "auth", "status", "--json").stdout)["logins"][0]
    assert (shown["state"], shown["issuer"]) == ("logged in", issuer.url)
    assert next(iter(issuer.valid)) not in json.dumps(hub.status())


BROWSER = """#!/bin/sh
exec >/dev/null 2>&1
{python} -c 'import sys, urllib.request as web; web.urlopen(sys.argv[1]).read()' "$1"
read window < {window}
"""
"""Shows a page, and ends when its window is closed."""


def test_a_login_is_over_though_the_browser_stays_open(hub: RunningHub, tmp_path: Path) -> None:
    window, browser = tmp_path / "window", tmp_path / "browser"
    os.mkfifo(window)
    browser.write_text(BROWSER.format(python=sys.executable, window=window))
    browser.chmod(0o700)
    env = {**hub.env, **NO_KEYRING, "BROWSER": str(browser)}

    done = run_forked(command(hub, "auth", "login", "remote"), env=env, timeout=PATIENCE)

    assert "logged in to 'remote'" in done.stdout + done.stderr
    window.write_text("closed")


def test_a_login_is_renewed_ahead_of_its_end_on_the_open_link(
    issuer: Issuer, hub: RunningHub
) -> None:
    # No busy machine is too late with it: nobody calls, so nobody else would have it renewed.
    issuer.life, issuer.leeway = 3, 600
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")
    refused, opened = issuer.refused, issuer.asked.count("server/discover")

    until(lambda: issuer.refreshes >= 2, "it was not renewed")

    assert is_served(hub)
    assert issuer.refused == refused, "it was renewed because it was refused"
    assert issuer.asked.count("server/discover") == opened, "the link was opened anew"


BODIES = {
    "empty": b"",
    "text": b"Unauthorized",
    "sdk": b'{"error":"invalid_token","error_description":"Authentication required"}',
    "nobody": b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Unauthorized"},"id":null}',
    "ours": b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Unauthorized"},"id":1}',
}
"""What real servers have for the body of a refusal; only the status and its challenge count."""


def test_whatever_the_body_of_a_401_says_a_login_is_needed_and_nothing_more_is_asked() -> None:
    with ExitStack() as stack:
        issuers = {name: stack.enter_context(issuing()) for name in BODIES}
        for name, issuer in issuers.items():
            issuer.body = BODIES[name]
        entries = {name: {"url": issuer.mcp} for name, issuer in issuers.items()}
        hub = stack.enter_context(running_hub(entries, env=NO_KEYRING))
        problems = {each["name"]: each["problem"] for each in hub.status()["servers"]}
        for name in BODIES:
            assert problems[name]["code"] == "auth-needed", problems[name]
            assert f"toolyard auth login {name}" in problems[name]["hint"]
            assert "offers no tools now" in str(call(hub, name)["error"])

        assert {name: issuer.asked for name, issuer in issuers.items()} == {
            name: ["401"] for name in BODIES
        }


@pytest.mark.parametrize("body", ["empty", "sdk", "nobody"])
def test_a_token_that_was_revoked_is_replaced_within_the_call(
    issuer: Issuer, hub: RunningHub, body: str
) -> None:
    issuer.body = BODIES[body]
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")
    issuer.revoke()

    answers = call_at_once(hub, 8)

    assert [each["content"][0]["text"] for each in answers] == ["you"] * 8
    assert issuer.refreshes == 1
    assert (server(hub)["status"], code(hub)) == ("ready", "")


def call_at_once(hub: RunningHub, count: int) -> list[dict[str, Any]]:
    def one(_: int) -> dict[str, Any]:
        body = json.dumps({"server": "remote", "tool": "whoami"}).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{hub.url}/api/v1/call", body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


def test_a_renewed_token_that_is_refused_too_parks_the_server(
    issuer: Issuer, hub: RunningHub
) -> None:
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")
    issuer.admits_nobody = True

    assert "auth login remote" in json.dumps(call(hub))

    assert (issuer.refreshes, issuer.asked[-2:]) == (1, ["401", "401"])
    until(lambda: code(hub) == "auth-needed", f"not parked: {server(hub)}")
    asked = len(issuer.asked)
    assert not is_served(hub)
    assert len(issuer.asked) == asked


def test_a_call_that_wants_more_rights_names_the_command_and_the_next_login_asks_for_them(
    issuer: Issuer, hub: RunningHub
) -> None:
    issuer.body = BODIES["sdk"]
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")
    issuer.scope_needed = "files:write mail:send"

    said = json.dumps(call(hub))

    assert "wants more rights than its login has (files:write mail:send)" in said
    assert "run: toolyard auth login remote" in said
    assert issuer.refreshes == 0, "a renewal grants no more"
    until(lambda: code(hub) == "auth-needed", f"no problem: {server(hub)}")
    assert server(hub)["status"] == "ready", "what the login is good for goes on"

    log_in(hub)

    assert set(issuer.scopes[-1].split()) == {"tools", "files:write", "mail:send"}
    until(lambda: is_served(hub), "the new login is not used")
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

    issuer.life, issuer.failing = 3600, False

    until(lambda: is_served(hub), f"it did not come back: {server(hub)}")


def test_logging_out_ends_the_use_of_a_login(issuer: Issuer, hub: RunningHub) -> None:
    log_in(hub)
    until(lambda: server(hub)["status"] == "ready", "not ready")

    done = run(hub, "auth", "logout", "remote")

    assert done.returncode == 0, done.stderr
    until(lambda: code(hub) == "auth-needed", "still let in")
    assert not is_served(hub)
    assert run(hub, "auth", "logout", "remote").returncode == 4


def log_in_by_the_door(hub: RunningHub) -> None:
    status, body = hub._send("POST", "/api/v1/auth/remote/login")
    assert status == 200, body
    with urllib.request.urlopen(json.loads(body)["url"], timeout=PATIENCE) as answer:
        assert answer.status == 200


def test_a_login_by_the_door_that_lacks_rights_says_so_and_the_next_one_asks_for_them(
    issuer: Issuer, hub: RunningHub
) -> None:
    issuer.scope_needed, issuer.is_scope_for_all = "files:write", True

    log_in_by_the_door(hub)

    until(lambda: "files:write" in json.dumps(server(hub)["problem"]), f"silent: {server(hub)}")
    assert code(hub) == "auth-needed"
    log_in_by_the_door(hub)
    until(lambda: server(hub)["status"] == "ready", f"not ready: {server(hub)}")
    assert set(issuer.scopes[-1].split()) == {"tools", "files:write"}


def test_the_control_door_begins_a_login(issuer: Issuer, hub: RunningHub) -> None:
    log_in_by_the_door(hub)

    until(lambda: server(hub)["status"] == "ready", "not ready")
    logins = json.loads(hub.get("/api/v1/auth")[1])["logins"]
    assert [(each["state"], each["place"]) for each in logins] == [("logged-in", "file")]
    assert hub._send("POST", "/api/v1/auth/remote/logout")[0] == 200
    until(lambda: code(hub) == "auth-needed", "still let in")
    assert hub._send("POST", "/api/v1/auth/nobody/login")[0] == 404
