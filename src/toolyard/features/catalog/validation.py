"""Checks files of definitions, wherever they are, and says all that is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from toolyard.core.errors import ConfigError
from toolyard.features.catalog.advice import advise
from toolyard.features.catalog.bundled_catalog import SCHEMA
from toolyard.features.catalog.files import read_file
from toolyard.records.files import read_bounded
from toolyard.records.jsonc import parse

COMPLAINTS: Final = 20
"""Who has more mistakes than that mends these first."""
STATE: Final = frozenset({"added.json", "shipped.json", "schema.json"})
"""Files of the catalog that define nothing."""


class CheckedFile(Struct, frozen=True):
    """A file that was checked: its errors, for which it cannot be used, and advice."""

    file: str
    name: str = ""
    errors: list[str] = []
    advice: list[str] = []


class CheckSummary(Struct, frozen=True):
    """The figures of a check."""

    files: int
    failed: int
    errors: int
    advice: int


def gather(roots: Iterable[Path]) -> list[Path]:
    """Return the files to check: those named, and all of the folders named."""
    files: list[Path] = []
    for root in roots:
        if root.is_dir():
            every = sorted(root.rglob("*.json"))
            files += [p for p in every if p.name not in STATE and not p.name.startswith(".")]
        else:
            files.append(root)
    return list(dict.fromkeys(files))


def check(path: Path) -> CheckedFile:
    """Check one file."""
    state = read_file(path)
    if state is None:
        return CheckedFile(str(path), errors=["there is no such file"])
    if state.definition is None:
        errors = [f"{problem.text}; {problem.hint}" for problem in state.problems]
        return CheckedFile(str(path), errors=errors)
    name = state.definition.name
    named = [] if path.stem == name else ["the file is not named after it"]
    advice = [*advise(state.definition), *named, *_complaints(path)]
    return CheckedFile(str(path), name, advice=advice)


def summarise_check(results: list[CheckedFile], *, strict: bool) -> CheckSummary:
    """Count what was checked; if `strict`, a file with advice has failed."""
    return CheckSummary(
        files=len(results),
        failed=sum(bool(result.errors or (strict and result.advice)) for result in results),
        errors=sum(len(result.errors) for result in results),
        advice=sum(len(result.advice) for result in results),
    )


def _complaints(path: Path) -> list[str]:
    """Name what does not follow the schema, and keys that stand there twice."""
    import jsonschema_rs

    try:
        document = parse(read_bounded(path))
    except (ConfigError, FileNotFoundError):
        return ["it has more in it than we can change"]
    twice = [f"'{member.key}' stands there twice" for member in document.duplicates[:COMPLAINTS]]
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text("utf-8")))
    plain = document.root.plain() if document.root else None
    complaints = []
    for error in list(validator.iter_errors(plain))[:COMPLAINTS]:
        where = ".".join(str(part) for part in error.instance_path)
        complaints.append(f"{where or 'the file'}: {error.message[:200]}")
    return twice + complaints
