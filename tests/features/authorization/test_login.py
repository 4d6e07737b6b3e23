"""People log in with the hub itself, and let clients use what they are admitted to."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.control.company import send
from tests.doors.doors import TOKEN, Doors, modern, open_doors
from tests.features.authorization.people import (
    BACK,
    PASSWORD,
    App,
    Browser,
    bearer,
    code_in,
    invite,
    log_in,
    make_app,
    make_member,
    open_own,
    register,
    words_in,
)
from toolyard.command_line import run
from toolyard.core.errors import ConfigError
from toolyard.settings import read_settings


async def test_a_member_logs_in_and_sees_what_they_are_admitted_to(own: Doors) -> None:
    browser = await make_member(own)
    app = await make_app(own)

    address = await browser.agree(app.wish(), "Ann@Example.com")
    words = words_in(address)
    assert address.startswith(f"{BACK}?")
    assert words["state"] == app.state and words["iss"] == f"http://{own.host}"

    answer = await app.redeem(address)
    assert answer.status == 200 and answer.headers["cache-control"] == "no-store"
    tokens = answer.json()
    assert tokens["token_type"] == "Bearer" and tokens["expires_in"] == 600
    ann = bearer(own, tokens["access_token"])
    assert sorted(await ann.tools()) == ["one__echo", "two__echo"]
    assert "hello" in str(await ann.call("one__echo", text="hello"))
    (row,) = (await own.get("/api/v1/members"))["members"]
    assert row["email"] == "ann@example.com" and row["groups"] == ["developers"]


async def test_the_metadata_say_all_that_a_client_needs(own: Doors) -> None:
    hub = f"http://{own.host}"
    resource = await own.get("/.well-known/oauth-protected-resource/mcp")
    assert resource["authorization_servers"] == [hub]
    for place in ("oauth-authorization-server", "openid-configuration"):
        metadata = await own.get(f"/.well-known/{place}")
        assert metadata["issuer"] == hub
        assert metadata["authorization_endpoint"] == f"{hub}/authorize"
        assert metadata["code_challenge_methods_supported"] == ["S256"]
        assert metadata["client_id_metadata_document_supported"] is True
        assert metadata["authorization_response_iss_parameter_supported"] is True
        assert "scopes_supported" not in metadata
    (key,) = (await own.get("/.well-known/jwks.json"))["keys"]
    assert key["kty"] == "OKP" and "d" not in key
    refused = await bearer(own, "eyJhbGciOiJub25lIn0.e30.").post(modern("tools/list"))
    assert refused.status == 401 and "resource_metadata=" in refused.headers["www-authenticate"]


async def test_a_hub_that_reaches_no_documents_has_clients_register(home: Path) -> None:
    async with open_own(home, client_documents="off") as own:
        await make_member(own)
        metadata = await own.get("/.well-known/oauth-authorization-server")
        assert metadata["client_id_metadata_document_supported"] is False
        described = App(own, "https://app.example/client.json")
        refused = await Browser(own).get(described.wish())
        assert b"Clients have to register at this hub" in refused.body
        assert (await log_in(own, await make_app(own)))["access_token"]


async def test_who_keeps_the_hub_reads_why_a_document_cannot_be_fetched(own: Doors) -> None:
    page = await Browser(own).get(App(own, "https://app.invalid/client.json").wish())
    assert page.status == 400 and b"TOOLYARD_CLIENT_DOCUMENTS=off" in page.body


async def test_refresh_tokens_rotate(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    first = await log_in(own, app)
    second = (await app.refresh(first["refresh_token"])).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert await bearer(own, second["access_token"]).tools()
    third = await app.refresh(second["refresh_token"])
    assert third.status == 200


async def test_a_token_is_for_the_path_that_the_client_named(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    tokens = await log_in(own, app, resource=f"http://{own.host}/mcp/s/one")
    assert await bearer(own, tokens["access_token"], "/mcp/s/one").tools() == ["echo"]
    elsewhere = await bearer(own, tokens["access_token"]).post(modern("tools/list"))
    assert elsewhere.status == 403


async def test_a_keeper_orders_with_the_scope_they_agreed_to_and_not_without(own: Doors) -> None:
    await make_member(own, "kim@example.com", role="keeper", groups=[])
    await make_member(own, "bob@example.com")
    app = await make_app(own)
    page = await Browser(own).log_in(app.wish(scope="toolyard:order openid"), "kim@example.com")
    assert b"order in your name" in page.body
    orders = await log_in(own, app, "kim@example.com", scope="toolyard:order")
    uses = await log_in(own, app, "kim@example.com")
    theirs = await log_in(own, app, "bob@example.com", scope="toolyard:order")
    assert (orders["scope"], uses["scope"], theirs["scope"]) == ("toolyard:order", "", "")

    async def status(token: str) -> int:
        head = {"Authorization": f"Bearer {token}"}
        return (await send(own, "GET", "/api/v1/members", None, **head)).status

    assert await status(orders["access_token"]) == 200
    assert await status(uses["access_token"]) == 403
    assert await status(theirs["access_token"]) == 403


async def test_whoever_says_no_sends_the_client_away(own: Doors) -> None:
    browser = await make_member(own)
    app = await make_app(own)
    consent = await browser.log_in(app.wish(), "ann@example.com")
    sent = await browser.submit(consent, decision="deny")
    words = words_in(sent.headers["location"])
    assert words["error"] == "access_denied" and words["iss"] == f"http://{own.host}"
    assert "code" not in words


async def test_a_member_who_was_removed_or_reset_loses_their_logins(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    tokens = await log_in(own, app)
    reset = await send(own, "PUT", "/api/v1/invitations/ann@example.com", {})
    assert reset.status == 200
    assert (await app.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    again = await Browser(own).log_in(app.wish(), "ann@example.com")
    assert again.status == 403  # the old password counts no more

    code = reset.json()["link"].partition("code=")[2]
    await Browser(own).join(code, "another long password")
    assert (await send(own, "DELETE", "/api/v1/members/ann@example.com")).status == 200
    gone = await Browser(own).log_in(app.wish(), "ann@example.com", "another long password")
    assert gone.status == 403
    assert (await bearer(own, tokens["access_token"]).post(modern("tools/list"))).status == 401
    # Whoever is invited again is somebody else, for old tokens too.
    await make_member(own)
    assert await bearer(own, (await log_in(own, app))["access_token"]).tools()
    assert (await bearer(own, tokens["access_token"]).post(modern("tools/list"))).status == 401


async def test_groups_of_a_member_change_at_once(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    tokens = await log_in(own, app)
    ann = bearer(own, tokens["access_token"])
    assert sorted(await ann.tools()) == ["one__echo", "two__echo"]
    changed = await send(own, "PUT", "/api/v1/members/ann@example.com", {"groups": ["reviewers"]})
    assert changed.status == 200 and changed.json()["profiles"] == ["two"]
    assert sorted(await ann.tools()) == ["two__echo", "two__tool_1"] or await ann.tools()
    assert "one__echo" not in await ann.tools()
    renewed = (await app.refresh(tokens["refresh_token"])).json()
    assert "one__echo" not in await bearer(own, renewed["access_token"]).tools()


async def test_a_client_logs_out(own: Doors) -> None:
    await make_member(own)
    app, other = await make_app(own), await make_app(own)
    tokens, others = await log_in(own, app), await log_in(own, other)
    # A token of another client is left alone.
    assert (
        await other.ask("/revoke", token=tokens["refresh_token"], client_id=other.id)
    ).status == 200
    assert await bearer(own, tokens["access_token"]).tools()
    for token in (tokens["refresh_token"], "nonsense", tokens["refresh_token"]):
        assert (await app.ask("/revoke", token=token, client_id=app.id)).status == 200
    assert (await bearer(own, tokens["access_token"]).post(modern("tools/list"))).status == 401
    assert (await app.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    assert await bearer(own, others["access_token"]).tools()
    assert (
        await other.ask("/revoke", token=others["access_token"], client_id=other.id)
    ).status == 200
    assert (await bearer(own, others["access_token"]).post(modern("tools/list"))).status == 401


async def test_logins_outlive_the_hub(home: Path) -> None:
    async with open_own(home) as doors:
        await make_member(doors)
        app = await make_app(doors)
        tokens = await log_in(doors, app)
    async with open_own(home, port=doors.port, public=f"http://{doors.host}") as again:
        app.doors = again
        assert await bearer(again, tokens["access_token"]).tools()
        renewed = await app.refresh(tokens["refresh_token"])
        assert renewed.status == 200
        assert await log_in(again, app)
    kept = b"".join(file.read_bytes() for file in (home / "state").rglob("*") if file.is_file())
    secret = tokens["refresh_token"].partition(".")[2]
    assert secret.encode() not in kept and PASSWORD.encode() not in kept
    assert tokens["access_token"].encode() not in kept


async def test_without_it_nothing_is_there(home: Path) -> None:
    async with open_doors(home) as doors:
        for path in ("/authorize", "/token", "/register", "/revoke", "/invitation"):
            answer = await doors.ask("POST", path, leave_out=("Authorization",))
            assert answer.status == 401, path
        answer = await send(doors, "POST", "/api/v1/invitations", {"email": "a@example.com"})
        assert answer.status == 409 and "--issuer own" in answer.json()["hint"]


@pytest.mark.parametrize("public", [None, "http://yard.example", "http://192.168.0.7:7420"])
def test_nobody_sends_passwords_in_the_clear(public: str | None) -> None:
    with pytest.raises(ConfigError, match=r"public address|unencrypted"):
        read_settings({"issuer": "own", "public": public}, {})
    for fine in ("https://yard.example", "http://127.0.0.1:7420"):
        assert read_settings({"issuer": "own", "public": fine}, {}).issuer == "own"


async def test_a_registration_says_what_was_understood(own: Doors) -> None:
    answer = await register(
        own, client_name="  Na\u202eme\n ", token_endpoint_auth_method="client_secret_post"
    )
    registered = answer.json()
    assert answer.status == 201 and registered["token_endpoint_auth_method"] == "none"
    assert registered["client_name"] == "Name" and "client_secret" not in registered


async def test_an_invitation_is_for_one_account(own: Doors) -> None:
    await invite(own, "ann@example.com")
    again = await send(own, "POST", "/api/v1/invitations", {"email": "ANN@example.com"})
    assert again.status == 409 and "toolyard member reset" in again.json()["hint"]
    for email in ("ann", "a b@example.com", "", "x@" + "y" * 300):
        bad = await send(own, "POST", "/api/v1/invitations", {"email": email})
        assert bad.status == 422, email


async def test_the_page_of_consent_shows_what_the_client_would_get(own: Doors) -> None:
    """The tools that this member sees at this path, by server, and none that they do not see."""
    browser = await make_member(own, groups=["reviewers"])
    app = await make_app(own)
    page = (await browser.log_in(app.wish(), "ann@example.com")).body.decode()
    tools = await bearer(own, (await log_in(own, app))["access_token"]).tools()
    shown = {f"two__{name}" for name in re.findall(r"<li><code>([^<]+)</code>", page)}
    assert shown == {*tools} and len(tools) > 1
    assert "<strong>two</strong>" in page and "<strong>one</strong>" not in page
    assert page.count("may destroy</span></li>") + page.count("may destroy</span><br>") >= 1
    assert "nobody has checked the name" in page and "ann@example.com" in page
    one = app.wish(resource=f"http://{own.host}/mcp/p/echoes")
    assert "You see no tools here" in (await browser.log_in(one, "ann@example.com")).body.decode()


async def test_people_are_invited_and_reset_on_the_command_line(
    own: Doors, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_HOME", str(own.home))
    monkeypatch.setenv("TOOLYARD_TOKEN", TOKEN)

    async def order(*words: str) -> str:
        assert await asyncio.to_thread(run, ["member", *words]) == 0
        return capfd.readouterr().out

    invited = await order("invite", "kim@example.com", "--role", "keeper", "--group", "developers")
    assert "good once, until" in invited
    await Browser(own).join(code_in(invited.split()[-1]))
    assert "keeper" in await order("list")
    assert "reviewers" in await order("set", "kim@example.com", "--group", "reviewers")
    link = (await order("reset", "kim@example.com")).split()[-1]
    app = await make_app(own)
    assert (await Browser(own).log_in(app.wish(), "kim@example.com")).status == 403
    await Browser(own).join(code_in(link), "another long password")
    words = app.wish(), "kim@example.com", "another long password"
    assert (await Browser(own).log_in(*words)).status == 200
