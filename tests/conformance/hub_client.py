"""The hub as the client under test: the official suite starts this with the address of its server.

A hub of its own gets the server, a person logs in with `toolyard auth login` and a browser that
says yes to everything, and every tool is called through the hub. Where the hub says that somebody
has to log in again, that is done once more, as a person would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.hub import PATIENCE, RunningHub, running_hub, toolyard

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client document that the suite knows."""
SECRETS = {"client_secret": "client_secret", "private_key_pem": "private_key"}
"""The secrets that the suite tells, and what an entry calls them."""
LOGINS = 2
"""A person who agreed twice and is still not let in gives up."""


def main() -> int:
    """Use the server of a scenario; the code is not 0 if it could not be used."""
    url, scenario = sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    secrets = {name.upper(): str(context[name]) for name in SECRETS if name in context}
    entry = {"url": url, **({"auth": client_for(scenario, context)} if secrets else {})}
    with running_hub({"remote": entry}, env={**NO_KEYRING, **secrets}) as hub:
        if "client-credentials" in scenario:
            return 0 if call_all(hub) else 1
        for _ in range(LOGINS):
            if not log_in(hub, flags_for(scenario), {**NO_KEYRING, **secrets}):
                return 1
            if call_all(hub):
                return 0
    return 1


def client_for(scenario: str, context: dict[str, Any]) -> dict[str, str]:
    """The client that the suite has registered, as an entry names it."""
    named = {SECRETS[name]: f"${{env:{name.upper()}}}" for name in SECRETS if name in context}
    is_alone = "client-credentials" in scenario
    grant = "client_credentials" if is_alone else "authorization_code"
    return {"client_id": context["client_id"], "grant": grant, **named}


def flags_for(scenario: str) -> list[str]:
    """The options of `auth login` that somebody would use who knows what the suite tells."""
    return ["--client-page", DOCUMENT] if scenario == "auth/basic-cimd" else []


def log_in(hub: RunningHub, flags: Sequence[str], env: dict[str, str]) -> bool:
    """Log in as a person does who opens the printed page; False if that failed."""
    words = ("auth", "login", "remote", "--no-browser", *flags)
    config = ("--config", str(hub.home / "config" / "servers.json"))
    with subprocess.Popen(
        toolyard(*words, *config), env={**hub.env, **env}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            print(line, end="", file=sys.stderr)
            if line.strip().startswith(("http://", "https://")):
                visit(line.strip())
        return process.wait(PATIENCE) == 0


def visit(page: str) -> None:
    """Open a page as a browser does, and follow it to its end."""
    try:
        with urllib.request.urlopen(page, timeout=PATIENCE) as answer:
            answer.read()
    except urllib.error.URLError as error:
        print(f"the browser met {error}", file=sys.stderr)


def call_all(hub: RunningHub) -> bool:
    """Call every tool; False if one could not be called."""
    hub.wait_settled()
    tools = hub.ask("tools", "--server", "remote")["tools"]
    print(json.dumps({"tools": tools})[:2000], file=sys.stderr)
    return bool(tools) and all(call(hub, tool["name"]) for tool in tools)


def call(hub: RunningHub, tool: str) -> bool:
    """Call a tool with arguments of its liking."""
    done = subprocess.run(
        toolyard("--json", "call", tool, "--arguments", "{}"),
        env=hub.env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    print(done.stdout[:2000], done.stderr[:2000], file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
