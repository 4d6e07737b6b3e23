"""Profiles as they are written down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.errors import ConfigError
from toolyard.core.names import LONGEST, SEPARATORS
from toolyard.core.profiles import Pairs, Profile

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NAME_HINT: Final = "use 1 to 64 letters, digits, '_', '.' or '-', not beginning with '.' or '-'"
EXPOSES: Final = ("all", "search")
MOST: Final = 1000
"""Patterns or changes in one list; whoever needs more wants another pattern."""
LONGEST_TEXT: Final = 10_000
_TOOL: Final = re.compile(r"[A-Za-z0-9_./-]+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LISTS: Final = ("allow", "hide", "pin")
_TABLES: Final = ("rename", "describe", "environment")


Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Pattern = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
Patterns = Annotated[list[Pattern], Meta(max_length=MOST)]


class ProfileSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How tools are shown within a profile, if not as usual."""

    separator: Literal["__", ".", "/"] | UnsetType = UNSET
    expose: Literal["all", "search"] | UnsetType = UNSET


class ProfileFields(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tools a profile selects, and how it shows them."""

    title: Text = ""
    allow: Patterns = []
    hide: Patterns = []
    pin: Patterns = []
    rename: dict[str, str] = {}
    describe: dict[str, str] = {}
    environment: dict[str, str] = {}
    settings: ProfileSettings = ProfileSettings()


def check_profile_name(name: str) -> str:
    """Return the name if it can be one.

    Raises:
        ConfigError: It cannot.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name a profile", NAME_HINT)
    return name


def read_profile(name: str, fields: Any) -> Profile:
    """Make a profile of the fields of a file or a request.

    Raises:
        ConfigError: It cannot be used. A key that is not known is refused too: a `hide` that is
            misspelt would show what was to be hidden.
    """
    check_profile_name(name)
    if not isinstance(fields, Mapping):
        raise ConfigError("a profile is a JSON object", 'write it as {"allow": ["git"]}')
    names = ("title", *_LISTS, *_TABLES, "settings")
    for key in fields:
        if key not in names:
            raise ConfigError(f"there is no '{key}' in a profile", f"there are: {', '.join(names)}")
    allow, hide, pin = (_read_list(key, fields.get(key, [])) for key in _LISTS)
    rename, describe, environment = (_read_table(key, fields.get(key, {})) for key in _TABLES)
    _check_names(rename)
    _check_variables(environment)
    settings = _read_settings(fields.get("settings", {}))
    title = fields.get("title", "")
    if not isinstance(title, str) or len(title) > LONGEST_TEXT:
        raise ConfigError("'title' must be a short text")
    return Profile(name, title, allow, hide, pin, rename, describe, environment, *settings)


def write_profile(profile: Profile) -> ProfileFields:
    """Return the fields of a profile; `read_profile` reads them back."""
    settings = {"separator": profile.separator, "expose": profile.expose}
    chosen = {key: value for key, value in settings.items() if value is not None}
    return ProfileFields(
        title=profile.title,
        allow=list(profile.allow),
        hide=list(profile.hide),
        pin=list(profile.pin),
        rename=dict(profile.rename),
        describe=dict(profile.describe),
        environment=dict(profile.environment),
        settings=msgspec.convert(chosen, ProfileSettings),
    )


def plain_fields(profile: Profile) -> dict[str, object]:
    """Return the fields that a profile sets, as its file has them."""
    fields = msgspec.to_builtins(write_profile(profile))
    return {key: value for key, value in fields.items() if value}


def _read_list(key: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"'{key}' must be a list of names", f'write it as "{key}": ["git/log"]')
    _check_bounds(key, names)
    return tuple(dict.fromkeys(names))


def _read_table(key: str, table: Any) -> Pairs:
    texts = table.items() if isinstance(table, Mapping) else [("", "")]
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
    names = [name for _, name in rename]
    for name in names:
        if len(name) > LONGEST or not _TOOL.fullmatch(name):
            hint = f"use at most {LONGEST} letters, digits, '_' or '-'"
            raise ConfigError(f"{name[:80]!r} cannot name a tool", hint)
        if name.startswith("toolyard_"):
            raise ConfigError(f"{name!r} would look like a tool of the hub's own", "choose another")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two tools would be called {twice[0]!r}", "choose another for one")


def _read_settings(settings: Any) -> tuple[str | None, str | None]:
    if not isinstance(settings, Mapping) or set(settings) - {"separator", "expose"}:
        raise ConfigError("'settings' holds 'separator' and 'expose', and nothing else")
    separator, expose = settings.get("separator"), settings.get("expose")
    if separator is not None and separator not in SEPARATORS[:-1]:
        raise ConfigError(f"'separator' is {separator!r}", "allowed is one of __, ., /")
    if expose is not None and expose not in EXPOSES:
        raise ConfigError(f"'expose' is {expose!r}", "allowed is one of all, search")
    return separator, expose
