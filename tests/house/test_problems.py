"""Every problem has a code of the table, and every code of the table is in use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import PACKAGE, modules, nodes, shown
from toolyard.core.problems import ProblemCode

TABLE = PACKAGE / "core" / "problems.py"
PLACES = {"Problem": 0, "Finding": 3}
"""Which argument is the code."""


def test_every_code_says_in_sentences_what_it_means_and_what_to_do() -> None:
    texts = [text for code in ProblemCode for text in (code.meaning, code.remedy)]

    assert [text for text in texts if not text.endswith(".") or "|" in text or "\n" in text] == []


def test_codes_are_in_alphabetical_order_and_are_named_after_their_text() -> None:
    codes = list(ProblemCode)

    assert codes == sorted(codes)
    assert [code.name for code in codes] == [code.value.replace("-", "_").upper() for code in codes]


def codes_given(file: Path) -> Iterator[ast.expr]:
    """The codes with which problems, and findings of the doctor, are made in a module."""
    for node in nodes(file):
        name = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if isinstance(node, ast.Call) and name in PLACES:
            yield from node.args[PLACES[name] : PLACES[name] + 1]
            yield from (each.value for each in node.keywords if each.arg == "code")


def test_no_problem_is_made_with_a_code_of_its_own() -> None:
    # The type checker sees to names; text would be seen by nobody if it came through `Any`.
    spelled = [
        f"{shown(file)}:{code.lineno}"
        for file in modules()
        for code in codes_given(file)
        if not isinstance(code, ast.Name | ast.Attribute | ast.Subscript)
    ]

    assert spelled == []


def test_every_code_of_the_table_is_in_use() -> None:
    used = {
        node.attr
        for file in modules()
        if file != TABLE
        for node in nodes(file)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "ProblemCode"
    }

    assert used == set(ProblemCode.__members__)
