"""YAML as JSON with fewer quotes: no anchors, no tags, no surprises, and bounded.

A plain word is a number, `true`, `false` or `null` where JSON would have it so, and text
otherwise: `yes`, `1:30` and `010` stay what they are. PyYAML is loaded with the first document.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST: Final = 64
"""Levels of nesting; the schema of a tool has ten."""
WIDEST: Final = 1 << 30
"""Columns: a line is never folded, so that a changed word changes one line."""
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,99})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][-+]?[0-9]{1,3})?")


def read_yaml(text: str) -> Any:
    """Return what a YAML document says.

    Raises:
        ConfigError: It is none, or uses what JSON does not have; names the line.
    """
    import yaml  # type: ignore[import-untyped]

    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            reader.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it is not YAML"
        raise _fault(problem, mark) from error
    return reader.result


class _Reader:
    """Builds a value from the events of a parser."""

    def __init__(self) -> None:
        self.result: Any = None
        self._documents = 0
        self._open: list[JsonObject | list[Any]] = []
        self._keys: list[str | None] = []
        """The key that waits for its value, for each open container."""

    def take(self, event: Any) -> None:
        """Go on with the next event."""
        kind = type(event).__name__
        if getattr(event, "anchor", None):
            raise _fault("anchors and aliases are not taken", event.start_mark)
        if getattr(event, "tag", None) not in (None, "!"):
            raise _fault("tags are not taken", event.start_mark)
        if kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise _fault("it holds more than one document", event.start_mark)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin({} if kind == "MappingStartEvent" else [], event.start_mark)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._open.pop()
            self._keys.pop()
        elif kind == "ScalarEvent":
            self._scalar(event)

    def _begin(self, container: JsonObject | list[Any], mark: Any) -> None:
        if len(self._open) >= DEEPEST:
            raise _fault(f"it is nested more than {DEEPEST} levels deep", mark)
        self._add(container, mark)
        self._open.append(container)
        self._keys.append(None)

    def _scalar(self, event: Any) -> None:
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            if event.value in self._open[-1]:
                raise _fault(f"'{event.value[:80]}' stands there twice", event.start_mark)
            self._keys[-1] = event.value
            return
        is_plain = event.implicit[0] and not event.style
        self._add(_resolve(event.value) if is_plain else event.value, event.start_mark)

    def _add(self, value: Any, mark: Any) -> None:
        if not self._open:
            self.result = value
        elif isinstance(container := self._open[-1], list):
            container.append(value)
        elif (key := self._keys[-1]) is None:
            raise _fault("a key is not text", mark)
        else:
            container[key] = value
            self._keys[-1] = None


def _resolve(word: str) -> Any:
    """The value that a plain word stands for."""
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word


def _fault(text: str, mark: Any) -> ConfigError:
    where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return ConfigError(f"{text}{where}", "correct the document")


def write_yaml(value: JsonObject) -> str:
    """Return a value as YAML that `read_yaml` reads back; members stay in their order."""
    import yaml

    text: str = yaml.dump(
        value,
        Dumper=_dumper(),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=WIDEST,
    )
    return text


@cache
def _dumper() -> Any:
    """A safe dumper that quotes every text which some reader takes for something else."""
    import yaml

    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("PlainDumper", (base,), {"ignore_aliases": lambda _dumper, _value: True})
    dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-0123456789"))
    dumper.add_representer(str, _represent)
    return dumper


def _represent(dumper: Any, text: str) -> Any:
    """A text of several lines as a block, so that a changed line is one changed line."""
    style = "|" if "\n" in text and all(_fits_block(text)) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _fits_block(text: str) -> Iterator[bool]:
    """Return of each line whether a block keeps it as it is."""
    return (line.isprintable() and line == line.strip() for line in text.split("\n"))
