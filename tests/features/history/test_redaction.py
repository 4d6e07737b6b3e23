from __future__ import annotations

from typing import Any

import pytest

from toolyard.features.history.redaction import REDACTED, is_redacted, redact


@pytest.mark.parametrize(
    "name",
    ["token", "access_token", "API-Key", "apiKey", "Authorization", "client_secret", "PASSWORD"],
)
def test_what_stands_under_the_name_of_a_secret_is_left_out(name: str) -> None:
    given = {"deep": [{name: "hush", "path": "a"}], name: {"nested": "hush"}}

    found = redact(given)

    assert found == {"deep": [{name: REDACTED, "path": "a"}], name: REDACTED}
    assert is_redacted(found)


@pytest.mark.parametrize(
    "value",
    [
        {"path": "a", "max_tokens": 100, "use_token": True, "token": "", "secret": None},
        ["a", {"b": 1.5}],
        "the tokenizer is quick",
    ],
)
def test_everything_else_is_kept_as_it_is(value: Any) -> None:
    assert redact(value) == value
    assert not is_redacted(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"token": "hush", "a": 1}',
        "curl -H 'Authorization: Bearer hush'",
        "https://example.org/?api_key=hush&a=1",
        "export DB_PASSWORD=hush",
        'it said {\\"secret\\": \\"hush\\"}',
    ],
)
def test_secrets_within_a_text_are_left_out(text: str) -> None:
    found = redact({"text": text})["text"]

    assert "hush" not in found
    assert REDACTED in found


def test_a_number_under_the_name_of_a_password_is_left_out() -> None:
    assert redact({"password": 1234}) == {"password": REDACTED}
