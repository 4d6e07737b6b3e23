"""Arguments are hidden, fixed, defaulted and renamed, in calls and in what is listed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from toolyard.core.errors import ConfigError
from toolyard.core.interceptors import ArgumentRule, Rewriting
from toolyard.core.model import Offer
from toolyard.features.interceptors.model import make_interceptor, read_fields
from toolyard.features.interceptors.rewriting import Rewriter

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "tenant": {"type": "string"}, "b": {"type": "number"}},
    "required": ["q", "tenant"],
    "anyOf": [{"required": ["tenant"]}, {"required": ["q"]}],
    "dependentRequired": {"tenant": ["q"]},
}


def offer(schema: Any = SCHEMA) -> Offer:
    return Offer("t", json.dumps({"name": "t", "inputSchema": schema, "title": "T"}).encode())


def rewriter(schema: Any = SCHEMA, **arguments: Any) -> Rewriter:
    fields = read_fields({"tools": ["*"], "arguments": arguments})
    work = make_interceptor("x", fields).work
    assert isinstance(work, Rewriting)
    return Rewriter(work.rules, offer(schema))


def sent(rewriter: Rewriter, **arguments: Any) -> Any:
    raw = {name: Raw(json.dumps(value).encode()) for name, value in arguments.items()}
    return {name: json.loads(bytes(v)) for name, v in rewriter.arguments(raw).items()}


def test_a_fixed_argument_is_gone_from_every_part_of_the_schema() -> None:
    fixed = rewriter(tenant={"fix": {"id": [1, None]}})
    tool = json.loads(fixed.listed(offer()).raw)
    assert "tenant" not in json.dumps(tool)
    assert tool["title"] == "T" and tool["inputSchema"]["required"] == ["q"]
    assert sent(fixed, q="x") == {"q": "x", "tenant": {"id": [1, None]}}
    with pytest.raises(ConfigError, match="'tenant' cannot be set"):
        sent(fixed, q="x", tenant="mine")


def test_an_argument_that_a_tool_does_not_list_is_not_sent_and_not_taken() -> None:
    fixed = rewriter({"type": "object", "properties": {}}, read_only={"fix": True})
    assert sent(fixed) == {}
    with pytest.raises(ConfigError):
        sent(fixed, read_only=False)
    assert sent(rewriter({"type": "object"}, read_only={"fix": True})) == {"read_only": True}
    closed = {"type": "object", "additionalProperties": False}
    assert sent(rewriter(closed, read_only={"fix": True})) == {}


def test_a_hidden_argument_is_dropped_where_it_is_to_be_overridden() -> None:
    hidden = rewriter(b={"hide": True, "sent": "override"})
    assert sent(hidden, q="x", b=2) == {"q": "x"}


def test_two_arguments_may_change_their_names() -> None:
    swapped = rewriter(q={"rename": "b"}, b={"rename": "q"})
    assert sent(swapped, q=1, b="x") == {"b": 1, "q": "x"}
    properties = json.loads(swapped.listed(offer()).raw)["inputSchema"]["properties"]
    assert properties["b"]["type"] == "string" and properties["q"]["type"] == "number"


def test_a_schema_that_cannot_be_read_is_left() -> None:
    odd = Offer("t", b'{"name":"t","inputSchema":7}')
    assert Rewriter((ArgumentRule("a", "", b"1"),), odd).listed(odd) == odd


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"mask": {}}, "tools"),
        ({"tools": [], "mask": {}}, "length"),
        ({"tools": ["*"]}, "says nothing of what it does"),
        ({"tools": ["*"], "mask": {}, "url": "http://x"}, "has mask and url"),
        ({"tools": ["*"], "mask": {"kinds": ["emails"]}}, "emails"),
        ({"tools": ["*"], "mask": {}, "phase": "request"}, "'phase' means nothing beside 'mask'"),
        ({"tools": ["*"], "url": "http://x"}, "needs 'type' and 'phase'"),
        (
            {"tools": ["*"], "url": "ftp://x", "type": "validation", "phase": "both"},
            "no http address",
        ),
        ({"tools": ["*"], "arguments": {"a": {}}}, "not clear"),
        ({"tools": ["*"], "arguments": {"a": {"fix": 1, "rename": "b"}}}, "not clear"),
        (
            {"tools": ["*"], "arguments": {"a": {"rename": "c"}, "b": {"rename": "c"}}},
            "two arguments would be called 'c'",
        ),
        ({"tools": ["*"], "mask": {}, "seconds": 0}, "seconds"),
        ({"tools": ["*"], "mask": {}, "fail": "open"}, "fail"),
        ([], "JSON object"),
    ],
)
def test_what_is_not_clear_is_refused(fields: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        make_interceptor("x", read_fields(fields))
    assert caught.value.hint


def test_patterns_are_those_of_profiles() -> None:
    one = make_interceptor("x", read_fields({"tools": ["git", "!git/log", "*__echo"], "mask": {}}))
    names = ("git", "git@configured")
    assert one.sees(names, "push", "git__push")
    assert not one.sees(names, "log", "git__log")
    assert one.sees(("s", "s@configured"), "echo", "s__echo")
    assert not one.sees(("s", "s@configured"), "env", "s__env")
