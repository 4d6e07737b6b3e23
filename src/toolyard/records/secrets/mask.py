"""Secrets that this process has seen, so that nothing it writes for people shows them.

Whoever resolves a secret adds it here; whoever writes a log, or the last words of a server, hides
them. There is one mask for the process, because there is one set of logs.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
import threading
import traceback
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from toolyard.core.model import Command, Endpoint
from toolyard.records.secrets.readable_names import is_readable_name
from toolyard.records.secrets.token_shapes import is_marked_token

HIDDEN: Final = "[secret]"
SHORTEST: Final = 6
"""Characters; hiding shorter ones would make logs unreadable, and they protect nothing."""
LINE_SHORTEST: Final = 16
SECRETS_LIMIT: Final = 2_000
"""Beyond this many the oldest are forgotten: tokens are renewed for as long as a hub runs."""
_HEAD: Final = 4
NAMES: Final = (
    *("accesskey", "apikey", "auth", "cookie", "credential", "passphrase", "passwd"),
    *("password", "privatekey", "pwd", "secret", "token"),
)
"""Parts of the names under which secrets are passed, without case, `_` and `-`."""
_REFERENCE: Final = re.compile(r"(?:[A-Za-z]+ )?\$\{(?:(?!:-)[^}])+\}")
_LETTER: Final = r"""\$\{[^}\s]{0,200}\}|(?!\$\{)[^\s/?#"'"""
"""One of an address, where a reference counts as one; it has one reading only, or matching takes
for ever."""
USERINFO: Final = re.compile(f"(://(?:{_LETTER}:@])*):((?:{_LETTER}])+)@")
"""An address with a password: what stands before it, and the password."""
_ESCAPED: Final = re.compile("%[0-9A-F]{2}")
_OF_PAGES: Final = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "&<>"})
PARAMETER: Final = re.compile(r"""([?&;]([\w.~-]+)=)([^\s&;\#"'<>]+)""")


@dataclass(frozen=True, slots=True)
class _Forms:
    """All forms of all secrets, in the orders in which they are looked for."""

    texts: tuple[str, ...] = ()
    """The longest first: what is left of a long one, when a part of it went, tells too much."""
    raw: tuple[bytes, ...] = ()
    ordered: tuple[bytes, ...] = ()
    heads: frozenset[bytes] = frozenset()
    """The first bytes of each, to see quickly where none begins."""

    @classmethod
    def of(cls, forms: Iterable[str]) -> _Forms:
        texts = tuple(sorted(dict.fromkeys(forms), key=len, reverse=True))
        raw = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
        return cls(texts, raw, tuple(sorted(raw)), frozenset(form[:_HEAD] for form in raw))

    def begin_with(self, start: bytes) -> bool:
        """Tell whether a form begins with this and goes on."""
        at = bisect_right(self.ordered, start)
        return at < len(self.ordered) and self.ordered[at].startswith(start)


class Mask:
    """Knows secrets in every form they are written in, and hides them.

    Secrets are resolved in threads, too: a keyring may wait for its user.
    """

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._lasting: dict[str, tuple[str, ...]] = {}
        self._renewed: dict[str, tuple[str, ...]] = {}
        self._forms: _Forms | None = _Forms()

    def __bool__(self) -> bool:
        return bool(self._lasting or self._renewed)

    def add(self, secret: str, *, renewed: bool = False) -> None:
        """Hide this from now on, however it is encoded.

        Args:
            renewed: Another one comes in its place before long. Such secrets are forgotten apart:
                however many come, those of servers that have run for weeks stay hidden.
        """
        secret = secret.strip()
        if len(secret) < SHORTEST:
            return
        with self._adding:
            secrets = self._renewed if renewed else self._lasting
            forms = secrets.pop(secret, None)  # it is the newest now
            if forms is None:
                forms = _all_forms(secret)
                self._forms = None
            secrets[secret] = forms
            if len(secrets) > SECRETS_LIMIT:
                del secrets[next(iter(secrets))]

    def hide(self, text: str) -> str:
        """The text without any secret."""
        for form in self._known_forms().texts:
            if form in text:
                # A secret may be part of the mark that stands for secrets.
                pieces = text.split(HIDDEN) if form in HIDDEN else [text]
                text = HIDDEN.join(piece.replace(form, HIDDEN) for piece in pieces)
        return text

    def hide_bytes(self, text: bytes) -> bytes:
        """The same for text that was not decoded yet."""
        mark = HIDDEN.encode()
        for form in self._known_forms().raw:
            if form in text:
                pieces = text.split(mark) if form in mark else [text]
                text = mark.join(piece.replace(form, mark) for piece in pieces)
        return text

    def begun(self, text: bytes) -> int:
        """Return how many bytes at the end of a text may be the beginning of a secret."""
        forms = self._known_forms()
        if not forms.raw:
            return 0
        end = len(text)
        for start in range(max(0, end - len(forms.raw[0]) + 1), end):
            if start <= end - _HEAD and text[start : start + _HEAD] not in forms.heads:
                continue
            if forms.begin_with(text[start:]):
                return end - start
        return 0

    def is_cut(self, text: bytes, at: int) -> bool:
        """Tell whether a secret stands on both sides of a place in a text."""
        return any(
            form in text[max(0, at - len(form) + 1) : at + len(form) - 1]
            for form in self._known_forms().raw
        )

    def _known_forms(self) -> _Forms:
        forms = self._forms
        if forms is None:
            with self._adding:
                secrets = (*self._lasting.values(), *self._renewed.values())
                forms = self._forms = _Forms.of(form for texts in secrets for form in texts)
        return forms


class Veil:
    """Hides secrets in a stream; what may be the beginning of one waits for the rest of it."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._rest = b""

    def add(self, chunk: bytes) -> bytes:
        """Return what can be shown now."""
        text = self._rest + chunk
        end = len(text) - self._mask.begun(text)
        if end < len(text) and self._mask.is_cut(text, end):
            # What begins inside a whole secret is the end of that one before all else.
            text = self._mask.hide_bytes(text)
            end = len(text) - self._mask.begun(text)
        self._rest = text[end:]
        return self._mask.hide_bytes(text[:end])

    def end(self) -> bytes:
        """Return what waited, when no more is to come; most of a secret tells too much, too."""
        rest, self._rest = self._rest, b""
        return rest if len(rest) < SHORTEST else HIDDEN.encode()


MASK: Final = Mask()
"""The secrets that this process must not show."""


def learn(endpoint: Endpoint, mask: Mask = MASK) -> None:
    """Add what an expanded endpoint holds under names that secrets have, or looks like one."""
    if isinstance(endpoint, Command):
        pairs = [*endpoint.env, *_flags(endpoint.argv), *(("", word) for word in endpoint.argv)]
    else:
        pairs = [*endpoint.headers, ("", endpoint.url)]
    for name, value in pairs:
        if is_secret_name(name) or looks_random(value):
            mask.add(value)
            # `Bearer x`, `session=x; other=y`: the parts alone are secret too.
            for part in value.replace(";", " ").split():
                mask.add(part.partition("=")[2] or part)
        if "://" in value:
            for secret in _in_address(value):
                mask.add(secret)


def is_secret_name(name: str) -> bool:
    """Tell whether a secret is likely to stand under this name."""
    plain = name.lower().replace("_", "").replace("-", "")
    return any(part in plain for part in NAMES) or plain in ("key", "pat") or plain.endswith("key")


def looks_random(value: str) -> bool:
    """Tell whether a value is more likely a key than a name, a path or an address."""
    if is_marked_token(value):
        return True
    kinds = (any(map(str.isdigit, value)), any(map(str.isalpha, value)))
    plain = not any(letter.isspace() or letter in "\\,{" for letter in value)
    if len(value) < 16 or not all(kinds) or not plain or value[0] in "/~." or "://" in value:
        return False
    return not is_readable_name(value)


def is_reference(value: str) -> bool:
    """Tell whether it is one reference without a default, perhaps after a word such as `Bearer`."""
    return _REFERENCE.fullmatch(value.strip()) is not None


def hide_in_addresses(text: str) -> str:
    """The text without passwords and keys in the addresses in it; references stay."""
    text = USERINFO.sub(
        lambda match: match[0] if is_reference(match[2]) else f"{match[1]}:{HIDDEN}@", text
    )
    return PARAMETER.sub(
        lambda match: (
            f"{match[1]}{HIDDEN}"
            if is_secret_name(match[2]) and not is_reference(match[3])
            else match[0]
        ),
        text,
    )


def hide_in_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command without what is passed under names that secrets have."""
    shown: list[str] = []
    flag = ""
    for word in words:
        shown.append(_hidden_word(word, flag))
        flag = word if word.startswith("-") and "=" not in word else ""
    return tuple(shown)


def _hidden_word(word: str, flag: str) -> str:
    """One word; `flag` is the one before it that may take it as its value."""
    if is_reference(word):
        return word
    if flag and is_secret_name(flag) and not word.startswith("--"):
        return HIDDEN
    for mark in ("=", ": "):
        name, separator, value = word.partition(mark)
        is_name = bool(separator) and "/" not in name
        if is_name and is_secret_name(name) and not is_reference(value):
            return f"{name}{mark}{HIDDEN}"
    return hide_in_addresses(word)


class Masked(logging.Filter):
    """Hides secrets in every record of a handler, also in its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; it is always let through."""
        if not MASK:
            return True
        try:
            text = record.getMessage()
        except Exception:  # a wrong number of arguments: logging itself says so
            return True
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        if record.exc_text:
            record.exc_text = MASK.hide(record.exc_text)
        record.msg, record.args = MASK.hide(text), ()
        return True


def install() -> None:
    """Hide secrets in what every handler of the root logger writes, and in the last traceback."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(Masked())
    sys.excepthook = _hook


def _hook(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None = None
) -> None:
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(MASK.hide(text))


def _all_forms(secret: str) -> tuple[str, ...]:
    """Return what a secret may be written as: whole, or one of its longer lines alone."""
    lines = secret.splitlines()
    texts = {secret, "\n".join(lines), *(line for line in lines if len(line) >= LINE_SHORTEST)}
    return tuple(dict.fromkeys(form for text in texts for form in _forms(text)))


def _forms(secret: str) -> Iterator[str]:
    yield secret
    # As Python, browsers and Node write addresses; some write their hexadecimal digits small.
    for address in (
        *(quote(secret, safe=safe) for safe in ("", "/", "!'()*", "!'()*;,/?:@&=+$#")),
        quote_plus(secret),
    ):
        yield address
        yield _ESCAPED.sub(lambda escape: escape[0].lower(), address)
    for is_ascii in (True, False):
        text = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        yield text
        yield text.replace("/", "\\/")
        # Go writes what could end a script of a page as numbers.
        yield text.translate(_OF_PAGES)
    yield repr(secret)[1:-1]
    raw = secret.encode("utf-8", "surrogatepass")
    for before in range(3):
        yield from _in_base64(raw, before)


def _in_base64(raw: bytes, before: int) -> Iterator[str]:
    """Return its base64 after so many other bytes, without the characters these touch."""
    start = (0, 2, 3)[before]
    end = (before + len(raw)) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(bytes(before) + raw).decode()[start:end]
        if len(text) >= SHORTEST:
            yield text


def _flags(argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """`--token x`, `--token=x`, `TOKEN=x` and `Authorization: x` as pairs."""
    for word, following in zip(argv, (*argv[1:], ""), strict=True):
        name, mark, value = word.partition("=")
        header, colon, rest = word.partition(": ")
        if word.startswith("-"):
            yield name, value if mark else following
        elif colon:
            yield header, rest
        elif mark:
            yield name, value


def _in_address(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield unquote(parts.password or "")
    for name, value in parse_qsl(parts.query):
        if is_secret_name(name) or looks_random(value):
            yield value
