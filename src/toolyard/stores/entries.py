"""One entry of a servers file, in any spelling that clients use, read as an endpoint.

Accepted, beside unknown keys, which are left alone:

    command, args, env | environment, cwd    a process; `command` may be the whole array
    url | httpUrl | serverUrl, headers       an address
    type | transport                         stdio, local | http, streamable-http,
                                             streamable_http, streamableHttp, remote | sse
    enabled | disabled                       true or false
    timeout                                  seconds per call; 1000 and more are milliseconds
    title | description                      what people see
    found                                    executable and name of an adopted server
    executor                                 where a command runs: a name, or an object with bounds

A null counts as absent. Numbers and truth values in `args`, `env` and `headers` are taken as
they are written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command, Endpoint, Identity, Pairs, Url
from toolyard.core.sites import ANYWHERE, Placement, read_placement
from toolyard.core.transports import KEYS as TRANSPORT_KEYS
from toolyard.core.transports import Kind, read_kind
from toolyard.records.jsonc import Document, Member, Node

ENDPOINT_KEYS = (
    *(*TRANSPORT_KEYS, "command", "args", "env", "environment", "cwd"),
    *("url", "httpUrl", "serverUrl", "headers", "found", "executor"),
)
SWITCH_KEYS = ("enabled", "disabled")
TITLE_KEYS = ("title", "description")
URL_KEYS = ("httpUrl", "url", "serverUrl")
"""The first that is there counts: a client that knows `httpUrl` means it first."""

MILLISECONDS_FROM = 1000.0
"""Clients disagree on the unit; nobody waits 1000 seconds, and nobody only 1000 milliseconds or
less, for a call on purpose."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class EntryError(Exception):
    """An entry cannot be used; `offset` is where in the text."""

    def __init__(self, text: str, hint: str, offset: int) -> None:
        super().__init__(text)
        self.hint = hint
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says."""

    endpoint: Endpoint
    title: str
    enabled: bool
    timeout: float | None
    identity: Identity | None = None
    placement: Placement = ANYWHERE


def read_entry(document: Document, node: Node) -> Entry:
    """Read one entry.

    Raises:
        EntryError: It cannot be used.
    """
    if node.kind != "object":
        raise EntryError("it is not an object", 'write it as {"command": ...}', node.start)
    fields = _Fields(document, node)
    return Entry(
        endpoint=_endpoint(fields),
        title=next(filter(None, map(fields.text, TITLE_KEYS)), ""),
        enabled=fields.flag("enabled", True) and not fields.flag("disabled", False),
        timeout=_timeout(fields),
        identity=_identity(fields),
        placement=_placement(fields),
    )


class _Fields:
    """The members of an entry, read by type."""

    def __init__(self, document: Document, node: Node) -> None:
        self._document = document
        self.node = node

    def get(self, key: str) -> Node | None:
        member = self.node.member(key)
        return member.node if member and member.node.kind != "null" else None

    def inside(self, node: Node) -> _Fields:
        return _Fields(self._document, node)

    def text(self, key: str) -> str | None:
        node = self.get(key)
        if node is None:
            return None
        if not isinstance(node.scalar, str):
            raise EntryError(f"'{key}' is not text", "put it in double quotes", node.start)
        return node.scalar

    def flag(self, key: str, default: bool) -> bool:
        node = self.get(key)
        if node is None:
            return default
        if not isinstance(node.scalar, bool):
            raise EntryError(
                f"'{key}' is neither true nor false", "write true or false", node.start
            )
        return node.scalar

    def texts(self, key: str) -> tuple[str, ...]:
        node = self.get(key)
        if node is None:
            return ()
        if node.kind != "array":
            raise EntryError(f"'{key}' is not a list", 'write it as ["a", "b"]', node.start)
        return tuple(self._as_text(key, each) for each in node.items)

    def pairs(self, key: str) -> Pairs:
        node = self.get(key)
        if node is None:
            return ()
        if node.kind != "object":
            raise EntryError(f"'{key}' is not an object", 'write it as {"A": "b"}', node.start)
        found = {each.key: each for each in node.members}
        return tuple((name, self._as_text(key, each.node)) for name, each in found.items())

    def _as_text(self, key: str, node: Node) -> str:
        if node.kind == "string":
            return str(node.scalar)
        if node.kind in ("number", "boolean"):
            return self._document.text[node.start : node.end]
        raise EntryError(f"'{key}' holds something else than text", "use text only", node.start)


def _endpoint(fields: _Fields) -> Endpoint:
    declared = _transport(fields)
    has_image = bool(_placement(fields).image)
    has_command = fields.get("command") is not None
    has_url = any(fields.get(key) for key in URL_KEYS)
    if declared is None and has_command and has_url:
        hint = "keep one, or say which by 'type': 'stdio' or 'http'"
        raise EntryError("it has both a command and a url", hint, fields.node.start)
    if has_image and not has_command and not has_url and declared in (None, "stdio"):
        return _command(fields, of_image=True)
    if declared == "stdio" and not has_command:
        raise EntryError("its type needs a 'command'", "add 'command'", fields.node.start)
    if declared in ("http", "sse") and not has_url:
        raise EntryError("its type needs a 'url'", "add 'url'", fields.node.start)
    if has_command and declared in (None, "stdio"):
        return _command(fields)
    if has_url:
        return _url(fields, "sse" if declared == "sse" else "http")
    raise EntryError(
        "it has neither 'command' nor 'url'", "say how to start or reach it", fields.node.start
    )


def _transport(fields: _Fields) -> Kind | None:
    key = next((key for key in TRANSPORT_KEYS if fields.get(key)), None)
    if key is None:
        return None
    spelled = fields.text(key) or ""
    kind = read_kind(spelled)
    if kind is None:
        raise EntryError(
            f"its {key} '{spelled[:40]}' is unknown",
            "use 'stdio', 'http' or 'sse', or leave it out",
            _start(fields, key),
        )
    return kind


def _command(fields: _Fields, *, of_image: bool = False) -> Command:
    node = fields.get("command")
    is_list = node is not None and node.kind == "array"
    first = fields.texts("command") if is_list else (fields.text("command") or "",)
    argv = first + fields.texts("args")
    at = _start(fields, "command")
    if not of_image and (not argv or not argv[0].strip()):
        raise EntryError("its command is empty", "name the program to start", at)
    env = _merge(fields.pairs("environment"), fields.pairs("env"))
    cwd = fields.text("cwd")
    if any("\0" in each for each in (*argv, cwd or "", *(part for pair in env for part in pair))):
        raise EntryError("it holds a NUL character", "take it out", at)
    for name, _ in env:
        if not name or "=" in name:
            raise EntryError(f"'{name}' cannot name a variable", "rename it", at)
    return Command(argv, env, cwd or None)


def _url(fields: _Fields, kind: Literal["http", "sse"]) -> Url:
    key = next(each for each in URL_KEYS if fields.get(each))
    url = (fields.text(key) or "").strip()
    # The address may hold a secret, so it is not repeated.
    if not _is_address(url):
        hint = "write it as http://host:port/path or https://..."
        raise EntryError(f"'{key}' is not an http address", hint, _start(fields, key))
    headers = fields.pairs("headers")
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or _CONTROL.search(value):
            hint = "use letters, digits and '-' in names, and no line ends in values"
            raise EntryError(f"the header {name!r} is not valid", hint, _start(fields, "headers"))
    return Url(url, kind, headers)


def _is_address(url: str) -> bool:
    if _CONTROL.search(url) or " " in url:
        return False
    if "${" in url.split("://")[0]:
        return True  # the scheme is known only after expansion, and checked there
    try:
        parts = urlsplit(url.split("${")[0])
        return parts.scheme in ("http", "https") and bool(parts.hostname or "${" in url)
    except ValueError:
        return False


def _merge(first: Pairs, second: Pairs) -> Pairs:
    return tuple({**dict(first), **dict(second)}.items())


def _identity(fields: _Fields) -> Identity | None:
    node = fields.get("found")
    if node is None:
        return None
    if node.kind != "object":
        hint = 'write {"found": {"executable": "...", "name": "..."}}'
        raise EntryError("'found' is not an object", hint, node.start)
    found = fields.inside(node)
    return Identity(found.text("executable") or "", found.text("name") or "")


def _placement(fields: _Fields) -> Placement:
    node = fields.get("executor")
    if node is None:
        return ANYWHERE
    try:
        return read_placement(node.plain())
    except ConfigError as error:
        raise EntryError(str(error), error.hint, node.start) from error


def _timeout(fields: _Fields) -> float | None:
    node = fields.get("timeout")
    if node is None:
        return None
    if node.kind != "number" or not isinstance(node.scalar, int | float) or node.scalar <= 0:
        raise EntryError(
            "'timeout' is not a number above 0",
            "write seconds, or 1000 and more for milliseconds",
            node.start,
        )
    value = float(node.scalar)
    return value / 1000 if value >= MILLISECONDS_FROM else value


def write_timeout(seconds: float) -> float:
    """Give a timeout as an entry says it, which is in milliseconds from 1000 on."""
    value = seconds * 1000 if seconds >= MILLISECONDS_FROM else seconds
    return int(value) if value == int(value) else value


def _start(fields: _Fields, key: str) -> int:
    member: Member | None = fields.node.member(key)
    return member.start if member else fields.node.start
