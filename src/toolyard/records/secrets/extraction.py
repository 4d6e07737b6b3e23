"""Takes secrets out of an endpoint: each is replaced by whatever stands for it.

Told by the name they stand under, by the place in an address (`user:password@`, `?api_key=`), or by
their look. References stay, and so does a text that is partly a reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from toolyard.core.endpoint import change_client, client_texts
from toolyard.core.model import Command, Endpoint, Pairs
from toolyard.records.secrets.mask import (
    PARAMETER,
    USERINFO,
    is_reference,
    is_secret_name,
)
from toolyard.records.secrets.plain_secrets import PACKAGE
from toolyard.records.secrets.readable_names import CHECKSUM
from toolyard.records.secrets.token_shapes import MARKED_TOKEN, is_opaque

StandIn = Callable[[str, str], str]
"""Gives the text that stands for a secret, by the name it stood under and its value."""

_SCHEME: Final = re.compile(r"((?:Bearer|Basic|Token|ApiKey)\s+)(\S.*)", re.IGNORECASE | re.DOTALL)
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{")
_KEPT: Final = re.compile(rf"((?<!\$)\$\{{[^}}]*\}}|{CHECKSUM})")
"""The parts of a text that are no secret, whatever they look like."""
_SETTING: Final = re.compile(r"true|false|yes|no|on|off|none|null|auto|default", re.IGNORECASE)
_PATH: Final = re.compile(r"~?/|\.{1,2}/|[A-Za-z]:[\\/]")
_ABOUT: Final = re.compile(
    r"(?:path|file|dir|folder|url|uri|host|type|mode|method|limit|size|count|name|id|user|timeout"
    r"|ttl|expiry|budget|scopes?|provider)s?",
    re.IGNORECASE,
)
"""The last word of names such as `TOKEN_FILE`, which tell something about a secret."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
INPUT: Final = re.compile(r"(?<!\$)\$\{input:([^}]+)\}")
"""A reference for which an editor asks its user."""


@dataclass(frozen=True, slots=True)
class _Taker:
    """One way through an endpoint."""

    stand_in: StandIn

    def pairs(self, pairs: Pairs) -> Pairs:
        return tuple((name, self.text(name, value)) for name, value in pairs)

    def words(self, words: tuple[str, ...]) -> Iterator[str]:
        flag = ""
        for word in words:
            yield self._word(word, flag)
            flag = word if word.startswith("-") and "=" not in word else ""

    def json(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(name, value)
        if isinstance(value, dict):
            return {key: self.json(key, member) for key, member in value.items()}
        return self._items(name, value) if isinstance(value, list) else value

    def _items(self, name: str, items: list[Any]) -> list[Any]:
        """The items of a list; those of a command may be secrets for the flag before them."""
        words = tuple("" if isinstance(item, dict | list) else str(item) for item in items)
        return [
            self.json(name, item)
            if isinstance(item, dict | list)
            else (item if shown == word else shown)
            for item, word, shown in zip(items, words, self.words(words), strict=True)
        ]

    def text(self, name: str, text: str) -> str:
        """A text without its secrets; `name` is what it stands under."""
        if not text.strip() or is_reference(text):
            return text
        if _is_secret(name, text):
            scheme = _SCHEME.fullmatch(text)
            before, secret = (scheme[1], scheme[2]) if scheme else ("", text)
            return before + self.stand_in(name, secret)
        return self._parts(name, text)

    def _word(self, word: str, flag: str) -> str:
        if flag and is_secret_name(flag) and not word.startswith("-"):
            return self.text(flag.lstrip("-"), word)
        for mark in ("=", ": "):
            name, separator, value = word.partition(mark)
            if separator and "/" not in name and is_secret_name(name):
                return f"{name}{separator}{self.text(name.lstrip('-'), value)}"
        return self._parts("", word)

    def _parts(self, name: str, text: str) -> str:
        """A text in which secrets are parts: passwords of addresses, tokens among words."""
        text = USERINFO.sub(self._password, text)
        text = PARAMETER.sub(self._parameter, text)
        pieces = _KEPT.split(text)
        return "".join(
            piece if at % 2 else self._tokens(name, piece) for at, piece in enumerate(pieces)
        )

    def _password(self, match: re.Match[str]) -> str:
        user, password = match[1], match[2]
        if _REFERENCE.search(password):
            return match[0]
        return f"{user}:{self.stand_in('password', password)}@"

    def _parameter(self, match: re.Match[str]) -> str:
        start, name, value = match[1], match[2], match[3]
        if _REFERENCE.search(value) or not _is_secret(name, value):
            return match[0]
        return start + self.stand_in(name, value)

    def _tokens(self, name: str, text: str) -> str:
        text = MARKED_TOKEN.sub(lambda match: self.stand_in(name or "token", match[0]), text)
        if "${" in text:
            return text
        words = re.split(r"([/\s=:,&?]+)", text) if "://" in text or not name else [text]
        return "".join(
            self.stand_in(name or "key", word) if is_opaque(word) else word for word in words
        )


def take_secrets(endpoint: Endpoint, stand_in: StandIn) -> Endpoint:
    """Return the endpoint with `stand_in` in place of every secret that is plain in it."""
    taker = _Taker(stand_in)
    if isinstance(endpoint, Command):
        program, *words = endpoint.argv
        argv = (program, *taker.words(tuple(words)))
        return replace(endpoint, argv=argv, env=taker.pairs(endpoint.env))
    url = taker.text("", endpoint.url)
    taken = dict(taker.pairs(client_texts(endpoint.auth)))
    client = change_client(endpoint.auth, lambda name, _text: taken[name])
    return replace(endpoint, url=url, headers=taker.pairs(endpoint.headers), auth=client)


def take_from_json(value: Any, stand_in: StandIn, name: str = "") -> Any:
    """Return JSON with `stand_in` in place of every secret that is plain in it.

    `name` is what all of it stands under.
    """
    return _Taker(stand_in).json(name, value)


def _is_secret(name: str, text: str) -> bool:
    """Tell whether all of a text is a secret, by the name it stands under."""
    if not is_secret_name(name) or _REFERENCE.search(text) or "://" in text:
        return False
    if _SETTING.fullmatch(text) or _PATH.match(text) or PACKAGE.fullmatch(text):
        return False
    words = _WORDS.findall(name)
    return not (words and _ABOUT.fullmatch(words[-1]))
