"""Whoever wants to get in by the hub's own login without having been asked in."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import send
from tests.doors.doors import Doors, modern
from tests.features.authorization.people import (
    BACK,
    FORM,
    PASSWORD,
    App,
    Browser,
    bearer,
    form_of,
    invite,
    log_in,
    make_app,
    make_member,
    open_own,
    register,
    words_in,
)
from toolyard.features.authorization.clients import OAuthClients
from toolyard.features.authorization.model import OAuthError
from toolyard.features.authorization.server import PASSWORDS
from toolyard.features.members.accounts import FREE_FAILURES
from toolyard.features.members.own_issuer import OwnIssuer
from toolyard.wire.seal import Seal

EVIL = "https://evil.example/back"


async def refused(doors: Doors, token: str, status: int = 401) -> None:
    """See a token open nothing."""
    answer = await bearer(doors, token).post(modern("tools/list"))
    assert answer.status == status and b"echo" not in answer.body, answer


async def is_ended(app: App, tokens: dict[str, Any]) -> None:
    """See that nothing which came of a login is good any more."""
    await refused(app.doors, tokens["access_token"])
    again = await app.refresh(tokens["refresh_token"])
    assert again.status == 400 and again.json()["error"] == "invalid_grant"


def own_keys(home: Path) -> list[str]:
    """The secret of a hub, which an attacker does not have."""
    return [(home / "state" / "login-key").read_text().strip()]


# Tokens.


async def test_tokens_of_another_audience_issuer_or_time(own: Doors) -> None:
    await make_member(own)
    tokens = await log_in(own, await make_app(own))
    part = tokens["access_token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "==="))
    hub, now = f"http://{own.host}", int(time.time())
    signer = OwnIssuer(hub, own_keys(own.home), ())
    assert await bearer(own, signer.sign(claims)).tools()  # so it is what is changed that counts
    for changes in (
        {"aud": "https://evil.example/mcp"},
        {"aud": f"{hub}.evil.example/mcp"},
        {"iss": "https://evil.example"},
        {"exp": now - 120, "iat": now - 720},
        {"iat": now + 600},
    ):
        await refused(own, signer.sign({**claims, **changes}))
    stranger = OwnIssuer(hub, ["another-secret-0123456789-0123456789"], ())
    await refused(own, stranger.sign(claims))


async def test_a_token_of_the_hub_before_its_key_was_replaced_twice(home: Path) -> None:
    keys = [f"a-key-of-these-tests-0123456789-{n}" for n in "abc"]
    async with open_own(home, key=(keys[0],)) as doors:
        await make_member(doors)
        tokens = await log_in(doors, await make_app(doors))
    place = {"port": doors.port, "public": f"http://{doors.host}"}
    async with open_own(home, key=(keys[1], keys[0]), **place) as doors:
        assert await bearer(doors, tokens["access_token"]).tools()
    async with open_own(home, key=(keys[2], keys[1]), **place) as doors:
        await refused(doors, tokens["access_token"])


# Codes.


async def test_a_replayed_code_ends_what_came_of_it(own: Doors) -> None:
    browser, app = await make_member(own), await make_app(own)
    address = await browser.agree(app.wish(), "ann@example.com")
    tokens = (await app.redeem(address)).json()
    assert await bearer(own, tokens["access_token"]).tools()
    replayed = await app.redeem(address)
    assert replayed.status == 400 and replayed.json()["error"] == "invalid_grant"
    await is_ended(app, tokens)


async def test_a_consent_that_is_sent_twice_gives_one_login(own: Doors) -> None:
    browser, app = await make_member(own), await make_app(own)
    page = await browser.log_in(app.wish(), "ann@example.com")
    sent = [await browser.submit(page, decision="allow") for _ in range(2)]
    first = await app.redeem(sent[0].headers["location"])
    assert first.status == 200
    second = await app.redeem(sent[1].headers["location"])
    assert second.json()["error"] == "invalid_grant"
    await is_ended(app, first.json())


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": "http://127.0.0.1:10/back"},
        {"redirect_uri": None},
        {"code_verifier": "x" * 43},
        {"code_verifier": None},
        {"code_verifier": ""},
        {"client_id": None},
        {"resource": "https://evil.example/mcp"},
        {"resource": "{hub}/mcp/s/one"},
        {"code": "AAAA"},
        {"grant_type": "password"},
    ],
    ids=str,
)
async def test_a_code_with_something_changed(own: Doors, changes: dict[str, Any]) -> None:
    browser, app = await make_member(own), await make_app(own)
    address = await browser.agree(app.wish(), "ann@example.com")
    hub = f"http://{own.host}"
    words = {k: v.replace("{hub}", hub) if v else v for k, v in changes.items()}
    answer = await app.redeem(address, **words)
    assert answer.status == 400, answer
    errors = ("invalid_grant", "invalid_target", "unsupported_grant_type")
    assert answer.json()["error"] in errors
    # The right client is not hindered by it.
    assert (await app.redeem(address)).status == 200


async def test_a_code_of_another_client(own: Doors) -> None:
    browser, app, thief = await make_member(own), await make_app(own), await make_app(own)
    address = await browser.agree(app.wish(), "ann@example.com")
    answer = await thief.redeem(address, code_verifier=app.verifier)
    assert answer.json()["error"] == "invalid_grant"


async def test_forms_and_codes_do_not_stand_in_for_each_other(own: Doors) -> None:
    browser, app = await make_member(own), await make_app(own)
    login = await browser.get(app.wish())
    sealed = form_of(login).fields["request"]
    skipped = await browser.post("/authorize/consent", {"consent": sealed, "decision": "allow"})
    assert skipped.status == 400 and "location" not in skipped.headers
    for code in (sealed, app.id):
        answer = await app.redeem(f"{BACK}?code={code}")
        assert answer.json()["error"] == "invalid_grant"
    changed = sealed[:-2] + ("AA" if sealed[-2:] != "AA" else "BB")
    words = {"request": changed, "email": "ann@example.com", "password": PASSWORD}
    assert (await browser.post("/authorize", words)).status == 400


# Refresh tokens.


async def test_a_stolen_refresh_token_ends_the_login_for_both(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    stolen = await log_in(own, app)
    fresh = (await app.refresh(stolen["refresh_token"])).json()
    thief = await app.refresh(stolen["refresh_token"])
    assert thief.status == 400 and thief.json()["error"] == "invalid_grant"
    await is_ended(app, fresh)
    await refused(own, stolen["access_token"])


async def test_a_refresh_token_is_for_its_client_and_resource(own: Doors) -> None:
    await make_member(own)
    app, other = await make_app(own), await make_app(own)
    tokens = await log_in(own, app)
    assert (await other.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    evil = await app.refresh(tokens["refresh_token"], resource="https://evil.example/mcp")
    assert evil.json()["error"] == "invalid_target"
    more = (await app.refresh(tokens["refresh_token"], scope="toolyard:order")).json()
    assert more["scope"] == ""


async def test_whoever_is_disabled_gets_no_more_tokens(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    tokens = await log_in(own, app)
    await send(own, "PUT", "/api/v1/members/ann@example.com", {"disabled": True})
    await refused(own, tokens["access_token"], 403)
    assert (await app.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await Browser(own).log_in(app.wish(), "ann@example.com")).status == 403


# The pages.


@pytest.mark.parametrize(
    "redirect",
    [
        EVIL,
        "http://127.0.0.1:9/back/",
        "http://127.0.0.1:9/back?x=1",
        "http://127.0.0.1:9/BACK",
        "http://127.0.0.1:9@evil.example/back",
        "http://127.0.0.1.evil.example:9/back",
        "https://127.0.0.1:9/back",
        "http://localhost:9/back",
        "javascript:alert(1)",
        "",
    ],
)
async def test_a_changed_redirect_sends_the_browser_nowhere(own: Doors, redirect: str) -> None:
    app = await make_app(own)
    answer = await Browser(own).get(app.wish(redirect_uri=redirect))
    assert answer.status == 400 and "location" not in answer.headers
    assert b"<form" not in answer.body


async def test_only_the_port_of_a_program_on_this_machine_may_differ(own: Doors) -> None:
    await make_member(own)
    app = await make_app(own)
    app.redirect = "http://127.0.0.1:50123/back"
    assert await log_in(own, app)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
        ({"resource": ["{hub}/mcp", "https://evil.example"]}, "invalid_target"),
    ],
    ids=str,
)
async def test_a_wish_that_is_not_granted_is_told_to_the_client(
    own: Doors, changes: dict[str, Any], error: str
) -> None:
    app = await make_app(own)
    answer = await Browser(own).get(app.wish(**changes))
    words = words_in(answer.headers["location"])
    assert answer.status == 302 and answer.headers["location"].startswith(BACK)
    assert (words["error"], words["state"]) == (error, app.state)
    assert words["iss"] == f"http://{own.host}"


async def test_no_page_can_be_framed_or_sent_by_another_page(own: Doors) -> None:
    browser, app = await make_member(own), await make_app(own)
    consent = await browser.log_in(app.wish(), "ann@example.com")
    for page in (await browser.get(app.wish()), consent):
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy
        assert page.headers["x-frame-options"] == "DENY"
        assert "set-cookie" not in page.headers and page.headers["cache-control"] == "no-store"
        assert b"<script" not in page.body
    assert "form-action 'self' http://127.0.0.1:9;" in f"{policy};"
    form = form_of(consent)
    words = {**form.fields, "decision": "allow"}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        foreign = await browser.post(form.action, words, Origin=origin)
        assert foreign.status == 403 and "location" not in foreign.headers


async def test_what_a_client_says_of_itself_is_text(own: Doors) -> None:
    browser = await make_member(own)
    name = "<script>alert(1)</script><b>Bank"
    app = await make_app(own, client_name=name)
    consent = await browser.log_in(app.wish(), "ann@example.com")
    assert b"<script>" not in consent.body and b"&lt;script&gt;" in consent.body
    assert b"nobody has checked the name" in consent.body and b"127.0.0.1:9" in consent.body


# Guessing.


async def test_an_invitation_is_good_once(own: Doors) -> None:
    code = await invite(own, "ann@example.com", groups=["developers"])
    browser = Browser(own)
    page = await browser.get(f"/invitation?code={code}")
    await browser.get(f"/invitation?code={code}")  # looking at it changes nothing
    weak = await browser.submit(page, password="short", again="short")
    differing = await browser.submit(page, password=PASSWORD, again=PASSWORD + "!")
    assert weak.status == differing.status == 400
    await browser.join(code)
    again = await browser.submit(page, password="somebody else's", again="somebody else's")
    assert again.status == 404 and b"does not work" in again.body
    assert (await browser.get(f"/invitation?code={code}")).status == 404
    assert (await browser.get("/invitation?code=")).status == 404
    app = await make_app(own)
    assert (await browser.log_in(app.wish(), "ann@example.com", "somebody else's")).status == 403
    assert (await browser.log_in(app.wish(), "ann@example.com")).status == 200


async def test_an_account_waits_after_wrong_passwords(own: Doors) -> None:
    browser, app = await make_member(own), await make_app(own)
    page = await browser.get(app.wish())
    for number in range(FREE_FAILURES):
        wrong = await browser.submit(page, email="ann@example.com", password=f"guess {number}")
        assert wrong.status == 403
    right = await browser.submit(page, email="ann@example.com", password=PASSWORD)
    assert right.status == 403
    # Whether there is an account at all is told to nobody.
    nobody = await browser.submit(page, email="nobody@example.com", password=PASSWORD)
    assert nobody.body.replace(b"nobody@", b"ann@") == right.body
    # And the others do not wait.
    await make_member(own, "bob@example.com")
    assert (await browser.log_in(app.wish(), "bob@example.com")).status == 200


async def test_a_hub_looks_at_so_many_passwords_in_a_minute(own: Doors) -> None:
    browser, app = await make_member(own), await make_app(own)
    page = await browser.get(app.wish())
    # All at once: one after the other they could take longer than the minute.
    answers = await asyncio.gather(
        *(
            browser.submit(page, email=f"{number}@example.com", password="guess")
            for number in range(3 * PASSWORDS)
        )
    )
    assert any(b"Too many people" in answer.body for answer in answers)


# Clients.


async def test_a_flood_of_registrations_fills_nothing(own: Doors) -> None:
    def size() -> int:
        return sum(f.stat().st_size for f in (own.home / "state").rglob("*") if f.is_file())

    before = size()
    ids = [(await register(own, client_name=f"client {n}")).json()["client_id"] for n in range(300)]
    assert len(set(ids)) == 300 and size() == before
    assert (await register(own, client_name="x" * 70_000)).status == 413
    assert (
        await register(own, redirect_uris=[f"https://a.example/{n}" for n in range(11)])
    ).status == 400
    long = [f"https://a.example/{'x' * 900}{n}" for n in range(5)]
    assert (await register(own, redirect_uris=long)).json()["error"] == "invalid_client_metadata"
    for address in (
        "http://evil.example/",
        "javascript:alert(1)",
        "https://a.example/#x",
        "data:,x",
    ):
        answer = await register(own, redirect_uris=[address])
        assert answer.json()["error"] == "invalid_redirect_uri", address


async def test_a_registration_that_nobody_uses_expires() -> None:
    now = [1_000_000_000.0]
    used: set[str] = set()
    seal = Seal(["a-key-of-these-tests-0123456789-abcdef"])
    clients = OAuthClients(seal, "https://yard.example", used.__contains__, lambda: now[0])
    body = json.dumps({"redirect_uris": [BACK], "client_name": "An app"}).encode()
    client_id = clients.register(body).client_id
    assert (await clients.find(client_id)).name == "An app"
    now[0] += 91 * 86400
    with pytest.raises(OAuthError, match="has expired"):
        await clients.find(client_id)
    used.add(client_id)
    assert (await clients.find(client_id)).redirects == (BACK,)


@pytest.mark.parametrize(
    "client_id",
    [
        "https://127.0.0.1:{port}/client.json",
        "https://localhost:{port}/client.json",
        "https://[::1]:{port}/client.json",
        "https://10.0.0.7/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://192.168.0.1/client.json",
        "https://[::ffff:127.0.0.1]/client.json",
        "https://2130706433/client.json",
        "http://127.0.0.1:{port}/client.json",
        "https://user@127.0.0.1/client.json",
        "https://evil.example",
        "file:///etc/passwd",
    ],
)
async def test_a_description_inside_the_network_is_not_fetched(home: Path, client_id: str) -> None:
    async with open_own(home, public="https://yard.example") as doors:
        app = App(doors, client_id.replace("{port}", str(doors.port)))
        answer = await Browser(doors).get(app.wish(resource="https://yard.example/mcp"))
        assert answer.status == 400 and b"<form" not in answer.body
        reasons = (b"not on the open network", b"no address", b"not registered", b"not known")
        assert any(reason in answer.body for reason in reasons), answer


async def test_an_open_page_takes_no_large_or_endless_body(own: Doors) -> None:
    head = {"Content-Type": FORM, "Content-Length": "70000"}
    large = await own.ask("POST", "/token", b"", head, leave_out=("Authorization",))
    assert large.status == 413
    endless = {"Content-Type": FORM, "Transfer-Encoding": "chunked"}
    answer = await own.ask("POST", "/token", b"", endless, leave_out=("Authorization",))
    assert answer.status == 411
