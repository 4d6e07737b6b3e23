from __future__ import annotations

import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixtures.issuer import Issuer
from tests.fixtures.keyrings import InMemory
from toolyard.core.errors import LinkError
from toolyard.core.model import Url
from toolyard.features.auth.callback import listening
from toolyard.features.auth.oauth import login
from toolyard.features.auth.registration import OAuthClient
from toolyard.features.auth.store import Grants
from toolyard.links.refresh import refresh
from toolyard.links.refusals import AuthNeededError


def visit(url: str) -> int:
    """Open a page as a browser does; gives the status of where it ended."""
    try:
        with urllib.request.urlopen(url, timeout=60) as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def browser(url: str) -> None:
    """Follow the login page to its end, beside the login that waits for it."""
    threading.Thread(target=visit, args=(url,), daemon=True).start()


@pytest.fixture
def grants(tmp_path: Path) -> Grants:
    return Grants(tmp_path / "state")


async def test_a_login_is_done_once_and_kept_in_the_keyring(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    listed = await login("remote", Url(issuer.mcp), grants, browser)

    assert (listed.url, listed.issuer, listed.place) == (issuer.mcp, issuer.url, "keyring")
    grant = grants.read(issuer.mcp)
    assert grant is not None
    assert grant.access_token in issuer.valid
    assert issuer.registrations[0]["application_type"] == "native"
    token = grant.access_token
    assert token not in repr(grant)
    written = [file.read_bytes() for file in grants.index.parent.rglob("*") if file.is_file()]
    assert all(token.encode() not in text for text in written)
    assert any(token in kept for kept in a_keyring.kept.values())


@pytest.mark.usefixtures("no_keyring")
async def test_without_a_keyring_a_login_is_kept_in_a_file_of_the_user_alone(
    issuer: Issuer, grants: Grants
) -> None:
    listed = await login("remote", Url(issuer.mcp), grants, browser)

    assert listed.place == "file"
    kept = [file for file in grants.folder.iterdir() if file.name.startswith("login-")]
    assert [file.stat().st_mode & 0o777 for file in kept] == [0o600]
    grants.remove(issuer.mcp)
    assert not kept[0].exists()
    assert grants.read(issuer.mcp) is None


async def test_a_server_that_wants_more_at_once_has_the_person_agree_to_that_too(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    issuer.scope_needed, issuer.is_scope_for_all = "files:write", True

    await login("remote", Url(issuer.mcp), grants, browser)

    # The second page has a code of its own, and the issuer takes each code once.
    assert [set(scope.split()) for scope in issuer.scopes] == [set(), {"tools", "files:write"}]
    grant = grants.read(issuer.mcp)
    assert grant is not None
    assert set(issuer.granted[grant.access_token].split()) == {"tools", "files:write"}


async def test_a_server_that_never_has_enough_is_given_up_after_two_pages(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    issuer.scope_needed, issuer.is_scope_for_all, issuer.grants_nothing = "more", True, True

    with pytest.raises(LinkError, match=r"does not accept the login \(HTTP 403\)"):
        await login("remote", Url(issuer.mcp), grants, browser)

    assert len(issuer.scopes) == 2
    assert grants.read(issuer.mcp) is None


async def test_a_second_login_uses_the_registration_of_the_first(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    await login("remote", Url(issuer.mcp), grants, browser)
    await login("remote", Url(issuer.mcp), grants, browser)

    assert len(issuer.registrations) == 1


async def test_a_client_that_was_registered_by_hand_is_used(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    async with listening() as free:
        port = free.port
    issuer.clients["mine"] = {
        "client_id": "mine",
        "client_secret": "by-hand-0123",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
    }

    client = OAuthClient(id="mine", secret="by-hand-0123", port=port)
    await login("remote", Url(issuer.mcp), grants, browser, client)

    assert issuer.registrations == []


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["client_secret_post", "none"], "none"),
        (["client_secret_basic", "client_secret_post"], "client_secret_post"),
        (["private_key_jwt", "client_secret_basic"], "client_secret_basic"),
        (None, "client_secret_basic"),
    ],
)
@pytest.mark.parametrize("says_method", [True, False])
async def test_a_client_proves_who_it_is_as_the_issuer_offers_it(
    issuer: Issuer,
    grants: Grants,
    a_keyring: InMemory,
    offered: list[str] | None,
    chosen: str,
    says_method: bool,
) -> None:
    issuer.methods, issuer.says_method = offered, says_method

    await login("remote", Url(issuer.mcp), grants, browser)

    assert issuer.registrations[0]["token_endpoint_auth_method"] == chosen
    grant = grants.read(issuer.mcp)
    assert grant is not None
    assert (await refresh(grant)).access_token in issuer.valid


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_the_secret_of_a_client_registered_by_hand_is_shown_as_the_issuer_offers_it(
    issuer: Issuer, grants: Grants, a_keyring: InMemory, method: str
) -> None:
    async with listening() as free:
        port = free.port
    issuer.methods = [method]
    issuer.clients["mine"] = {
        "client_id": "mine",
        "client_secret": "by-hand-0123",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
        "token_endpoint_auth_method": method,
    }

    client = OAuthClient(id="mine", secret="by-hand-0123", port=port)
    await login("remote", Url(issuer.mcp), grants, browser, client)

    assert grants.listed()


@pytest.mark.parametrize("listed", ["", "/"])
async def test_a_slash_at_the_end_of_a_listed_issuer_ends_no_login(
    issuer: Issuer, grants: Grants, a_keyring: InMemory, listed: str
) -> None:
    issuer.listed_as = issuer.url + listed

    await login("remote", Url(issuer.mcp), grants, browser)
    await login("remote", Url(issuer.mcp), grants, browser)

    assert len(issuer.registrations) == 1
    assert grants.listed()[issuer.mcp].issuer == issuer.url


@pytest.mark.parametrize("other", ["/", "//", "/other", "/?x", ".evil.example"])
async def test_another_issuer_than_the_server_named_is_not_trusted(
    issuer: Issuer, grants: Grants, a_keyring: InMemory, other: str
) -> None:
    issuer.iss = issuer.url + other

    with pytest.raises(LinkError, match="mismatch") as caught:
        await login("remote", Url(issuer.mcp), grants, browser, seconds=10)

    assert "whoever runs the server" in caught.value.hint
    assert grants.listed() == {}


def deny(issuer: Issuer) -> None:
    issuer.denies = True


def forget_pkce(issuer: Issuer) -> None:
    issuer.pkce = []


def lie_about_iss(issuer: Issuer) -> None:
    issuer.wrong_iss = True


def break_tokens(issuer: Issuer) -> None:
    issuer.failing = True


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (deny, "was refused"),
        (forget_pkce, "PKCE"),
        (lie_about_iss, "iss"),
        (break_tokens, "503"),
    ],
)
async def test_a_login_that_goes_wrong_says_so_and_keeps_nothing(
    issuer: Issuer,
    grants: Grants,
    a_keyring: InMemory,
    turn: Callable[[Issuer], None],
    text: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    turn(issuer)
    with pytest.raises(LinkError, match=text), caplog.at_level(logging.DEBUG):
        await login("remote", Url(issuer.mcp), grants, browser, seconds=10)

    assert grants.listed() == {}
    assert a_keyring.kept == {}


@pytest.mark.parametrize("coding", ["gzip", "GZip", "gzip, identity", "br"])
async def test_an_answer_that_is_packed_is_not_unpacked(
    issuer: Issuer, grants: Grants, a_keyring: InMemory, coding: str
) -> None:
    issuer.packed = coding

    with pytest.raises(LinkError, match="packed"):
        await login("remote", Url(issuer.mcp), grants, browser, seconds=10)

    assert issuer.encodings == ["identity"]


async def test_a_person_who_never_comes_back_is_not_waited_for_without_end(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    with pytest.raises(LinkError, match="nobody finished the login"):
        await login("remote", Url(issuer.mcp), grants, lambda _: None, seconds=0.05)


HOSTILE = [
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://example.com/authorize",
    "ftp://127.0.0.1/",
    "vscode://x",
    "http://user:pass@127.0.0.1/authorize",
    "https://a`touch${IFS}x`.example/",
    "--help",
    "https://exa\nmple.com/",
    "$(touch x)",
]


@pytest.mark.parametrize("address", HOSTILE)
async def test_a_hostile_login_page_is_shown_to_nobody(
    issuer: Issuer, grants: Grants, a_keyring: InMemory, address: str
) -> None:
    issuer.authorize_at = address
    shown: list[str] = []
    with pytest.raises(LinkError):
        await login("remote", Url(issuer.mcp), grants, shown.append, seconds=0.05)
    assert shown == []


async def test_the_callback_turns_away_who_does_not_know_the_state() -> None:
    import asyncio

    async with listening() as callback:
        callback.expect("right")
        base = callback.address
        other = base.replace("127.0.0.1", "localhost")
        assert await asyncio.to_thread(visit, f"{base}?code=x&state=wrong") == 400
        assert await asyncio.to_thread(visit, f"{base}?code=x") == 400
        assert await asyncio.to_thread(visit, base.replace("/callback", "/other")) == 404
        assert await asyncio.to_thread(visit, f"{other}?code=x&state=right") == 421
        assert await asyncio.to_thread(visit, f"{base}?code=good&state=right") == 200
        assert (await callback.wait(60))["code"] == "good"
        assert await asyncio.to_thread(visit, f"{base}?code=evil&state=right") == 400


async def test_a_login_is_renewed_with_one_request(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    await login("remote", Url(issuer.mcp), grants, browser)
    old = grants.read(issuer.mcp)
    assert old is not None

    new = await refresh(old)

    assert new.access_token in issuer.valid
    assert new.access_token != old.access_token
    assert new.refresh_token != old.refresh_token
    with pytest.raises(AuthNeededError, match="does not renew"):
        await refresh(old)
    issuer.failing = True
    with pytest.raises(LinkError, match="503"):
        await refresh(new)


async def test_a_login_is_not_renewed_where_nobody_would_log_in(
    issuer: Issuer, grants: Grants, a_keyring: InMemory
) -> None:
    await login("remote", Url(issuer.mcp), grants, browser)
    grant = grants.read(issuer.mcp)
    assert grant is not None
    # The server is out in the open network, and the name of its issuer leads to this machine now.
    moved = replace(grant, url="https://8.8.8.8/mcp")
    with pytest.raises(LinkError, match="not on the open network"):
        await refresh(moved)
    assert (issuer.refreshes, issuer.denied) == (0, 0)
    assert (await refresh(grant)).access_token in issuer.valid
