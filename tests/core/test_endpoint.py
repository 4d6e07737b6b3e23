"""What is said of an endpoint, whatever door it came through."""

from __future__ import annotations

from typing import Any

import pytest

from toolyard.core.endpoint import Command, Url, fingerprint, is_address, write_endpoint
from toolyard.core.endpoint_fields import read_endpoint, read_timeout, write_timeout
from toolyard.core.errors import ConfigError
from toolyard.core.fields import LONGEST_TEXT, MOST, FaultsError
from toolyard.core.model import MEMBER_LOGIN
from toolyard.core.server_entries import read_entry

COMMAND = Command(("npx", "-y", "thing"), (("B", "ü"), ("A", "${T}")), "/d")
ADDRESS = Url("https://h/mcp", "sse", (("X-Key", "k"),))


def faults(said: Any, **options: bool) -> list[tuple[str, str]]:
    with pytest.raises(FaultsError) as caught:
        read_endpoint(said, **options)
    assert all(fault.hint for fault in caught.value.faults)
    return [(fault.field, fault.text) for fault in caught.value.faults]


@pytest.mark.parametrize("key", ["type", "transport"])
@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        *((word, "stdio") for word in ("stdio", "local", "STDIO")),
        *((word, "http") for word in ("http", "streamable-http", "streamable_http", "remote")),
        *((word, "http") for word in ("streamableHttp", "Streamable-HTTP", " http ")),
        ("sse", "sse"),
    ],
)
def test_every_spelling_of_a_transport_is_understood(key: str, spelled: str, meant: str) -> None:
    endpoint = read_endpoint({key: spelled, "command": "c", "url": "http://h/"})

    assert meant == ("stdio" if isinstance(endpoint, Command) else endpoint.kind)


@pytest.mark.parametrize("spelled", ["ws", "WebSocket", "wss"])
def test_a_websocket_is_refused_in_a_sentence_of_its_own(spelled: str) -> None:
    ((field, text),) = faults({"transport": spelled, "url": "ws://h/"})

    assert field == "transport"
    assert text == f"transport {spelled!r} is a WebSocket, which is not supported"


def test_all_that_is_wrong_is_named_at_once() -> None:
    said = {"command": "c\0", "args": 5, "env": {"A=B": "1", "": "2"}, "cwd": [], "headers": 1}

    assert [field for field, _ in faults(said)] == [
        *("command", "args", "cwd", "headers", "env", "env")
    ]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "command"),
        ([], ""),
        ({"command": "c", "url": "http://h"}, "type"),
        ({"type": "sse", "command": "c"}, "url"),
        ({"type": 5, "command": "c"}, "type"),
        ({"url": "http://h", "transport": {}, "type": "http"}, "transport"),
        ({"command": []}, "command"),
        ({"command": [], "args": ["c"]}, "command"),
        ({"url": "http://h", "httpUrl": "ftp://h"}, "httpUrl"),
        ({"url": "http://h:99999/"}, "url"),
        ({"url": "http://h", "headers": {"A": "b\nc"}}, "headers"),
        ({"command": "c", "environment": {"": "1"}}, "environment"),
        ({"command": "c", "args": ["x" * (LONGEST_TEXT + 1)]}, "args"),
        ({"command": "c", "args": ["x"] * (MOST + 1)}, "args"),
        ({"command": "c", "env": {str(n): "" for n in range(MOST + 1)}}, "env"),
    ],
)
def test_one_fault_names_the_field_it_is_in(said: Any, field: str) -> None:
    assert [where for where, _ in faults(said)] == [field]


def test_a_secret_in_an_address_is_not_repeated() -> None:
    assert "hush" not in faults({"url": "ftp://me:hush@h/"})[0][1]


def test_an_image_needs_no_command_but_takes_no_blank_one() -> None:
    assert read_endpoint({"args": ["-v"]}, has_image=True) == Command(("", "-v"))
    assert read_endpoint({"type": "local"}, has_image=True) == Command(("",))
    assert faults({"command": " "}, has_image=True) == [("command", "its command is empty")]
    assert faults({"type": "http"}, has_image=True)[0][0] == "url"


@pytest.mark.parametrize("endpoint", [COMMAND, ADDRESS, Command(("c",)), Url("http://h")])
def test_what_is_written_is_read_as_the_same(endpoint: Command | Url) -> None:
    assert read_endpoint(write_endpoint(endpoint)) == endpoint


def test_approvals_of_older_versions_still_count() -> None:
    # Kept in databases and locks: another value would ask everybody to approve everything again.
    assert [fingerprint(COMMAND), fingerprint(ADDRESS), fingerprint(ADDRESS, ("B", "A"))] == [
        "13f86af45debc18c13bbd17f1252461410dfa9d3aacea1b18680bba73da85d7f",
        "ff3bc8a34b8edcb66f2fe24ec6d3e2f2d8919b5b4032e096134f9fbc4e174cca",
        "2823d9b7546479b381d28288c62ec6111022521af875284e242e0632d7081d72",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h", True),
        ("HTTPS://h:8/p?q#f", True),
        ("http://[::1]:1/mcp", True),
        ("http://[::1/mcp", False),
        ("http://h:x/", False),
        ("http://h/a b", False),
        ("http:///p", False),
        ("ws://h/", False),
        ("", False),
    ],
)
def test_an_address_can_be_reached_over_http(text: str, expected: bool) -> None:
    assert is_address(text) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("${BASE}/mcp", True),
        ("http://${HOST}:${PORT}/mcp", True),
        ("https://h/${PATH}", True),
        ("ftp://${HOST}/", False),
        ("http://h:x${PORT}/", False),
        ("http://${HOST}/ x", False),
    ],
)
def test_an_address_is_judged_as_far_as_its_references_allow(url: str, expected: bool) -> None:
    try:
        read_endpoint({"url": url})
    except ConfigError:
        assert not expected
    else:
        assert expected


@pytest.mark.parametrize(
    ("value", "seconds"), [(None, None), (0.5, 0.5), (999, 999), (1000, 1), (10**400, 86_400)]
)
def test_a_timeout_is_in_seconds_or_milliseconds_and_at_most_a_day(
    value: float | None, seconds: float | None
) -> None:
    assert read_timeout(value) == seconds
    if seconds:
        assert read_timeout(write_timeout(seconds)) == seconds


@pytest.mark.parametrize("value", [0, -1, True, "5", [], float("nan")])
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(FaultsError, match="not a number above 0"):
        read_timeout(value)


@pytest.mark.parametrize("missing", ["client_id", "issuer"])
def test_who_is_vouched_for_needs_a_client_and_an_issuer(missing: str) -> None:
    whole = {"grant": "identity", "client_id": "hub", "issuer": "https://auth.example"}
    auth = {name: text for name, text in whole.items() if name != missing}
    assert any("identity" in text for _, text in faults({"url": "https://h/", "auth": auth}))
    url = read_endpoint({"url": "https://h/", "auth": whole})
    assert read_endpoint(write_endpoint(url)) == url


def test_a_server_that_the_issuer_vouches_at_is_of_members() -> None:
    entry = {"url": "https://h/", "auth": {"grant": "exchange"}}
    assert read_entry(entry).login == MEMBER_LOGIN
    assert read_entry({"url": "https://h/", "auth": {"other": "x"}}).login == ""
