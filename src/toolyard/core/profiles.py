"""Profiles: named selections of servers and tools, and how these are shown.

A pattern names a server (`git`, `git@configured`), one of its offers (`git/log`), or the name
clients see (`git__log`); `*`, `?` and `[…]` stand for any characters. What is hidden is hidden,
even where it is allowed too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.names import LONGEST, SEPARATORS, closest

Pairs = tuple[tuple[str, str], ...]

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NAME_HINT: Final = "use 1 to 64 letters, digits, '_', '.' or '-', not beginning with '.' or '-'"
EXPOSES: Final = ("all", "search")
MOST: Final = 1000
"""Patterns or changes in one list; who needs more wants another pattern."""
LONGEST_TEXT: Final = 10_000
_TOOL: Final = re.compile(r"[A-Za-z0-9_./-]+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LISTS: Final = ("allow", "hide", "pin")
_TABLES: Final = ("rename", "describe", "environment")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named selection of servers and tools."""

    name: str
    title: str = ""
    allow: tuple[str, ...] = ()
    """What may be seen; everything if empty."""
    hide: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()
    """Tools that are listed even with `search`."""
    rename: Pairs = ()
    describe: Pairs = ()
    environment: Pairs = field(default=(), repr=False)
    """Variables for programs, which then run for the clients of this profile alone."""
    separator: str | None = None
    expose: str | None = None

    def reaches(self, names: Iterable[str], separator: str) -> bool:
        """Whether anything of a server, known by these names, may be seen."""
        known = tuple(names)
        if _matches(self.hide, known):
            return False
        heads = (_head(pattern, separator) for pattern in self.allow)
        return not self.allow or any(_matches(head, known) for head in heads)

    def admits(self, names: Iterable[str], key: str, shown: str) -> bool:
        """Whether one offer of a server may be seen; `shown` is what clients would call it."""
        known = _spellings(names, key, shown)
        if _matches(self.hide, known):
            return False
        return not self.allow or _matches(self.allow, known)

    def pins(self, names: Iterable[str], key: str, shown: str) -> bool:
        """Whether a tool is listed even with `search`."""
        return _matches(self.pin, _spellings(names, key, shown))

    def renamed(self, names: Iterable[str], key: str, shown: str) -> str:
        """The name this profile gives a tool; empty if it gives none."""
        return _found(self.rename, _spellings(names, key, shown))

    def described(self, names: Iterable[str], key: str, shown: str) -> str:
        """The description this profile gives a tool; empty if it gives none."""
        return _found(self.describe, _spellings(names, key, shown))


def _head(pattern: str, separator: str) -> tuple[str, ...]:
    """What of a pattern may name the server."""
    heads = {pattern, pattern.partition("/")[0]}
    if separator:
        heads.add(pattern.partition(separator)[0])
    return tuple(heads)


def _spellings(names: Iterable[str], key: str, shown: str) -> tuple[str, ...]:
    known = tuple(names)
    return (*known, *(f"{name}/{key}" for name in known), shown)


def _matches(patterns: Iterable[str], texts: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns for text in texts)


def _found(pairs: Pairs, texts: tuple[str, ...]) -> str:
    return next((value for name, value in pairs if name in texts), "")


def unknown_profile(name: str, known: Iterable[str]) -> UnknownNameError:
    """The error that names the profiles there are."""
    names = list(known)
    near = closest(name, names) or names[:20]
    hint = f"there are: {', '.join(near)}" if names else "there are none; see: toolyard profile set"
    return UnknownNameError(f"unknown profile {name[:80]!r}", hint)


# How a profile is written down.


def check_profile_name(name: str) -> str:
    """Give the name if it can be one.

    Raises:
        ConfigError: It cannot.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name a profile", NAME_HINT)
    return name


def read_profile(name: str, said: Any) -> Profile:
    """Make a profile of what a file or a request says.

    Raises:
        ConfigError: It cannot be used. A key that is not known is refused too: a `hide` that is
            misspelt would show what was to be hidden.
    """
    check_profile_name(name)
    if not isinstance(said, Mapping):
        raise ConfigError("a profile is a JSON object", 'write it as {"allow": ["git"]}')
    known = ("title", *_LISTS, *_TABLES, "settings")
    for key in said:
        if key not in known:
            raise ConfigError(f"there is no '{key}' in a profile", f"there are: {', '.join(known)}")
    allow, hide, pin = (_read_list(key, said.get(key, [])) for key in _LISTS)
    rename, describe, environment = (_read_table(key, said.get(key, {})) for key in _TABLES)
    _check_names(rename)
    _check_variables(environment)
    settings = _read_settings(said.get("settings", {}))
    title = said.get("title", "")
    if not isinstance(title, str) or len(title) > LONGEST_TEXT:
        raise ConfigError("'title' must be a short text")
    return Profile(name, title, allow, hide, pin, rename, describe, environment, *settings)


def write_profile(profile: Profile) -> dict[str, Any]:
    """What a file says of a profile: only what it sets."""
    settings = {"separator": profile.separator, "expose": profile.expose}
    said: dict[str, Any] = {"title": profile.title}
    said |= {key: list(getattr(profile, key)) for key in _LISTS}
    said |= {key: dict(getattr(profile, key)) for key in _TABLES}
    said["settings"] = {key: value for key, value in settings.items() if value is not None}
    return {key: value for key, value in said.items() if value}


def _read_list(key: str, said: Any) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(isinstance(each, str) and each for each in said):
        raise ConfigError(f"'{key}' must be a list of names", f'write it as "{key}": ["git/log"]')
    _check_bounds(key, said)
    return tuple(dict.fromkeys(said))


def _read_table(key: str, said: Any) -> Pairs:
    texts = said.items() if isinstance(said, Mapping) else [("", "")]
    if not all(name and isinstance(name, str) and isinstance(v, str) for name, v in texts):
        raise ConfigError(
            f"'{key}' must be an object of texts", f'write it as "{key}": {{"git/log": "…"}}'
        )
    _check_bounds(key, [text for pair in texts for text in pair])
    return tuple((name, value) for name, value in texts)


def _check_bounds(key: str, texts: list[str]) -> None:
    if len(texts) > MOST:
        raise ConfigError(f"'{key}' has more than {MOST} texts", "use patterns such as 'git/*'")
    if any(len(text) > LONGEST_TEXT or "\0" in text for text in texts):
        raise ConfigError(
            f"a text in '{key}' is longer than {LONGEST_TEXT} characters or holds a NUL"
        )


def _check_variables(environment: Pairs) -> None:
    for variable, _ in environment:
        if not _VARIABLE.fullmatch(variable):
            raise ConfigError(f"{variable!r} cannot name a variable", "use letters, digits, '_'")


def _check_names(rename: Pairs) -> None:
    given = [name for _, name in rename]
    for name in given:
        if len(name) > LONGEST or not _TOOL.fullmatch(name):
            hint = f"use at most {LONGEST} letters, digits, '_' or '-'"
            raise ConfigError(f"{name[:80]!r} cannot name a tool", hint)
        if name.startswith("toolyard_"):
            raise ConfigError(f"{name!r} would look like a tool of the hub's own", "choose another")
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise ConfigError(f"two tools would be called {twice[0]!r}", "choose another for one")


def _read_settings(said: Any) -> tuple[str | None, str | None]:
    if not isinstance(said, Mapping) or set(said) - {"separator", "expose"}:
        raise ConfigError("'settings' holds 'separator' and 'expose', and nothing else")
    separator, expose = said.get("separator"), said.get("expose")
    if separator is not None and separator not in SEPARATORS[:-1]:
        raise ConfigError(f"'separator' is {separator!r}", "allowed is one of __, ., /")
    if expose is not None and expose not in EXPOSES:
        raise ConfigError(f"'expose' is {expose!r}", "allowed is one of all, search")
    return separator, expose
