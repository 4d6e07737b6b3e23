"""Secrets in plain text where a reference could stand: found, and kept out of what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolyard.core.endpoint import RegisteredClient, change_client, client_texts
from toolyard.core.model import Command, Endpoint, Pairs, Url
from toolyard.records.secrets.mask import (
    HIDDEN,
    Mask,
    hide_in_addresses,
    hide_in_words,
    is_reference,
    is_secret_name,
    learn,
    looks_random,
)

PACKAGE: Final = re.compile(r"@[\w.-]+/[\w.-]+(?:@[\w.^~-]+)?|[\w.-]+(?:==|@)\d[\w.-]*")
"""With a scope or a version, which no key has."""
_SWITCH: Final = re.compile(r"true|false|yes|no|on|off|[0-9]{1,5}", re.IGNORECASE)
_SETTING: Final = re.compile(
    "(?:.*_)?(?:MODE|LEVEL|ENV|REGION|LANG|LOCALE|TZ|PORT|HOST|TIMEOUT|DIR|FOLDER|PATH|FORMAT)"
)
_DOUBTFUL: Final = ("PASS", "PIN", "OTP", "CODE", "SALT", "SEED")
"""Parts of names under which even a number may be a secret."""


def is_plain_secret(name: str, value: str) -> bool:
    """Tell whether a value under this name is likely to be a secret, and no reference to one."""
    if not value.strip() or is_reference(value):
        return False
    return is_secret_name(name) or looks_random(value)


def is_plain_setting(name: str, value: str) -> bool:
    """Tell whether a variable is plainly no secret: a switch, a number, or named as settings are.

    Where there is doubt it is not, because any word may be a password.
    """
    if is_plain_secret(name, value) or any(part in name.upper() for part in _DOUBTFUL):
        return False
    if not value or _SWITCH.fullmatch(value):
        return True
    parts = re.split(r"[/\\:;,\s]", value)
    is_doubtful = any(mark in value for mark in "@?&=") or any(
        map(looks_random, filter(None, parts))
    )
    return not is_doubtful and _SETTING.fullmatch(name.upper()) is not None


def find_plain_secrets(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """Return the fields that hold a secret in plain text: `env` or `headers`, and the name."""
    field, pairs = (
        ("env", endpoint.env) if isinstance(endpoint, Command) else ("headers", endpoint.headers)
    )
    yield from ((field, name) for name, value in pairs if is_plain_secret(name, value))
    if isinstance(endpoint, Url):
        texts = client_texts(endpoint.auth)
        yield from (("auth", name) for name, value in texts if is_plain_secret(name, value))


def without_secrets(endpoint: Endpoint) -> Endpoint:
    """The endpoint as it may be shown: references stay, what looks like a secret does not."""
    mask = Mask()
    if isinstance(endpoint, Command):
        learn(replace(endpoint, env=()), mask)
        argv = tuple(_word(word, mask) for word in hide_in_words(endpoint.argv))
        return replace(endpoint, argv=argv, env=pairs_without_secrets(endpoint.env))
    learn(replace(endpoint, headers=()), mask)
    headers = pairs_without_secrets(endpoint.headers)
    url, client = mask.hide(hide_in_addresses(endpoint.url)), _without_proof(endpoint.auth)
    return replace(endpoint, url=url, headers=headers, auth=client)


def _without_proof(client: RegisteredClient | None) -> RegisteredClient | None:
    shown = dict(pairs_without_secrets(client_texts(client)))
    return change_client(client, lambda name, _text: shown[name])


def without_passwords(endpoint: Endpoint) -> Endpoint:
    """The endpoint with all its words, but for what is passed under the names of secrets.

    For people who are to judge it: a word that merely looks like a key may be what matters.
    """
    if isinstance(endpoint, Command):
        return replace(endpoint, argv=hide_in_words(endpoint.argv))
    return replace(endpoint, url=hide_in_addresses(endpoint.url))


def pairs_without_secrets(pairs: Pairs) -> Pairs:
    """Names and values, without values that look like secrets."""
    return tuple((k, HIDDEN if is_plain_secret(k, v) else v) for k, v in pairs)


def _word(word: str, mask: Mask) -> str:
    is_plain = is_reference(word.rpartition("=")[2]) or PACKAGE.fullmatch(word)
    return word if is_plain else mask.hide(word)
