from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.errors import ConfigError
from toolyard.records.edit import remove_member, set_member
from toolyard.records.jsonc import parse

KEYS = ["a", "b", "git", "x y"]
blanks: st.SearchStrategy[str] = st.lists(
    st.sampled_from([" ", "\n", "\r\n", "\t", "// one\n", "/* two */", "/* th\nree */"]), max_size=3
).map("".join)
scalars = st.sampled_from(["1", "true", "null", '"text // not a comment"', "[1, 2,]", "{}"])


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> str:
    """Objects as no formatter would leave them."""
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    parts = []
    for key in keys:
        value = draw(scalars if depth == 0 else scalars | objects(depth - 1))
        parts.append(f'{draw(blanks)}"{key}"{draw(blanks)}:{draw(blanks)}{value}{draw(blanks)}')
    has_trailing: bool = draw(st.booleans())
    trailing = f",{draw(blanks)}" if parts and has_trailing else ""
    return "{" + (",".join(parts) or str(draw(blanks))) + trailing + "}"


documents = st.builds(
    lambda bom, before, body, after: (bom + before + body + after).encode(),
    st.sampled_from(["", "\ufeff"]),
    blanks,
    objects(),
    blanks,
)
values: st.SearchStrategy[object] = st.sampled_from(
    [1, "é", None, True, [], {}, {"command": "x", "args": ["-a"]}]
)
paths = st.lists(st.sampled_from([*KEYS, "new"]), min_size=1, max_size=3)


def plain(data: bytes) -> dict[str, object]:
    root = parse(data).root
    value = root.plain() if root else {}
    assert isinstance(value, dict)
    return value


def comments(data: bytes) -> list[str]:
    """The comments of the text, those in strings left out."""
    found = re.finditer(rb'"[^"]*"|(//[^\r\n]*|/\*.*?\*/)', data, re.DOTALL)
    return [each.group(1).decode() for each in found if each.group(1)]


def has_trailing_comma(data: bytes) -> bool:
    root = parse(data).root
    waiting = [root] if root else []
    for node in waiting:
        if node.members and node.members[-1].comma is not None:
            return True
        waiting.extend(each.node for each in node.members)
    return False


def with_value(tree: dict[str, object], path: list[str], value: object) -> dict[str, object]:
    if len(path) == 1:
        return {**tree, path[0]: value}
    inner = tree.get(path[0], {})
    assert isinstance(inner, dict)
    return {**tree, path[0]: with_value(inner, path[1:], value)}


def is_open(tree: dict[str, object], path: list[str]) -> bool:
    node: object = tree
    for key in path[:-1]:
        if not isinstance(node, dict):
            return False
        node = node.get(key, {})
    return isinstance(node, dict)


@given(documents, paths, values)
def test_a_member_that_was_set_reads_back_and_all_else_is_the_same(
    data: bytes, path: list[str], value: object
) -> None:
    before = plain(data)
    if not is_open(before, path):
        with pytest.raises(ConfigError, match="no object"):
            set_member(data, path, value)
        return
    after = set_member(data, path, value)
    expected = with_value(before, path, value)
    assert plain(after) == expected
    assert list(plain(after)) == list(expected)
    assert after.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")


@given(documents, paths, values)
def test_setting_adds_bytes_or_replaces_one_value_and_touches_no_other(
    data: bytes, path: list[str], value: object
) -> None:
    if not is_open(plain(data), path):
        return
    document = parse(data)
    node = document.root
    for key in path:
        member = node.member(key) if node else None
        node = member.node if member else None
    after = set_member(data, path, value)
    if node is not None:
        head = document.text[: node.start].encode()
        tail = document.text[node.end :].encode()
        body = after.removeprefix(b"\xef\xbb\xbf")
        assert body.startswith(head)
        assert body.endswith(tail)
    else:
        rest = iter(after)
        assert all(byte in rest for byte in data), "a byte of the old text is gone"
        assert comments(after) == comments(data)


@given(documents, paths)
def test_a_member_that_was_removed_is_gone_and_comments_around_it_stay(
    data: bytes, path: list[str]
) -> None:
    before = plain(data)
    if not is_open(before, path):
        return
    parent: object = before
    for key in path[:-1]:
        parent = parent.get(key, {}) if isinstance(parent, dict) else {}
    assert isinstance(parent, dict)
    after = remove_member(data, path)
    if path[-1] not in parent:
        assert after == data
        return
    parent.pop(path[-1])
    assert plain(after) == before
    document = parse(data)
    node = document.root
    for key in path[:-1]:
        member = node.member(key) if node else None
        node = member.node if member else None
    found = node.member(path[-1]) if node else None
    assert found is not None
    outside = document.text[: found.start] + '"cut"' + document.text[found.node.end :]
    assert comments(after) == comments(outside.encode())
    rest = iter(data)
    assert all(byte in rest for byte in after), "removing added a byte"


@given(documents, st.lists(st.sampled_from(KEYS), min_size=1, max_size=2))
def test_a_file_without_trailing_commas_gets_none_by_an_edit(data: bytes, path: list[str]) -> None:
    strict = data.replace(b"[1, 2,]", b"[1, 2]")
    if has_trailing_comma(strict) or not is_open(plain(strict), path):
        return
    assert not has_trailing_comma(set_member(strict, path, 1))
    assert not has_trailing_comma(remove_member(strict, path))


SAMPLE = """\
{
  // our servers
  "mcpServers": {
    "time": {"command": "uvx", "args": ["time"]}, // exact
    "git": {
      "command": "git-mcp" // no args
    } // local
  },
  "other": [1,2]
}
"""


def test_a_new_member_is_written_like_its_siblings() -> None:
    after = set_member(SAMPLE.encode(), ["mcpServers", "x"], {"command": "c", "args": ["-a", "b"]})
    assert after.decode() == SAMPLE.replace(
        "    } // local\n",
        """\
    }, // local
    "x": {
      "command": "c",
      "args": ["-a", "b"]
    }
""",
    )


def test_a_removed_member_takes_its_lines_along() -> None:
    after = remove_member(SAMPLE.encode(), ["other"])
    assert after.decode() == SAMPLE.replace('  },\n  "other": [1,2]\n', "  }\n")


def test_a_removed_member_leaves_the_comment_on_its_line() -> None:
    after = remove_member(SAMPLE.encode(), ["mcpServers", "time"])
    assert after.decode() == SAMPLE.replace(
        '"time": {"command": "uvx", "args": ["time"]}, // exact', " // exact"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1,"n":{"k": 1}}'),
        ('{"a": 1}\n', '{"a": 1, "n": {"k": 1}}\n'),
        ('{"a": 1,}', '{"a": 1, "n": {"k": 1},}'),
        ("{}", '{\n  "n": {\n    "k": 1\n  }\n}'),
        ("{\r\n}\r\n", '{\r\n  "n": {\r\n    "k": 1\r\n  }\r\n}\r\n'),
        ("", '{\n  "n": {\n    "k": 1\n  }\n}\n'),
        ("// mine", '// mine\n{\n  "n": {\n    "k": 1\n  }\n}\n'),
        ('{\n\t"a": 1,\n}', '{\n\t"a": 1,\n\t"n": {\n\t\t"k": 1\n\t},\n}'),
    ],
)
def test_spacing_line_ends_and_indentation_are_taken_over(before: str, after: str) -> None:
    assert set_member(before.encode(), ["n"], {"k": 1}).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, "n": 2}', '{"a": 1}'),
        ('{"n": 2, "a": 1}', '{"a": 1}'),
        ('{"n": 2}', "{}"),
        ('{"n": 2,}', "{}"),
        ('{\n  "n": 2,\n  "a": 1\n}', '{\n  "a": 1\n}'),
        ('{\n  "n": 1,\n  "a": 1,\n  "n": 2\n}', '{\n  "a": 1\n}'),
    ],
)
def test_a_removed_member_leaves_no_trace(before: str, after: str) -> None:
    assert remove_member(before.encode(), ["n"]).decode() == after


@pytest.mark.parametrize("value", [float("nan"), object(), "\udcff"])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        set_member(b"{}", ["a"], value)


def test_a_path_through_something_else_than_an_object_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match="'a' holds no object at line 2"):
        set_member(b'{\n"a": []}', ["a", "b"], 1)
