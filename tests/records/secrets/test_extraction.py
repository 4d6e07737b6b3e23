"""Secrets are found in endpoints by their name, their place and their look; nothing else is."""

from __future__ import annotations

import pytest

from toolyard.core.model import Command, Endpoint, Url
from toolyard.records.secrets.extraction import take_secrets

GITHUB = "ghp_notARealTokenOnlyForThisTest0123"
SLACK = "xoxb-0000-not-a-real-token"
LONG = "0123456789abcdef0123456789abcdef"


def taken(endpoint: Endpoint) -> tuple[Endpoint, list[tuple[str, str]]]:
    """The endpoint with a number for every secret, and the secrets."""
    secrets: list[tuple[str, str]] = []

    def stand_in(label: str, value: str) -> str:
        secrets.append((label, value))
        return f"<{len(secrets)}>"

    return take_secrets(endpoint, stand_in), secrets


@pytest.mark.parametrize(
    ("name", "value", "left", "secret"),
    [
        ("GITHUB_TOKEN", "hunter2", "<1>", "hunter2"),
        ("Authorization", "Bearer abc", "Bearer <1>", "abc"),
        ("authorization", "token abc def", "token <1>", "abc def"),
        ("X-Api-Key", "k", "<1>", "k"),
        ("AWS_ACCESS_KEY_ID", "AKIAABCDEFGHIJKLMNOP", "<1>", "AKIAABCDEFGHIJKLMNOP"),
        ("PLAIN", GITHUB, "<1>", GITHUB),
        ("PLAIN", f"a,{SLACK}", "a,<1>", SLACK),
        ("PLAIN", LONG, "<1>", LONG),
        ("DATABASE_URL", "postgres://me:pw@host/db", "postgres://me:<1>@host/db", "pw"),
        ("DB_AUTH_URL", "redis://:pw@h", "redis://:<1>@h", "pw"),
        ("PASSWORD", "true", "true", None),
        ("TOKEN_FILE", "keys.txt", "keys.txt", None),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/key.json", "/etc/key.json", None),
        ("MAX_TOKEN_LIMIT", "4096", "4096", None),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN}", "${GITHUB_TOKEN}", None),
        ("GITHUB_TOKEN", "x-${NAME}", "x-${NAME}", None),
        ("Authorization", "Bearer ${keyring:a}", "Bearer ${keyring:a}", None),
        ("MODEL", "claude-sonnet-4-20250514", "claude-sonnet-4-20250514", None),
        ("NODE_OPTIONS", "--max-old-space-size=4096", "--max-old-space-size=4096", None),
        ("REQUEST_ID", "123e4567-e89b-12d3-a456-426614174000", None, None),
    ],
)
def test_a_value_is_a_secret_by_its_name_or_its_look(
    name: str, value: str, left: str | None, secret: str | None
) -> None:
    endpoint, secrets = taken(Command(("run",), ((name, value),)))

    assert isinstance(endpoint, Command)
    assert endpoint.env == ((name, left or value),)
    assert [value for _, value in secrets] == ([secret] if secret is not None else [])


def test_words_of_a_command_hold_secrets_in_many_ways() -> None:
    words = ("--token", "abc", "--api-key=def", "--header", "Authorization: Bearer ghi", GITHUB)
    more = ("postgres://me:jkl@h/x", "https://h/?api_key=mno&a=1", "-y", "@scope/pkg@1.2.3")

    endpoint, secrets = taken(Command(("npx", *words, *more)))

    assert isinstance(endpoint, Command)
    assert endpoint.argv[1:7] == (
        *("--token", "<1>", "--api-key=<2>", "--header", "Authorization: Bearer <3>", "<4>"),
    )
    assert endpoint.argv[7:] == (
        *("postgres://me:<5>@h/x", "https://h/?api_key=<6>&a=1", "-y", "@scope/pkg@1.2.3"),
    )
    assert [value for _, value in secrets] == ["abc", "def", "ghi", GITHUB, "jkl", "mno"]
    assert [label for label, _ in secrets][:3] == ["token", "api-key", "Authorization"]


def test_an_address_holds_secrets_in_its_password_its_query_and_its_path() -> None:
    url = f"https://me:pw@h/s/{LONG}/mcp?token=abc&page=2"

    endpoint, secrets = taken(Url(url, headers=(("X-Team", "blue"),)))

    assert isinstance(endpoint, Url)
    assert endpoint.url == "https://me:<1>@h/s/<3>/mcp?token=<2>&page=2"
    assert [value for _, value in secrets] == ["pw", "abc", LONG]
    assert endpoint.headers == (("X-Team", "blue"),)


def test_a_reference_in_an_address_stays() -> None:
    plain = Url("https://${USER}:${PW}@${HOST}/mcp?key=${KEY}")

    assert taken(plain) == (plain, [])
    endpoint, _ = taken(Url("https://me:pw@${HOST}/mcp"))
    assert isinstance(endpoint, Url)
    assert endpoint.url == "https://me:<1>@${HOST}/mcp"
