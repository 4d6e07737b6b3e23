"""A URI is one of a template's or not, however the two are made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.relay import uris
from toolyard.relay.uris import Spread, Template

PARTS = ["a", "b", "/", "?", "{x}", "{+x}", "{/x}", "{x*}", "{?x}", "{&x}", "{", "}"]


def gives(template: str, uri: str) -> bool:
    return Template(template).gives(Spread(uri))


def reference(parts: list[str], uri: str) -> bool:
    """Every way to share a URI out among the parts of a template, tried one after the other."""
    if not parts:
        return not uri
    first, *rest = parts
    return any(
        fills(first, uri[:size]) and reference(rest, uri[size:]) for size in range(len(uri) + 1)
    )


def fills(part: str, text: str) -> bool:
    if part in ("{?x}", "{&x}"):
        return not text or text[0] in "?&"
    if part == "{x}":
        return not set(text) & set("/?#")
    return part in ("{+x}", "{/x}", "{x*}") or text == part


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.text("ab/?&{}", max_size=7))
def test_it_agrees_with_trying_everything(parts: list[str], uri: str) -> None:
    # A brace that opens nothing must not meet one that closes it.
    whole = [part for part in parts if part not in "{}" or "{" not in parts or "}" not in parts]
    assert gives("".join(whole), uri) == reference(whole, uri)


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("mem://notes/{id}", "mem://notes/7", True),
        ("mem://notes/{id}", "mem://notes/a%20b", True),
        ("mem://notes/{id}", "mem://notes/7/parts", False),
        ("mem://notes/{id}", "mem://other/7", False),
        ("file:///{+path}", "file:///a/b?c#d", True),
        ("repo://{owner}/{name}/contents{/path*}", "repo://me/it/contents/a/b", True),
        ("repo://{owner}/{name}/contents{/path*}", "repo://me/it/issues", False),
        ("find://all{?word,limit}", "find://all?word=x&limit=1", True),
        ("find://all{?word,limit}", "find://all", True),
        ("find://all{?word,limit}", "find://allword", False),
        ("größe://{x}/ende", "größe://lang/ende", True),
    ],
)
def test_templates_as_servers_write_them(template: str, uri: str, expected: bool) -> None:
    assert gives(template, uri) is expected


@contextmanager
def counted_lines() -> Iterator[list[int]]:
    """How many lines of the module are run within."""
    count = [0]

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        if frame.f_code.co_filename != uris.__file__:
            return None
        count[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{+a}" * 24 + "X", "a" * 2000),
        ("{a}" * 500 + "X", "a" * 2000),
        ("{a}a" * 400 + "X", "a" * 2000),
        ("{+a}a" * 300 + "X", "a" * 2000),
        ("{?a}?" * 300 + "X", "?&" * 1000),
        ("a" * 2000 + "X", "a" * 2000),
        ("{" * 2000, "{" * 1999),
    ],
)
def test_a_hostile_template_costs_no_more_than_its_length(template: str, uri: str) -> None:
    with counted_lines() as count:
        assert not gives(template, uri)
    assert count[0] <= 20 * (len(template) + len(uri))
