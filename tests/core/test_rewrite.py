"""Addresses as they are from elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.rewrite import at_host, check_rule, is_loopback, rewrite

HOSTS = st.sampled_from(["localhost", "127.0.0.1", "box.example", "[::1]", "10.1.2.3"])
PATHS = st.sampled_from(["", "/", "/mcp", "/a/b?c=d", "/x#y"])


@pytest.mark.parametrize(
    ("url", "rules", "expected", "by"),
    [
        ("http://localhost:3000/mcp", {"localhost": "svc"}, "http://svc:3000/mcp", "localhost"),
        ("http://localhost/mcp", {"localhost": "svc:80"}, "http://svc:80/mcp", "localhost"),
        ("http://LOCALHOST:1/x", {"localhost": "svc"}, "http://svc:1/x", "localhost"),
        ("http://localhost:3000/a", {"localhost:3000": "b:9"}, "http://b:9/a", "localhost:3000"),
        ("http://localhost:3001/a", {"localhost:3000": "b:9"}, "http://localhost:3001/a", ""),
        ("http://localhost/a", {"localhost:80": "b"}, "http://b/a", "localhost:80"),
        ("http://localhost:3/a", {"localhost": "https://b"}, "https://b:3/a", "localhost"),
        ("http://localhost:3/a", {"localhost": "https://b:4"}, "https://b:4/a", "localhost"),
        ("http://u:p@localhost:3/a", {"localhost": "b"}, "http://u:p@b:3/a", "localhost"),
        ("http://[::1]:3/a", {"[::1]": "b"}, "http://b:3/a", "[::1]"),
        ("http://a/b/c?d=e", {"http://a/b": "http://x/y"}, "http://x/y/c?d=e", "http://a/b"),
        ("http://a/bc", {"http://a/b": "http://x/y"}, "http://a/bc", ""),
        ("http://a/b", {"http://a/b": "http://x/y"}, "http://x/y", "http://a/b"),
        ("http://a:8/b", {"http://a": "http://x"}, "http://x:8/b", "http://a"),
        ("http://ab/c", {"http://a": "http://x"}, "http://ab/c", ""),
        ("http://a/b/", {"http://a/": "http://x/"}, "http://x/b/", "http://a/"),
    ],
)
def test_a_rule_fits_whole_addresses_beginnings_and_hosts(
    url: str, rules: dict[str, str], expected: str, by: str
) -> None:
    assert rewrite(url, rules.items()) == (expected, by)


def test_the_most_specific_rule_wins_whatever_the_order() -> None:
    url = "http://localhost:3000/mcp"
    rules = [
        ("localhost", "host"),
        ("localhost:3000", "port"),
        ("http://localhost:3000", "http://beginning"),
        ("http://localhost:3000/mcp", "http://whole/x"),
    ]
    for number in range(len(rules), 0, -1):
        expected = {4: "http://whole/x", 3: "http://beginning/mcp", 2: "http://port:3000/mcp"}
        for order in (rules[:number], rules[:number][::-1]):
            assert rewrite(url, order)[0] == expected.get(number, "http://host:3000/mcp")


@given(HOSTS, st.integers(1, 65535), PATHS)
def test_another_host_keeps_port_and_path(host: str, port: int, path: str) -> None:
    assert at_host(f"http://{host}:{port}{path}", "svc") == f"http://svc:{port}{path}"
    assert at_host(f"http://{host}:{port}{path}", "svc:1") == f"http://svc:1{path}"


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    rewrite(text, [("localhost", "svc"), ("http://a", "http://b"), ("localhost:80", "c")])
    is_loopback(text)
    check_rule(text, "svc")
    check_rule("localhost", text)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:1/", True),
        ("http://127.0.0.2/", True),
        ("http://[::1]:3/", True),
        ("http://box/", False),
        ("nonsense", False),
    ],
)
def test_loopback_is_known_by_its_names(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    ("wanted", "given_"),
    [
        ("ftp://a", "http://b"),
        ("http://a", "b"),
        ("a b", "c"),
        ("localhost", "http://b/path"),
        ("localhost:99999", "b"),
        ("", "b"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(wanted: str, given_: str) -> None:
    assert check_rule(wanted, given_)
