"""An entry of the servers file as it may be shown, edited and sent back, without its secrets."""

from __future__ import annotations

from typing import Any, Final

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.records.secrets.mask import (
    HIDDEN,
    hide_in_addresses,
    hide_in_words,
    is_reference,
    is_secret_name,
)
from toolyard.records.secrets.plain_secrets import is_plain_setting

VARIABLES: Final = ("env", "environment")
"""Of these, every value is hidden that is neither a reference nor plainly a setting."""
HEADERS: Final = "headers"
"""Of these, every value is hidden that is no reference: any of them may be a secret."""


def hide_entry(entry: JsonObject) -> JsonObject:
    """Return the entry with `[secret]` in place of whatever may be one."""
    return {key: _hide(key, value) for key, value in entry.items()}


def fill_entry(entry: JsonObject, before: JsonObject) -> JsonObject:
    """Return the entry with what was hidden of `before` back in its place.

    Raises:
        ConfigError: `before` has nothing to put where it says `[secret]`.
    """
    return {
        key: _fill(key, value, _hide(key, before.get(key)), before.get(key))
        for key, value in entry.items()
    }


def _hide(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        hide = _hide_variable if name in VARIABLES else _hide_header if name == HEADERS else _hide
        return {key: hide(key, member) for key, member in value.items()}
    if isinstance(value, list):
        return _hide_list(name, value)
    if not isinstance(value, str) or is_reference(value):
        return value
    return HIDDEN if value and is_secret_name(name) else hide_in_addresses(value)


def _hide_variable(name: str, value: Any) -> Any:
    is_plain = isinstance(value, str) and is_plain_setting(name, value)
    return value if is_plain else _hide_header(name, value)


def _hide_header(name: str, value: Any) -> Any:
    return value if is_reference(str(value)) else HIDDEN


def _hide_list(name: str, items: list[Any]) -> list[Any]:
    """The items of a list; those of a command may be secrets for the flag before them."""
    words = [str(item) for item in items]
    return [
        _hide(name, item) if isinstance(item, dict | list) else (item if shown == word else shown)
        for item, word, shown in zip(items, words, hide_in_words(words), strict=True)
    ]


def _fill(name: str, value: Any, hidden: Any, before: Any) -> Any:
    """The value with the secrets of `before`, of which `hidden` is the form that was shown."""
    if isinstance(value, dict):
        old_hidden = hidden if isinstance(hidden, dict) else {}
        old = before if isinstance(before, dict) else {}
        return {
            key: _fill(key, member, old_hidden.get(key), old.get(key))
            for key, member in value.items()
        }
    if isinstance(value, list):
        return _fill_list(name, value, hidden, before)
    if not isinstance(value, str) or HIDDEN not in value:
        return value
    if value == hidden:
        return before
    raise _nothing_hidden(name)


def _fill_list(name: str, items: list[Any], hidden: Any, before: Any) -> list[Any]:
    """The items, which may have moved: a secret is known by how it was shown, and its flag."""
    old = before if isinstance(before, list) else []
    shown = hidden if isinstance(hidden, list) else []
    secrets = {_place(shown, at): old[at] for at in range(len(old))}
    filled: list[Any] = []
    for at, item in enumerate(items):
        is_hidden = isinstance(item, str) and HIDDEN in item
        if is_hidden and _place(items, at) not in secrets:
            raise _nothing_hidden(name)
        filled.append(secrets[_place(items, at)] if is_hidden else item)
    return filled


def _place(items: list[Any], at: int) -> tuple[str, str]:
    """An item, and the flag before it where the item itself says nothing."""
    return (str(items[at - 1]) if at and items[at] == HIDDEN else "", str(items[at]))


def _nothing_hidden(name: str) -> ConfigError:
    return ConfigError(f"'{name}' has no hidden value to keep", "write the value itself")
