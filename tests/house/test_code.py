"""Rules about the code that no linter knows."""

from __future__ import annotations

import ast
import re

from tests.house.tree import PACKAGE, modules, nodes, shown, syntax

VAGUE = frozenset(
    "manager engine worker helper util service registry common misc info data".split()
)


def words(name: str) -> list[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_vague(name: str) -> bool:
    return any(word in VAGUE or word.removesuffix("s") in VAGUE for word in words(name))


def test_a_vague_word_is_seen_inside_a_name_but_not_inside_a_word() -> None:
    assert is_vague("LinkManager")
    assert is_vague("string_utils")
    assert not is_vague("Database")
    assert not is_vague("information")


def test_no_vague_word_names_a_file_or_a_folder() -> None:
    paths = {part for file in modules() for part in (file, *file.relative_to(PACKAGE).parents)}

    assert [str(path) for path in sorted(paths) if is_vague(path.stem)] == []


def test_no_vague_word_names_a_class() -> None:
    found = [
        f"{shown(file)}: {node.name}"
        for file in modules()
        for node in nodes(file)
        if isinstance(node, ast.ClassDef) and is_vague(node.name)
    ]

    assert found == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [shown(file) for file in modules() if not ast.get_docstring(syntax(file))]

    assert silent == []


def test_no_hint_leads_to_the_doctor_who_shows_the_same_hint() -> None:
    leading = re.compile(r"see:? `?toolyard doctor")

    assert [shown(file) for file in modules() if leading.search(file.read_text("utf-8"))] == []


def test_every_exception_to_a_rule_says_why() -> None:
    """As in `# noqa: S104 - it is compared, not bound`."""
    bare = [
        f"{shown(file)}:{number}"
        for file in modules()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if "# noqa" in line and not re.search(r"# noqa: [A-Z0-9, ]+ - \w", line)
    ]

    assert bare == []
