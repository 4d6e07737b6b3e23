"""Secrets in clear text where a reference could stand: found, and kept out of what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolyard.core.model import Command, Endpoint, Pairs
from toolyard.stores.mask import HIDDEN, Mask, is_secret_name, learn, looks_random

_REFERENCE: Final = re.compile(r"(?:[A-Za-z]+ )?\$\{(?:(?!:-)[^}])+\}")
"""One reference without a default, perhaps after a word such as `Bearer`."""


def is_clear_secret(name: str, value: str) -> bool:
    """Whether a value under this name is likely to be a secret, and no reference to one."""
    if not value.strip() or _REFERENCE.fullmatch(value.strip()):
        return False
    return is_secret_name(name) or looks_random(value)


def clear_secrets(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """The fields of an endpoint that hold a secret in clear text: `env` or `headers`, and name."""
    field, pairs = (
        ("env", endpoint.env) if isinstance(endpoint, Command) else ("headers", endpoint.headers)
    )
    yield from ((field, name) for name, value in pairs if is_clear_secret(name, value))


def without_secrets(endpoint: Endpoint) -> Endpoint:
    """The endpoint as it may be shown: references stay, what looks like a secret does not."""
    mask = Mask()
    if isinstance(endpoint, Command):
        learn(replace(endpoint, env=()), mask)
        argv = tuple(_word(word, mask) for word in endpoint.argv)
        return replace(endpoint, argv=argv, env=pairs_without_secrets(endpoint.env))
    learn(replace(endpoint, headers=()), mask)
    headers = pairs_without_secrets(endpoint.headers)
    return replace(endpoint, url=mask.hide(endpoint.url), headers=headers)


def pairs_without_secrets(pairs: Pairs) -> Pairs:
    """Names and values, without values that look like secrets."""
    return tuple((k, HIDDEN if is_clear_secret(k, v) else v) for k, v in pairs)


def _word(word: str, mask: Mask) -> str:
    return word if _REFERENCE.fullmatch(word.rpartition("=")[2]) else mask.hide(word)
