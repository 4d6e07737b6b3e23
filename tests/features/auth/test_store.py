from __future__ import annotations

from pathlib import Path

import pytest

from toolyard.features.auth.store import WANTED_LIMIT, Grants
from toolyard.links.grants import OAuthGrant, server_key


def test_a_server_is_known_by_its_address_without_what_may_be_secret() -> None:
    key = server_key("HTTPS://me:pw@Example.com:8443/mcp?token=x#y")

    assert key == "https://example.com:8443/mcp"
    assert server_key("http://h") == "http://h/"


@pytest.mark.usefixtures("no_keyring")
def test_scopes_that_a_server_asks_for_are_kept_until_the_next_login_and_not_without_end(
    tmp_path: Path,
) -> None:
    grants = Grants(tmp_path)
    grant = OAuthGrant("http://x/mcp", "http://x", "http://x/token", "{}", "token-0123456789")
    grants.want(grant.url, "nobody")
    grants.write(grant)

    for scope in ("a", "b a", "c"):
        grants.want(grant.url, scope)
    assert grants.listed()[grant.url].wanted == "a b c"

    for number in range(8):
        grants.want(grant.url, f"{number}" * 1000)
        assert len(grants.listed()[grant.url].wanted) <= WANTED_LIMIT

    grants.write(grant)
    assert grants.listed()[grant.url].wanted == ""
