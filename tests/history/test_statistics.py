from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from toolyard.core.errors import ConfigError
from toolyard.core.history import (
    REDACTED,
    Timing,
    is_redacted,
    moment,
    percentile,
    redact,
    statistics,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_servers_line_sums_up_the_lines_of_its_tools() -> None:
    timings = [Timing("b", "x", "ok", 5.0)]
    timings += [Timing("a", "read", "ok", float(ms)) for ms in range(1, 101)]
    timings += [Timing("a", "write", "error", 7.0), Timing("a", "write", "cancelled", 9.0)]

    found = statistics(timings)

    assert [(each.server, each.tool, each.calls) for each in found] == [
        ("a", "", 102),
        ("a", "read", 100),
        ("a", "write", 2),
        ("b", "", 1),
        ("b", "x", 1),
    ]
    assert (found[1].p50_ms, found[1].p95_ms, found[1].error_rate) == (50.0, 95.0, 0.0)
    assert (found[2].errors, found[2].cancelled, found[2].error_rate) == (1, 1, 0.5)
    assert found[0].error_rate == pytest.approx(1 / 102, abs=1e-4)


def test_nothing_called_has_no_statistics() -> None:
    assert statistics([]) == []
    assert percentile([], 95) == 0.0
    assert percentile([3.0], 50) == percentile([3.0], 95) == 3.0


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


@pytest.mark.parametrize(
    ("text", "ago"),
    [("90s", timedelta(seconds=90)), ("1h", timedelta(hours=1)), ("2d", timedelta(days=2))],
)
def test_a_moment_is_so_long_ago(text: str, ago: timedelta) -> None:
    assert moment(text, NOW) == NOW - ago


def test_a_moment_is_a_time() -> None:
    assert moment("2026-01-30T08:00", NOW) == datetime(2026, 1, 30, 8, tzinfo=UTC)
    assert moment("2026-01-30T08:00+02:00", NOW) == datetime(2026, 1, 30, 6, tzinfo=UTC)


@pytest.mark.parametrize("text", ["yesterday", "h", "-1h", "1.5h", "99999999999d"])
def test_what_is_no_moment_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        moment(text, NOW)

    assert "1h" in caught.value.hint
