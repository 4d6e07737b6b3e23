"""Servers that the hub enters as a registered client, without a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.hub import RunningHub, running_hub
from tests.features.auth.test_hub import NO_KEYRING, call, is_served, server, until
from tests.fixtures.issuer import Issuer, issuing

SECRET = "a-secret-of-the-client-0123456789"


@contextmanager
def hub_of(issuer: Issuer, method: str, /, **more: str) -> Iterator[RunningHub]:
    """A hub that has the server as the client `batch`, whose secret is in the environment."""
    issuer.methods = [method]
    issuer.clients["batch"] = {
        "client_id": "batch",
        "client_secret": SECRET,
        "token_endpoint_auth_method": method,
    }
    auth = {"client_id": "batch", "client_secret": "${env:BATCH_SECRET}", **more}
    env = {**NO_KEYRING, "BATCH_SECRET": SECRET}
    with running_hub({"remote": {"url": issuer.mcp, "auth": auth}}, env=env) as hub:
        yield hub


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_is_let_in_by_its_secret_as_the_issuer_wants_it(
    issuer: Issuer, method: str
) -> None:
    with hub_of(issuer, method, scope="tools files") as hub:
        assert server(hub)["status"] == "ready"
        assert is_served(hub)
        assert issuer.registrations == []
        assert set(issuer.granted.values()) == {"tools files"}
        assert SECRET not in (hub.home / "hub.err").read_text()
        assert not list(hub.home.rglob("auth.json")), "tokens of clients are not kept"


def test_a_client_gets_new_tokens_ahead_of_their_end_and_within_a_call(issuer: Issuer) -> None:
    # No busy machine is too late with it: nobody calls, so nobody else would have it renewed.
    issuer.life, issuer.leeway = 3, 600
    with hub_of(issuer, "client_secret_basic") as hub:
        assert server(hub)["status"] == "ready"
        until(lambda: issuer.client_grants >= 3, "it was not renewed ahead of time")
        opened = issuer.asked.count("server/discover")
        issuer.revoke()

        assert is_served(hub)
        assert issuer.asked.count("server/discover") == opened, "the link was opened anew"


def test_a_client_that_is_refused_is_told_where_to_look_and_not_tried_again(
    issuer: Issuer,
) -> None:
    with hub_of(issuer, "client_secret_basic") as hub:
        issuer.clients["batch"]["client_secret"] = "another-one"
        issuer.revoke()
        assert call(hub).get("isError") or "error" in call(hub)
        until(lambda: server(hub)["problem"], "there is no problem")

        problem = server(hub)["problem"]
        assert problem["code"] == "auth-needed"
        assert "invalid_client" in problem["text"] and "'auth'" in problem["hint"]


@contextmanager
def another_issuer(issuer: Issuer) -> Iterator[Issuer]:
    """An issuer that takes the same client, and that the server names from now on."""
    with issuing() as other:
        other.clients, other.methods = issuer.clients, issuer.methods
        issuer.listed_as = other.url
        yield other


def test_a_client_is_not_shown_to_an_issuer_that_its_server_names_later(issuer: Issuer) -> None:
    with hub_of(issuer, "client_secret_basic") as hub:
        assert is_served(hub)
        with another_issuer(issuer) as other:
            issuer.revoke()
            assert call(hub).get("isError") or "error" in call(hub)
            until(lambda: server(hub)["problem"], "there is no problem")
            problem = server(hub)["problem"]
            assert problem["code"] == "auth-needed"
            assert other.url in problem["text"] and "nothing was sent" in problem["text"]
            assert f'"issuer": "{other.url}"' in problem["hint"]
            assert (other.client_grants, other.failures) == (0, 0)


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_client_is_shown_to_the_issuer_that_its_entry_names(issuer: Issuer, slash: str) -> None:
    with hub_of(issuer, "client_secret_basic", issuer=issuer.url + slash) as hub:
        assert is_served(hub)


def test_a_client_is_never_shown_to_another_issuer_than_its_entry_names(issuer: Issuer) -> None:
    with another_issuer(issuer) as other:
        with hub_of(issuer, "client_secret_basic", issuer=issuer.url) as hub:
            until(lambda: server(hub)["problem"], "there is no problem")
            assert "nothing was sent" in server(hub)["problem"]["text"]
        assert other.client_grants == 0


def test_an_entry_whose_client_cannot_prove_who_it_is_is_refused(issuer: Issuer) -> None:
    grant = {"client_id": "batch", "grant": "client_credentials"}
    local = {"command": "true", "auth": {"client_id": "batch", "client_secret": "x"}}
    servers = {"remote": {"url": issuer.mcp, "auth": grant}, "local": local}
    with running_hub(servers, env=NO_KEYRING, settle=False) as hub:
        until(lambda: len(hub.status()["problems"]) >= 2, "the entries are not refused")
        texts = " ".join(problem["text"] for problem in hub.status()["problems"])
        assert "cannot prove who it is" in texts and "has a command" in texts
