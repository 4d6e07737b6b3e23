from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.records.jsonc import DEPTH_LIMIT, NODE_LIMIT, JsoncError, parse

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), inner)
    ),
    max_leaves=12,
)


def plain(text: str) -> object:
    root = parse(text.encode()).root
    assert root is not None
    return root.plain()


@given(json_values, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_all_that_the_standard_reader_reads_is_read_alike(
    value: object, indent: int | str | None, ascii_only: bool
) -> None:
    assert plain(json.dumps(value, indent=indent, ensure_ascii=ascii_only)) == value


def test_comments_trailing_commas_a_bom_and_crlf_are_tolerated() -> None:
    text = (
        '\ufeff// first\r\n{ /* a */ "a" /**/ : // x\r\n [1, 2, /* , */ ],\r\n "b": "// no",\r\n}'
    )
    document = parse(text.encode())
    assert document.bom
    assert document.root is not None
    assert document.root.plain() == {"a": [1, 2], "b": "// no"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_key_and_value_knows_its_line(end: str) -> None:
    document = parse(end.join(["{", '"a":', "  1,", '"b": [', "2]}"]).encode())
    assert document.root is not None
    first, second = document.root.members
    assert [document.line(first), document.line(first.node)] == [2, 3]
    assert [document.line(second), document.line(second.node.items[0])] == [4, 5]
    assert document.place(first.node.start) == (3, 3)


@pytest.mark.parametrize("text", ["", " \n", "// only this", "/* and */ // this\n"])
def test_a_text_of_blanks_and_comments_has_no_root(text: str) -> None:
    assert parse(text.encode()).root is None


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "',' or '}' expected"),
        ('{"a": NaN}', 1, 7, "not 'NaN'"),
        ('{"a": -Infinity}', 1, 7, "a value expected"),
        ('{"a": 1e999}', 1, 7, "too large"),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "too large"),
        ('{"a": 01}', 1, 8, "',' or '}' expected"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ('{"a" 1}', 1, 6, "':' expected"),
        ('{"a": }', 1, 7, "a value expected"),
        ('{"a": "x\ny"}', 1, 7, "without an end"),
        ('{"a": "\\x"}', 1, 7, "wrong escape"),
        ('{"a": "\\ud800"}', 1, 7, "surrogate"),
        ('\n{"a": [1, 2', 2, 7, "'[' without its ']'"),
        ('{"a": 1', 1, 1, "'{' without its '}'"),
        ('{"a": 1 /* oh', 1, 9, "comment without an end"),
        ("{,}", 1, 2, "double quotes"),
        ("[1,,2]", 1, 4, "a value expected"),
        ("{} {}", 1, 4, "after the end"),
        ('{"a":', 1, 6, "the end of the file"),
    ],
)
def test_a_syntax_error_names_its_line_and_column(
    text: str, line: int, column: int, says: str
) -> None:
    with pytest.raises(JsoncError, match="line") as caught:
        parse(text.encode())
    assert (caught.value.line, caught.value.column) == (line, column)
    assert says in str(caught.value)


def test_text_that_is_not_utf_8_is_refused_with_its_place() -> None:
    with pytest.raises(JsoncError) as caught:
        parse(b'{\n "a": "\xff"}')
    assert (caught.value.line, caught.value.column) == (2, 8)


def test_nesting_is_bounded() -> None:
    parse(b"[" * DEPTH_LIMIT + b"1" + b"]" * DEPTH_LIMIT)
    with pytest.raises(JsoncError, match="deeper"):
        parse(b"[" * 100_000)


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(JsoncError, match="more than"):
        parse(b"[" + b"1," * NODE_LIMIT + b"]")


def test_a_repeated_key_is_reported_and_the_last_counts() -> None:
    document = parse(b'{"a": 1,\n"b": {"a": 0},\n"\\u0061": 2}')
    assert document.root is not None
    assert document.root.plain() == {"a": 2, "b": {"a": 0}}
    assert [(each.key, document.line(each)) for each in document.duplicates] == [("a", 3)]
    found = document.root.member("a")
    assert found is not None
    assert found.node.scalar == 2


@given(st.text('{}[],:"\\/*\n\r \ta1-.eu', max_size=40))
def test_any_text_is_read_or_refused_with_a_place_inside_it(text: str) -> None:
    try:
        parse(text.encode())
    except JsoncError as error:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 2
