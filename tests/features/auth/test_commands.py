from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.keyrings import InMemory
from toolyard.command_line import run
from toolyard.console.exits import Exit
from toolyard.features.auth.store import Grants
from toolyard.links.grants import OAuthGrant

Said = tuple[int, str, str]


@pytest.fixture
def toolyard(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> Callable[..., Said]:
    monkeypatch.setenv("TOOLYARD_HOME", str(home / "ty"))

    def call(*words: str, stdin: str = "") -> Said:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capfd.readouterr()
        code = run(list(words))
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


def write_servers(home: Path, **servers: Any) -> None:
    file = home / "ty" / "servers.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}))


def test_logins_are_for_servers_with_an_address(
    toolyard: Callable[..., Said], home: Path, a_keyring: InMemory
) -> None:
    write_servers(home, local={"command": "x"}, remote={"url": "https://example.com/mcp?key=k"})

    assert toolyard("auth", "login", "local")[0] == Exit.REFUSED
    code, _, err = toolyard("auth", "login", "nobody")
    assert (code, "remote" in err) == (Exit.NOT_FOUND, True)
    assert toolyard("auth", "logout", "remote")[0] == Exit.NOT_FOUND
    shown = json.loads(toolyard("auth", "status", "--json")[1])["logins"]
    assert shown == [
        {"server": "remote", "url": "https://example.com/mcp", "state": "not logged in"}
    ]


@pytest.mark.usefixtures("no_keyring")
def test_a_login_at_a_server_that_is_gone_is_still_shown(
    toolyard: Callable[..., Said], home: Path
) -> None:
    grant = OAuthGrant(
        "https://old.example/mcp", "https://id.example", "", "{}", "token-0123456789"
    )
    Grants(home / "ty" / "state").write(grant)

    (shown,) = json.loads(toolyard("auth", "status", "--json")[1])["logins"]

    assert (shown["server"], shown["url"]) == ("", "https://old.example/mcp")
    assert (shown["state"], shown["kept_in"]) == ("logged in", "file")
