"""Our rules for headers are those of the SDK, which is the oracle here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.shared import inbound as sdk

from tests.examples import examples
from toolyard.wire import headers

TEXTS = st.text() | st.text("a =?b64\t\n") | st.text(st.characters(max_codepoint=0x7F))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 2.0, -1.0, 1e300, float("inf"), 10**30, 2**53 + 1])
    | TEXTS
)
TYPES = st.sampled_from(["string", "integer", "boolean", "number", "object", ["string"], None, 7])
TOKENS = st.sampled_from(["Region", "region", "X-Id", "bad name", "", "ä", 5, None])


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if draw(st.booleans()):
        schema["type"] = draw(TYPES)
    if draw(st.integers(0, 3)) == 0:
        schema["x-mcp-header"] = draw(TOKENS)
    if depth and draw(st.booleans()):
        names = st.sampled_from(["a", "b", "c", "properties", "x-mcp-header"])
        schema["properties"] = draw(st.dictionaries(names, schemas(depth=depth - 1), max_size=3))
    if depth and draw(st.integers(0, 4)) == 0:
        key = draw(st.sampled_from(["items", "not", "default", "allOf", "$defs", "$ref", "enum"]))
        inner: Any = draw(schemas(depth=depth - 1))
        schema[key] = {"allOf": [inner], "$defs": {"d": inner}}.get(key, inner)
    return schema


def typed(**kinds: str) -> dict[str, Any]:
    """A schema in which every property is marked with its own name."""
    return {
        "type": "object",
        "properties": {k: {"type": v, "x-mcp-header": k} for k, v in kinds.items()},
    }


@examples(200)
@given(TEXTS)
@example("=?base64?aGk=?=")
@example("=?base64?a\n?=")
def test_values_are_written_as_the_sdk_reads_them_and_back(text: str) -> None:
    written = headers.encode_value(text)

    assert sdk.decode_header_value(written) == headers.decode_value(written) == text
    assert written.isascii() and written.isprintable() and written == written.strip()


@examples(200)
@given(st.text("=?base64aGkA/+ ") | TEXTS.map(lambda text: f"=?base64?{text}?="))
@example("=?base64?aGk?=")
@example("=?base64?aGl=?=")
@example("=?base64?/w==?=")
@example("=?base64??=")
def test_values_are_read_as_the_sdk_does(value: str) -> None:
    # No header holds a line end, and the oracle falls over what is not ASCII.
    if "\n" not in value and value.isascii():
        assert headers.decode_value(value) == sdk.decode_header_value(value)


def test_a_wrapped_value_that_is_not_ascii_is_nothing() -> None:
    assert headers.decode_value("=?base64?ä?=") is None


@pytest.mark.slow
@examples(300)
@given(schemas())
def test_marked_arguments_are_those_the_sdk_finds(schema: dict[str, Any]) -> None:
    invalid = sdk.find_invalid_x_mcp_header(schema) is not None
    expected = {} if invalid else sdk.x_mcp_header_map(schema)
    found = headers.param_headers(schema)

    assert {path: name.removeprefix("Mcp-Param-") for path, (name, _) in found.items()} == expected


@pytest.mark.parametrize("schema", [None, True, [], "x", {"properties": []}])
def test_what_is_no_schema_marks_nothing(schema: Any) -> None:
    assert headers.param_headers(schema) == {}


SCHEMA = {
    "type": "object",
    "properties": {
        **typed(s="string", i="integer", b="boolean")["properties"],
        "deep": typed(d="string"),
    },
}
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "s": SCALARS,
        "i": SCALARS,
        "b": SCALARS,
        "deep": SCALARS | st.fixed_dictionaries({}, optional={"d": SCALARS | st.just([1])}),
    },
)


@examples(200)
@given(ARGUMENTS)
def test_calls_carry_the_headers_the_sdk_would_send_and_it_accepts_them(
    arguments: dict[str, Any],
) -> None:
    marked = headers.param_headers(SCHEMA)
    sent = dict(headers.mirror(marked, arguments))

    assert sent == sdk.mcp_param_headers(sdk.x_mcp_header_map(SCHEMA), arguments)
    assert sdk.validate_mcp_param_headers(SCHEMA, arguments, sent) is None
    assert headers.disagreement(marked, arguments, {k.lower(): v for k, v in sent.items()}) == ""


VALUES = st.sampled_from(
    "1 1.0 1.00 -1 2.5 1e0 01 +1 true True =?base64?MQ==?= =?base64?2aM=?= =?base64?x a".split()
) | st.sampled_from(["", "9" * 5000])


@pytest.mark.slow
@examples(300)
@given(ARGUMENTS, st.dictionaries(st.sampled_from("sibd"), VALUES, max_size=2))
@example({"i": True}, {"i": "1"})
@example({"i": 3}, {"i": "=?base64?2aM=?="})
@example({"i": 1}, {"i": "9" * 5000})
@example({"i": 10**5000}, {"i": "1"})
@example({"i": 10**5000}, {})
@example({"i": 2**53 + 1}, {"i": str(2**53)})
def test_headers_disagree_where_the_sdk_says_so(
    arguments: dict[str, Any], sent: dict[str, str]
) -> None:
    sent = {f"mcp-param-{name}": value for name, value in sent.items()}
    refused = sdk.validate_mcp_param_headers(SCHEMA, arguments, sent) is not None

    assert bool(headers.disagreement(headers.param_headers(SCHEMA), arguments, sent)) == refused
