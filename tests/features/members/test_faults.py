"""Faults of a provider: one sentence for the person, one problem with an action for the keeper."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import Doors, Json, modern
from tests.features.members.team import Person, open_team
from tests.features.members.test_attacks import bearer, encoded, refused
from tests.fixtures.signing_issuer import SigningIssuer, a_key
from toolyard.features.members.issuer import DOCUMENT_LIMIT

AWAY = "the login service does not answer; try again in a minute"


async def told(doors: Doors, code: str) -> Json:
    """The problem that a keeper is told, once there is one."""

    async def problem() -> Json | None:
        return next((row for row in await doors.problems() if row["code"] == code), None)

    row: Json = await doors.until(problem)
    return row


@pytest.mark.parametrize(
    ("knob", "fault"),
    [
        ({"is_away": True}, "status 503"),
        ({"keys_body": b"<html>"}, "its keys cannot be read"),
        ({"keys_body": b'{"keys":[' + b" " * DOCUMENT_LIMIT + b"]}"}, "more than 256 KiB"),
    ],
)
async def test_keys_that_cannot_be_had(
    home: Path, issuer: SigningIssuer, knob: Json, fault: str
) -> None:
    for name, value in knob.items():
        setattr(issuer, name, value)
    async with open_team(home, issuer) as doors:
        problem = await told(doors, "issuer-away")
        assert fault in problem["text"] and "check TOOLYARD_ISSUER" in problem["hint"]
        answer = await Person(doors, issuer).post(modern("tools/list"))
        assert (answer.status, answer.json()["detail"]) == (503, AWAY)


@pytest.mark.parametrize(
    ("claims", "sentence", "action"),
    [
        ({"aud": "https://other.example"}, "for another service", "set TOOLYARD_AUDIENCE"),
        ({"iss": "https://other.example"}, "of another issuer", "write TOOLYARD_ISSUER"),
        ({"nbf": 120}, "differ by more than 60 s", "set both clocks"),
        ({"iat": 120}, "differ by more than 60 s", "set both clocks"),
        ({"exp": "soon"}, "lacks a claim", "have the issuer write"),
    ],
)
async def test_a_signed_token_that_does_not_do(
    team: Doors, issuer: SigningIssuer, claims: dict[str, Any], sentence: str, action: str
) -> None:
    now = int(time.time())
    claims = {key: now + value if key in ("nbf", "iat") else value for key, value in claims.items()}
    person = Person(team, issuer, **claims)
    assert sentence in await refused(person)
    challenge = (await person.post(modern("tools/list"))).headers["www-authenticate"]
    assert "error_description=" in challenge and sentence in challenge
    problem = await told(team, "issuer-tokens")
    assert sentence in problem["text"] and action in problem["hint"]


async def test_a_token_that_is_no_fault_of_the_provider_is_no_problem(
    team: Doors, issuer: SigningIssuer
) -> None:
    now = int(time.time())
    assert "expired; log in again" in await refused(
        Person(team, issuer, iat=now - 700, exp=now - 100)
    )
    rotated = issuer.token(key=a_key("unknown"), aud=f"http://{team.host}/mcp")
    assert "does not have; log in again" in await refused(bearer(team, rotated))
    for alg in ("none", "HS256"):
        claims = encoded(issuer.claims(aud=f"http://{team.host}/mcp"))
        token = encoded({"alg": alg, "kid": "first"}) + b"." + claims + b".AAAA"
        assert "not signed in a way" in await refused(bearer(team, token.decode()))
    assert await team.problems() == []


@pytest.mark.parametrize(
    "groups", [{"names": ["developers"]}, [["developers"]], [7], 7, ["developers", 7]]
)
async def test_groups_of_another_shape_admit_nobody(
    team: Doors, issuer: SigningIssuer, groups: Any
) -> None:
    answer = await Person(team, issuer, groups=groups).post(modern("tools/list"))
    assert answer.status == 403 and "is not admitted" in answer.json()["detail"]
    problem = await told(team, "issuer-tokens")
    assert "no list of group names" in problem["text"]
    assert "TOOLYARD_GROUPS_CLAIM" in problem["hint"]


async def test_groups_that_are_missing_or_one_name(team: Doors, issuer: SigningIssuer) -> None:
    answer = await Person(team, issuer, groups=None).post(modern("tools/list"))
    assert answer.status == 403 and "is not admitted" in answer.json()["detail"]
    problem = await told(team, "issuer-tokens")
    assert "it has no claim 'groups'" in problem["text"]
    assert await Person(team, issuer, "bob", groups="developers").tools()
    assert await team.problems() == []
