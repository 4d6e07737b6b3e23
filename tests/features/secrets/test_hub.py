"""A real hub in front of a server that needs a secret."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from tests.e2e.hub import PATIENCE, RunningHub, new_home, running_hub
from tests.e2e.hub import toolyard as command
from tests.features.auth.test_hub import NO_KEYRING, code, server, until
from tests.fixtures.stub_run import running_http_stub


def set_secret(hub: RunningHub, file: Path, value: str) -> None:
    done = subprocess.run(
        command("secret", "set", "key", "--file", str(file)),
        env={**hub.env, **NO_KEYRING},
        input=value,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


def entry(url: str, file: Path) -> dict[str, Any]:
    return {"url": url, "headers": {"Authorization": f"Bearer ${{file:{file}}}"}}


def test_a_missing_secret_is_a_problem_that_ends_as_soon_as_it_is_set() -> None:
    with new_home() as home, running_http_stub("--token", "right-token-0123") as url:
        file = home / "key"
        with running_hub({"web": entry(url, file)}, home=home, env=NO_KEYRING) as hub:
            problem = server(hub)["problem"]
            assert problem["code"] == "secret-missing"
            assert "toolyard secret set" in problem["hint"]

            set_secret(hub, file, "wrong-token-0123")
            until(lambda: code(hub) == "auth-needed", f"not parked: {server(hub)}")
            set_secret(hub, file, "right-token-0123")
            until(lambda: server(hub)["status"] == "ready", f"not ready: {server(hub)}")

            listed = json.loads(hub.get("/api/v1/secrets")[1])["secrets"]
            assert [(row["name"], row["place"], row["used_by"]) for row in listed] == [
                ("key", "file", ["web"])
            ]
            assert "right-token" not in json.dumps(hub.status())


def test_the_control_door_keeps_no_secret_where_there_is_no_keyring() -> None:
    with running_hub({}, env=NO_KEYRING) as hub:
        import http.client

        connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=60)
        headers = {
            "Authorization": f"Bearer {hub.env['TOOLYARD_TOKEN']}",
            "Content-Type": "application/json",
        }
        body = json.dumps({"value": "s3cr3t-by-rest"})
        connection.request("PUT", "/api/v1/secrets/key", body, headers)
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()

        assert answer.status == 422
        assert "no keyring" in said
        assert "s3cr3t" not in said
        assert hub._send("DELETE", "/api/v1/secrets/key")[0] == 404
        assert "s3cr3t" not in (hub.home / "hub.err").read_text()


def test_a_running_hub_is_asked(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("secret", "list").code == 4  # the stand-in knows none of this
    assert [path for path, _ in hub.asked] == ["/api/v1/secrets"]
