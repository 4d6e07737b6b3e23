"""Logins of a real hub at authorization servers that others made."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar

import pytest

from tests.e2e.hub import PATIENCE, RunningHub, running_hub
from tests.features.auth.test_hub import NO_KEYRING, call, code, command, is_served, server, until
from tests.fixtures.issuers.running import ForeignServer, running_issuer

KINDS = ("typescript_sdk", "python_sdk", "fastmcp_server", "oidc_provider")

NAMING = tuple(kind for kind in KINDS if kind != "python_sdk")
"""Those that name the scope in the challenge of a refusal."""

pytestmark = pytest.mark.timeout(600)  # the first time, the packages are fetched


@contextmanager
def hub_at(kind: str) -> Iterator[tuple[ForeignServer, RunningHub]]:
    with (
        running_issuer(kind) as foreign,
        running_hub({"remote": {"url": foreign.url}}, env=NO_KEYRING) as hub,
    ):
        yield foreign, hub


def log_in(hub: RunningHub) -> None:
    """Log in as a person does whose browser keeps cookies."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with subprocess.Popen(
        command(hub, "auth", "login", "remote", "--no-browser"),
        env={**hub.env, **NO_KEYRING},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        page = next((line for line in process.stderr if "http" in line), "").strip()
        with browser.open(page, timeout=PATIENCE) as answer:
            assert answer.status == 200
        warned = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0, warned
    until(lambda: server(hub)["status"] == "ready", f"not ready: {server(hub)}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_login_finds_the_issuer_registers_and_proves_itself(kind: str) -> None:
    with hub_at(kind) as (foreign, hub):
        assert code(hub) == "auth-needed"

        log_in(hub)

        assert is_served(hub)
        assert foreign.told()["registrations"] == 1
        log_in(hub)
        assert foreign.told()["registrations"] == 1, "the second login registered again"


@pytest.mark.parametrize("kind", KINDS)
def test_a_login_is_renewed_ahead_of_its_end(kind: str) -> None:
    with hub_at(kind) as (foreign, hub):
        foreign.turn("life", "4")
        log_in(hub)

        until(lambda: foreign.told()["refreshes"] >= 2, "it was not renewed")

        assert is_served(hub)


@pytest.mark.parametrize("kind", KINDS)
def test_a_revoked_token_is_renewed_within_the_call_and_a_revoked_login_is_asked_for(
    kind: str,
) -> None:
    with hub_at(kind) as (foreign, hub):
        log_in(hub)
        foreign.turn("revoke", "access")
        assert is_served(hub)
        assert foreign.told()["refreshes"] == 1

        foreign.turn("revoke", "all")

        assert not is_served(hub)
        until(lambda: code(hub) == "auth-needed", f"no problem: {server(hub)}")
        log_in(hub)
        assert is_served(hub)


@pytest.mark.parametrize("kind", NAMING)
def test_a_call_that_wants_more_rights_gets_them_by_the_next_login(kind: str) -> None:
    with hub_at(kind) as (foreign, hub):
        log_in(hub)
        foreign.turn("want", "files:write")

        refusal = json.dumps(call(hub))
        assert "wants more rights than its login has" in refusal and "files:write" in refusal

        until(lambda: code(hub) == "auth-needed", f"no problem: {server(hub)}")
        log_in(hub)
        until(lambda: is_served(hub), "the new login is not used")
        assert {"tools", "files:write"} <= {*foreign.told()["scopes"][-1].split()}


def test_a_server_that_does_not_name_the_rights_it_wants_is_told_of_and_used_on() -> None:
    with hub_at("python_sdk") as (foreign, hub):
        log_in(hub)
        foreign.turn("want", "files:write")

        refusal = json.dumps(call(hub))

        assert "wants more rights than its login has" in refusal
        assert "run: toolyard auth login remote" in refusal
        until(lambda: code(hub) == "auth-needed", f"no problem: {server(hub)}")
        assert server(hub)["status"] == "ready", "what the login is good for goes on"
        assert foreign.told()["refreshes"] == 0, "a renewal grants no more"
