from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.fixtures.keyrings import InMemory
from tests.fixtures.own_home import write_servers
from toolyard.console.exits import Exit
from toolyard.features.auth.store import Grants
from toolyard.links.grants import OAuthGrant

pytestmark = pytest.mark.usefixtures("own_home")


def test_logins_are_for_servers_with_an_address(
    toolyard: Toolyard, own_home: Path, a_keyring: InMemory
) -> None:
    write_servers(own_home, local={"command": "x"}, remote={"url": "https://example.com/mcp?key=k"})

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
    toolyard: Toolyard, own_home: Path
) -> None:
    grant = OAuthGrant(
        "https://old.example/mcp", "https://id.example", "", "{}", "token-0123456789"
    )
    Grants(own_home / "state").write(grant)

    (shown,) = json.loads(toolyard("auth", "status", "--json")[1])["logins"]

    assert (shown["server"], shown["url"]) == ("", "https://old.example/mcp")
    assert (shown["state"], shown["kept_in"]) == ("logged in", "file")
