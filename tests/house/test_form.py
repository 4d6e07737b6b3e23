"""Figures of the code's form that once were bad and must stay good."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter

from tests.house.tree import PACKAGE, ROOT, modules, nodes, shown, syntax

QUESTION = re.compile(r"(Who|What|Whose|Whom|Where|How|Whether|Why)\b")
VAGUE = frozenset(
    "each found said known kept seen asked told made given there here wanted what who whom".split()
)
PARTS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def code() -> dict[str, tuple[ast.AST, ...]]:
    """The nodes of every module, by its dotted name; the first is the module itself."""
    return {dotted(shown(file)): nodes(file) for file in modules()}


def dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(module: tuple[ast.AST, ...]) -> Iterator[str]:
    """The modules of ours that a module imports, wherever it does."""
    for node in module:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_imports_itself_by_way_of_others() -> None:
    prefix = next(iter(code())).partition(PACKAGE.name)[0]
    names = {name.removeprefix(prefix) for name in code()}
    graph = {}
    for name, module in code().items():
        targets = names & set(imported(module)) - {name.removeprefix(prefix)}
        # A package is no partner in a cycle where one of its modules is meant.
        graph[name.removeprefix(prefix)] = {
            target
            for target in targets
            if not any(other.startswith(f"{target}.") for other in targets)
        }

    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None
    assert len(order) == len(names) > 100


def test_features_import_each_other_only_where_a_line_says_so() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    place = re.compile(r"toolyard\.features\.(\w+)")
    imports: defaultdict[str, set[str]] = defaultdict(set)
    for name, module in code().items():
        if importer := place.search(name):
            targets = {match[1] for target in imported(module) if (match := place.match(target))}
            imports[importer[1]] |= targets & features() - {importer[1]}

    allowed = project["tool"]["toolyard"]["feature-imports"]
    assert {name: sorted(others) for name, others in imports.items() if others} == allowed
    assert list(TopologicalSorter(allowed).static_order())  # and never round in a circle


def features() -> set[str]:
    return {file.parent.name for file in (PACKAGE / "features").glob("*/__init__.py")}


def test_a_public_class_name_occurs_once() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file in modules():
        for node in syntax(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(shown(file))

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_docstrings_begin_with_the_thing_or_the_verb() -> None:
    texts = [
        text
        for module in code().values()
        for node in module
        if isinstance(node, PARTS) and (text := ast.get_docstring(node))
    ]
    questions = [text.partition("\n")[0] for text in texts if QUESTION.match(text)]

    assert len(questions) < 0.02 * len(texts), questions


def test_variables_are_called_what_they_hold() -> None:
    names = [
        (name, node.lineno, node.id)
        for name, module in code().items()
        for node in module
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    vague = [place for place in names if place[2] in VAGUE]

    assert len(vague) < 0.01 * len(names), vague


def test_plain_objects_are_for_what_others_wrote() -> None:
    """What is ours has a type; JSON of somebody else is `JsonObject`."""
    loose = [
        f"{shown(file)}:{number}"
        for file in modules()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if "dict[str, Any]" in line
    ]

    assert len(loose) < 40, loose
