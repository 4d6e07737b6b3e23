"""An entry that is shown without its secrets can be sent back with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolyard.core.errors import ConfigError
from toolyard.features.servers.hidden_entry import fill_entry, hide_entry

FAKE = "fake-value"
ENTRIES: list[dict[str, Any]] = [
    {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": FAKE, "PLAIN": FAKE, "PORT": 1}},
    {"command": "npx", "args": ["--port", 80, "--api-key", FAKE, "--password", FAKE + "2"]},
    {"command": ["sh", "--token=" + FAKE], "environment": {"A": FAKE}},
    {"url": f"https://user:{FAKE}@example.com/mcp?api_key={FAKE}", "headers": {"X": FAKE}},
    {"url": "https://example.com/mcp", "oauth": {"clientSecret": FAKE, "scopes": ["a", "b"]}},
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_secret_is_shown_and_none_is_lost(entry: dict[str, Any]) -> None:
    shown = hide_entry(entry)

    assert FAKE not in json.dumps(shown)
    assert shown.keys() == entry.keys()
    assert fill_entry(shown, entry) == entry


def test_references_and_ordinary_words_stay_readable() -> None:
    entry = {
        "command": "mcp-server-2024-edition",
        "args": ["--token", "${keyring:git}", "/data"],
        "env": {"KEY": "${keyring:key}"},
        "headers": {"Authorization": "Bearer ${TOKEN}"},
        "title": "Files",
    }
    assert hide_entry(entry) == entry


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "true"),
        ("MAX_RETRIES", "3"),
        ("LOG_LEVEL", "debug"),
        ("NODE_ENV", "production"),
        ("DATA_DIR", "/srv/data/files"),
        ("REDIS_HOST", "localhost:6379"),
        ("NOTHING", ""),
    ],
)
def test_a_variable_that_is_plainly_a_setting_stays_readable(name: str, value: str) -> None:
    entry = {"command": "c", "env": {name: value}}
    assert hide_entry(entry) == entry


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PASSWORD", "true"),
        ("DB_PASS", "123"),
        ("PIN", "1234"),
        ("LOGIN", "hunter2"),
        ("TOKEN_PATH", "/srv/token"),
        ("PROXY_HOST", "me:fake@proxy"),
        ("HOOK_PATH", "/services/T0/fake4fake4fake4fake4"),
        ("LONG_NUMBER", "123456"),
        ("API_MODE", "fake4fake4fake4fake4"),
    ],
)
def test_a_variable_that_may_be_a_secret_is_hidden(name: str, value: str) -> None:
    assert hide_entry({"env": {name: value}}) == {"env": {name: "[secret]"}}
    assert hide_entry({"headers": {"X-Mode": "fast"}}) == {"headers": {"X-Mode": "[secret]"}}


def test_what_was_typed_over_counts_and_what_moved_is_found() -> None:
    before = {"command": "c", "args": ["--token", "one", "--key", "two"], "env": {"A": "x"}}
    edited = {
        "command": "d",
        "args": ["-v", "--key", "[secret]", "--token", "[secret]"],
        "env": {"A": "y", "B": "z"},
    }
    assert fill_entry(edited, before)["args"] == ["-v", "--key", "two", "--token", "one"]
    assert fill_entry(edited, before)["env"] == {"A": "y", "B": "z"}


@pytest.mark.parametrize(
    "entry",
    [{"env": {"NEW": "[secret]"}}, {"args": ["[secret]"]}, {"url": "https://a:[secret]@b/"}],
)
def test_a_secret_that_nobody_has_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="no hidden value"):
        fill_entry(entry, {"command": "c", "env": {"OLD": "x"}})
