"""Tokens that must let nobody in, and issuers that must not bring the hub down."""

from __future__ import annotations

import base64
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import Agent
from tests.doors.doors import Doors, modern
from tests.features.members.team import Person, open_team
from tests.features.members.test_doors import members_kept
from tests.fixtures.signing_issuer import SigningIssuer, a_key, an_rsa_key, signing
from toolyard.features.members.issuer import (
    DOCUMENT_LIMIT,
    KEYS,
    Issuer,
    IssuerError,
    read_keys,
)

EVIL = "https://evil.example"


async def refused(person: Agent, status: int = 401) -> str:
    """See somebody turned away at every door; the reason."""
    answers = [
        await person.post(modern("tools/list")),
        await person.doors.ask("GET", "/api/v1/status", headers=person.head),
    ]
    for answer in answers:
        assert answer.status == status, answer
        assert b"tools" not in answer.body
    if status == 401:
        assert 'error="invalid_token"' in answers[0].headers["www-authenticate"]
    reason: str = answers[0].json()["detail"]
    return reason


def encoded(part: dict[str, Any]) -> bytes:
    """A part of a token."""
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")


def later(claim: str, when: int) -> dict[str, Any]:
    """A claim about a time."""
    return {claim: when}


def bearer(doors: Doors, token: str) -> Agent:
    return Agent(doors, token=token)


@pytest.mark.parametrize(
    "audience",
    [
        EVIL,
        None,
        [],
        "http://127.0.0.1",
        ["https://a.example/mcp", "account"],
        "{hub}.evil.example",
        "{hub}@evil.example",
        "{hub}/api",
        "{hub}mcp",
    ],
)
async def test_a_token_for_another_service(
    team: Doors, issuer: SigningIssuer, audience: Any
) -> None:
    if isinstance(audience, str):
        audience = audience.replace("{hub}", f"http://{team.host}")
    reason = await refused(Person(team, issuer, aud=audience))
    assert "for another service" in reason or "lacks a claim" in reason
    assert "issuer-tokens" in [problem["code"] for problem in await team.problems()]
    assert await Person(team, issuer).tools()
    assert await team.problems() == []


async def test_a_token_for_one_path_opens_no_other(team: Doors, issuer: SigningIssuer) -> None:
    audience = f"http://{team.host}/mcp/p/echoes"
    assert await Person(team, issuer, path="/mcp/p/echoes", aud=audience).tools()
    for path in ("/mcp", "/mcp/p/echoes2", "/mcp/s/one", "/mcp/p"):
        other = Person(team, issuer, path=path, aud=audience, scope="toolyard:order")
        assert (await other.post(modern("tools/list"))).status == 403, path
    answer = await team.ask("GET", "/api/v1/status", headers=other.head)
    assert answer.status == 403


async def test_an_expired_token(team: Doors, issuer: SigningIssuer) -> None:
    now = int(time.time())
    late = Person(team, issuer, iat=now - 700, exp=now - 100)
    assert "has expired" in await refused(late)
    assert await Person(team, issuer, iat=now - 700, exp=now - 30).tools()  # clocks differ


@pytest.mark.parametrize("claim", ["nbf", "iat"])
async def test_a_token_that_is_not_valid_yet(
    team: Doors, issuer: SigningIssuer, claim: str
) -> None:
    now = int(time.time())
    early = Person(team, issuer, **later(claim, now + 120))
    assert "not valid yet" in await refused(early)
    assert await Person(team, issuer, **later(claim, now + 30)).tools()


async def test_a_token_of_another_issuer(team: Doors, issuer: SigningIssuer) -> None:
    with signing() as other:
        other.keys = [a_key("theirs")]
        assert "does not have" in await refused(Person(team, other))
    # And one that has our issuer's key, as some providers share keys between tenants.
    assert "another issuer" in await refused(Person(team, issuer, iss=f"{issuer.url}/other"))
    assert "another issuer" in await refused(Person(team, issuer, iss=f"{issuer.url}/"))


async def test_other_claims_under_a_signature_that_has_let_somebody_in(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann = Person(team, issuer)
    assert await ann.tools()
    await members_kept(team)
    assert await ann.tools()  # from now on she is known by her header
    head, _, signature = ann.token.split(".")
    claims = issuer.claims(aud=f"http://{team.host}/mcp") | {"sub": "bob"}
    forged = bearer(team, f"{head}.{encoded(claims).decode()}.{signature}")
    assert "signature" in await refused(forged)
    assert await ann.tools()


@pytest.mark.parametrize("alg", ["none", "None", "NONE", ""])
async def test_a_token_without_a_signature(team: Doors, issuer: SigningIssuer, alg: str) -> None:
    claims = issuer.claims(aud=f"http://{team.host}/mcp")
    unsigned = encoded({"alg": alg, "kid": "first", "typ": "JWT"}) + b"." + encoded(claims)
    for token in (unsigned + b".", unsigned + b".AAAA"):
        await refused(bearer(team, token.decode()))


async def test_a_token_signed_with_the_public_key_as_a_secret(
    home: Path, issuer: SigningIssuer
) -> None:
    issuer.keys = [an_rsa_key("first")]
    async with open_team(home, issuer) as doors:
        assert await Person(doors, issuer).tools()
        public = an_rsa_key("first").as_pem(private=False)
        claims = issuer.claims(aud=f"http://{doors.host}/mcp")
        for secret in (public, public.strip(), an_rsa_key("first").as_der(private=False)):
            signed = encoded({"alg": "HS256", "kid": "first"}) + b"." + encoded(claims)
            mark = hmac.digest(secret, signed, "sha256")
            signature = base64.urlsafe_b64encode(mark).rstrip(b"=")
            await refused(bearer(doors, (signed + b"." + signature).decode()))


async def test_a_token_with_another_signature(team: Doors, issuer: SigningIssuer) -> None:
    token = Person(team, issuer).token
    head, body, signature = token.split(".")
    claims = issuer.claims("bob", aud=f"http://{team.host}/mcp", groups=["reviewers"])
    other = encoded(claims).decode()
    for forged in (f"{head}.{other}.{signature}", f"{head}.{body}.", f"{head}.{body}", f"{head}."):
        await refused(bearer(team, forged))
    elsewhere = a_key("elsewhere")
    await refused(Person(team, issuer, key=elsewhere, header={"kid": "first"}))


async def test_a_header_that_points_to_a_key_elsewhere(team: Doors, issuer: SigningIssuer) -> None:
    """Nobody is asked for a key but the issuer, and no key in a token is taken for one."""
    with signing() as evil:
        evil.keys = [a_key("theirs")]
        own = a_key("theirs").as_dict(private=False)
        for header in (
            {"jku": f"{evil.url}/keys", "kid": "theirs"},
            {"jku": f"{evil.url}/keys", "kid": "first"},
            {"x5u": f"{evil.url}/keys", "kid": f"{evil.url}/keys"},
            {"jwk": own, "kid": "first"},
            {"jwk": own, "kid": None},
            {"kid": "../../../../dev/null"},
            {"kid": "first' OR '1'='1"},
        ):
            await refused(Person(team, issuer, key=a_key("theirs"), header=header))
        assert evil.asked == []


async def test_a_header_that_wants_more_than_the_hub_understands(
    team: Doors, issuer: SigningIssuer
) -> None:
    await refused(Person(team, issuer, header={"typ": "dpop+jwt"}))
    await refused(Person(team, issuer, header={"crit": ["x"], "x": 1}))
    assert await Person(team, issuer, header={"x": 1}).tools()


async def test_identity_is_taken_from_no_other_header(team: Doors, issuer: SigningIssuer) -> None:
    forged = {
        "X-Forwarded-User": "ann@example.com",
        "X-Forwarded-Email": "ann@example.com",
        "X-Forwarded-Groups": "developers",
        "X-Auth-Request-User": "ann",
        "X-Remote-User": "ann",
        "X-Toolyard-Member": f"{issuer.url}#ann",
        "X-Toolyard-Caller": "control",
        "Cookie": f"token={Person(team, issuer).token}",
    }
    nobody = {"headers": forged, "leave_out": ("Authorization",)}
    for method, path in (("POST", "/mcp"), ("GET", "/api/v1/status"), ("GET", "/api/v1/members")):
        assert (await team.ask(method, path, b"", **nobody)).status == 401
    query = f"/mcp?access_token={Person(team, issuer).token}"
    assert (await team.ask("POST", query, b"", leave_out=("Authorization",))).status == 401
    eve = Person(team, issuer, "eve", groups=["strangers"])
    assert (await eve.post(modern("tools/list"), forged)).status == 403


async def test_a_huge_token(team: Doors, issuer: SigningIssuer) -> None:
    groups = [f"group-{number:04}" for number in range(1500)]
    assert "too long" in await refused(Person(team, issuer, groups=groups))
    padding = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 9000).decode()
    await refused(bearer(team, f"{padding}.e30.AAAA"))
    nested = base64.urlsafe_b64encode(b'{"alg":"ES256","x":' + b"[" * 2000).decode().rstrip("=")
    await refused(bearer(team, f"{nested}.e30.AAAA"))


ODD: list[dict[str, Any]] = [
    {"exp": None},
    {"iat": None},
    {"exp": "tomorrow"},
    {"exp": float("inf")},
    {"exp": float("nan")},
    {"exp": 1e300},
    {"iat": -1},
    {"sub": None},
    {"sub": ""},
]


async def test_claims_that_say_nothing(team: Doors, issuer: SigningIssuer) -> None:
    for claims in ODD:
        await refused(Person(team, issuer, **claims))
    await refused(Person(team, issuer, "x" * 300))
    await refused(Person(team, issuer, "line\nbreak", email=None))


async def test_an_id_token_is_no_access_token(team: Doors, issuer: SigningIssuer) -> None:
    """It is for the client that somebody logged in with."""
    await refused(Person(team, issuer, aud="client-1", nonce="n", header={"typ": "JWT"}))


async def test_a_name_that_imitates_the_hub_orders_nothing(
    team: Doors, issuer: SigningIssuer
) -> None:
    for name in ("control", "page", "token ci"):
        person = Person(team, issuer, name, email=name, scope="toolyard:order")
        assert await person.tools()
        assert (await person.order("GET", "/api/v1/status")).status == 403


async def test_unknown_keys_ask_the_issuer_once_however_many_come(
    home: Path, issuer: SigningIssuer
) -> None:
    async with open_team(home, issuer) as doors:
        before = len(issuer.asked)
        for number in range(20):
            token = issuer.token(key=a_key("x"), header={"kid": f"k{number}"})
            await refused(bearer(doors, token))
        assert len(issuer.asked) == before


async def test_an_issuer_that_is_away_is_a_problem_and_a_sentence(
    home: Path, issuer: SigningIssuer
) -> None:
    issuer.is_away = True
    async with open_team(home, issuer) as doors:

        async def is_told() -> bool:
            return "issuer-away" in [problem["code"] for problem in await doors.problems()]

        assert await doors.until(is_told)
        answer = await Person(doors, issuer).post(modern("tools/list"))
        assert (answer.status, answer.json()["detail"]) == (
            503,
            "the login service does not answer; try again in a minute",
        )
        nobody = {"leave_out": ("Authorization",)}
        copy = await doors.ask("GET", "/.well-known/openid-configuration", **nobody)
        assert copy.status == 503


async def test_known_tokens_go_on_while_the_issuer_is_away(
    team: Doors, issuer: SigningIssuer
) -> None:
    ann = Person(team, issuer)
    assert await ann.tools()
    issuer.is_away = True
    assert await ann.tools()
    assert await Person(team, issuer, "bob").tools()  # its key is known


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_new_key_is_found_after_a_while_and_an_old_one_forgotten(
    issuer: SigningIssuer,
) -> None:
    clock = Clock()
    trusted = Issuer(issuer.url, clock)
    await trusted.ask()
    assert trusted.find("first", "ES256") is not None
    issuer.keys = [a_key("second")]
    await trusted.ask()  # too early
    assert trusted.find("second", "ES256") is None
    clock.now = 31.0
    await trusted.ask()
    assert trusted.find("second", "ES256") is not None
    assert trusted.find("first", "ES256") is None
    issuer.is_away = True
    clock.now = 62.0
    await trusted.ask()
    assert "status 503" in trusted.trouble
    assert trusted.find("second", "ES256") is not None


@pytest.mark.parametrize(
    ("knob", "sentence"),
    [
        ({"keys_body": b'{"keys":[' + b" " * DOCUMENT_LIMIT + b"]}"}, "more than 256 KiB"),
        ({"keys_body": b'{"keys":' + b"[" * 100_000}, "its keys cannot be read"),
        ({"keys_body": b"<html>"}, "its keys cannot be read"),
        ({"keys_body": json.dumps({"keys": [{}] * (KEYS + 1)}).encode()}, "more than 100 keys"),
        ({"moved_to": "http://169.254.169.254/"}, "status 302"),
        ({"metadata": {"issuer": EVIL}}, "its metadata is that of"),
        ({"metadata": {"jwks_uri": "http://169.254.169.254/keys"}}, "is not https"),
        ({"metadata": {"jwks_uri": "file:///etc/passwd"}}, "is not https"),
        ({"metadata": {"jwks_uri": 7}}, "its metadata cannot be read"),
        ({"is_away": True}, "status 503"),
    ],
)
async def test_an_issuer_that_gives_something_else(
    issuer: SigningIssuer, knob: dict[str, Any], sentence: str
) -> None:
    for name, value in knob.items():
        setattr(issuer, name, value)
    trusted = Issuer(issuer.url, Clock())
    await trusted.ask()
    assert sentence in trusted.trouble
    assert trusted.find("first", "ES256") is None


def test_keys_that_are_weak_costly_or_secret_are_left_out() -> None:
    good = a_key("good").as_dict(private=False)
    wide = an_rsa_key("wide").as_dict(private=False)
    weak = {**wide, "kid": "weak", "n": base64.urlsafe_b64encode(b"\xff" * 128).decode()}
    costly = {**wide, "kid": "costly", "n": "A" * 20_000}
    slow = {**wide, "kid": "slow", "e": "A" * 400}
    secret = {"kty": "oct", "kid": "secret", "k": "AAAA"}
    sealed = {**wide, "kid": "sealed", "use": "enc"}
    entries = [good, weak, costly, slow, secret, sealed, {"kty": "EC", "kid": "odd"}, {}]
    assert set(read_keys(json.dumps({"keys": entries}).encode())) == {"good"}
    with pytest.raises(IssuerError, match="no key that could sign"):
        read_keys(json.dumps({"keys": [secret, weak]}).encode())
