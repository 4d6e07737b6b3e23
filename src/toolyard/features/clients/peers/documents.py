"""Files of other hubs as plain values: JSON, JSON with comments, JSON5, or YAML.

Numbers in YAML stay as they are written: a version `1.10` is not `1.1`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.jsontypes import JsonObject
from toolyard.records.files import read_bounded
from toolyard.records.jsonc import JsoncError, parse

LARGEST: Final = 8 * 1024 * 1024
"""Bytes; the largest catalog that a peer publishes has a quarter of it."""
_OUTSIDE: Final = re.compile(
    r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|//[^\r\n]*+|/\*.*?\*/|[\t:]""", re.DOTALL
)
_YAML_NAMES: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class PeerDocument:
    """One file of a hub, and what stands in it."""

    path: Path
    value: JsonObject

    def beside(self, name: str) -> JsonObject:
        """Return what stands in another file of the same hub; nothing if there is none.

        Raises:
            ConfigError: It cannot be read.
        """
        path = self.path.parent / name
        return read_document(path).value if path.is_file() else {}


def read_document(path: Path) -> PeerDocument:
    """Read a file of another hub.

    Raises:
        ConfigError: There is none, or it cannot be read.
    """
    try:
        data = read_bounded(path, LARGEST)
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file '{path}'", "check the path") from error
    except (OSError, StoreError) as error:
        raise ConfigError(f"'{path}' cannot be read: {error}", "check the file") from error
    try:
        value = _value(data, is_yaml=path.suffix.lower() in _YAML_NAMES)
    except ConfigError as error:
        raise ConfigError(f"'{path}' cannot be read: {error}", error.hint) from error
    if not isinstance(value, dict):
        raise ConfigError(f"'{path}' holds no object", "name the hub's own file")
    return PeerDocument(path, value)


def _value(data: bytes, *, is_yaml: bool) -> object:
    text = data.decode("utf-8-sig", "replace")
    if is_yaml:
        return _load_yaml(text)
    try:
        root = parse(data).root
    except JsoncError:
        # JSON5 is what YAML calls a flow, but for its comments, tabs and single quotes.
        if not text.lstrip().startswith(("{", "/")):
            raise
        try:
            return _load_yaml(_OUTSIDE.sub(_as_flow, text))
        except ConfigError:
            pass
        raise
    return root.plain() if root else {}


def _as_flow(match: re.Match[str]) -> str:
    word = match[0]
    if word in ("\t", ":"):
        return " " if word == "\t" else ": "
    if word.startswith("/"):
        return ""
    if word.startswith("'"):
        return json.dumps(word[1:-1].replace("\\'", "'"))
    return word


def _load_yaml(text: str) -> object:
    import yaml  # type: ignore[import-untyped]

    loader = _loader_class(yaml)(text)
    try:
        value: object = loader.get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it is not valid YAML"
        raise ConfigError(f"{problem}{where}", "correct the file") from error
    except (RecursionError, ValueError) as error:
        raise ConfigError("it is no YAML of a usual form", "correct the file") from error
    finally:
        loader.dispose()
    return value


def _loader_class(yaml: Any) -> Any:
    """A safe loader that knows truth values and nothing, and leaves all other words as text."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    kept = {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"}
    resolvers = {
        first: [(tag, pattern) for tag, pattern in pairs if tag in kept]
        for first, pairs in base.yaml_implicit_resolvers.items()
    }
    return type("PlainLoader", (base,), {"yaml_implicit_resolvers": resolvers})
