"""Checks files of definitions, wherever they are, and says all that is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from toolyard.core.advice import advise
from toolyard.core.errors import ConfigError
from toolyard.records.files import read_bounded
from toolyard.records.jsonc import parse
from toolyard.stores.definitions import read_file
from toolyard.stores.stock import SCHEMA

COMPLAINTS: Final = 20
"""Who has more mistakes than that mends these first."""
STATE: Final = frozenset({"added.json", "shipped.json", "schema.json"})
"""Files of the catalog that define nothing."""


def gather(roots: Iterable[Path]) -> list[Path]:
    """Give the files to check: those named, and all of the folders named."""
    found: list[Path] = []
    for root in roots:
        if root.is_dir():
            every = sorted(root.rglob("*.json"))
            found += [p for p in every if p.name not in STATE and not p.name.startswith(".")]
        else:
            found.append(root)
    return list(dict.fromkeys(found))


def check(path: Path) -> dict[str, Any]:
    """Check one file: its errors, for which it cannot be used, and advice."""
    state = read_file(path)
    result: dict[str, Any] = {"file": str(path), "name": "", "errors": [], "advice": []}
    if state is None:
        result["errors"] = ["there is no such file"]
    elif state.definition is None:
        result["errors"] = [f"{each.text}; {each.hint}" for each in state.problems]
    else:
        result["name"] = state.definition.name
        named = [] if path.stem == state.definition.name else ["the file is not named after it"]
        result["advice"] = [*advise(state.definition), *named, *_complaints(path)]
    return result


def _complaints(path: Path) -> list[str]:
    """What does not follow the schema, and keys that stand there twice."""
    import jsonschema_rs

    try:
        document = parse(read_bounded(path))
    except (ConfigError, FileNotFoundError):
        return ["it has more in it than we can change"]
    twice = [f"'{each.key}' stands there twice" for each in document.duplicates[:COMPLAINTS]]
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text("utf-8")))
    plain = document.root.plain() if document.root else None
    told = []
    for error in list(validator.iter_errors(plain))[:COMPLAINTS]:
        where = ".".join(str(part) for part in error.instance_path)
        told.append(f"{where or 'the file'}: {error.message[:200]}")
    return twice + told
