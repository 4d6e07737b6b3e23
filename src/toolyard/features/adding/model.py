"""A server that somebody else described, and the values it still needs.

Its entry has a placeholder for each of these, such as `${input:token}`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.servers.reading import NAME
from toolyard.records.secrets.mask import is_reference

_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_TEXTS: Final = ("command", "url", "cwd")
_TABLES: Final = ("env", "headers")


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The numbers that a value can be."""

    least: float = -math.inf
    most: float = math.inf

    def __contains__(self, text: str) -> bool:
        """Tell whether a text is such a number."""
        try:
            number = float(text)
        except ValueError:
            return False
        return math.isfinite(number) and self.least <= number <= self.most

    def __str__(self) -> str:
        """Say it as people do."""
        least, most = f"{self.least:.15g}", f"{self.most:.15g}"
        if math.isfinite(self.least) and math.isfinite(self.most):
            return f"a number from {least} to {most}"
        if math.isfinite(self.least):
            return f"a number of at least {least}"
        return f"a number of at most {most}" if math.isfinite(self.most) else "a number"


@dataclass(frozen=True, slots=True)
class WantedValue:
    """A value that only the user knows."""

    key: str
    placeholder: str
    """The text that stands for it in the entry."""
    secret_name: str
    """The name under which it is kept, if it is a secret."""
    title: str = ""
    description: str = ""
    is_secret: bool = False
    is_required: bool = True
    is_list: bool = False
    is_path: bool = False
    """It names a file or a folder of this machine."""
    default: tuple[str, ...] = ()
    range: NumberRange | None = None
    """The numbers it can be; None if it is no number."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A server to add, before the person has said yes."""

    name: str
    entry: JsonObject
    wants: tuple[WantedValue, ...] = ()
    left_out: tuple[str, ...] = ()
    """Keys that mean nothing here."""

    def filled(self, values: Mapping[str, Sequence[str]]) -> JsonObject:
        """Return the entry with values in place of placeholders, by the keys of these.

        A list gives one argument for each of its members. An argument or variable that is nothing
        but a placeholder without a value is left out.
        """
        texts = {wanted.placeholder: values.get(wanted.key, ()) for wanted in self.wants}
        entry = dict(self.entry)
        for key in _TEXTS:
            if isinstance(entry.get(key), str):
                entry[key] = _fill(entry[key], texts)
        if isinstance(entry.get("args"), list):
            entry["args"] = [word for arg in entry["args"] for word in _words(str(arg), texts)]
        for key in _TABLES:
            if isinstance(entry.get(key), dict):
                entry[key] = {
                    name: _fill(str(text), texts)
                    for name, text in entry[key].items()
                    if texts.get(str(text), (text,))
                }
        return entry


def usable_name(name: str, default: str = "server") -> str:
    """Return a name that a server can have, as near to the given one as possible."""
    clean = _ODD.sub("-", name).strip("-.")[:64]
    return clean if NAME.fullmatch(clean) else default


def secret_name(server: str, key: str) -> str:
    """Return the name under which a value of a server is kept."""
    return _ODD.sub("-", f"{server}-{key}").strip("-.")[:64]


def literal(value: str) -> str:
    """Return a value as an entry has it: what is no reference must not look like one."""
    return value if is_reference(value) else value.replace("${", "$${")


def _words(text: str, texts: Mapping[str, Sequence[str]]) -> Iterable[str]:
    return texts[text] if text in texts else (_fill(text, texts),)


def _fill(text: str, texts: Mapping[str, Sequence[str]]) -> str:
    for placeholder, values in texts.items():
        text = text.replace(placeholder, ",".join(values))
    return text
