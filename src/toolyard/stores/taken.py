"""Calls as they are taken down, and as they are kept: packed, many to a row.

One row of a table per call would cost more than the rest of the history together.
"""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolyard.core.history import ERROR_LENGTH, Outcome, redact
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message

Taken = tuple[Any, ...]
"""Agent, server, tool, when it began and ended, bytes asked, bytes answered, caller.

A call that did not end well has two more: its outcome and what was said, not yet read.
"""
PLAIN: Final = 8
BODY_BYTES: Final = 64 * 1024
EDGE: Final = 200
"""Where `isError` is looked for: so many bytes at both ends of a result."""
SMALL: Final = 2 * EDGE
TOO_LARGE: Final = b'"[larger than 64 KiB: not kept]"'
NO_JSON: Final = b'"[no JSON: not kept]"'
find_error: Final = re.compile(rb'"isError":\s?true').search


class Packed(msgspec.Struct, array_like=True):
    """One call as it is packed."""

    agent: str
    server: str
    tool: str
    began: float
    """On the clock of the process that recorded it, as its end."""
    ended: float
    asked: int
    answered: int
    caller: str
    outcome: Outcome = Outcome.OK
    error: str = ""

    @property
    def ms(self) -> float:
        """How long it took."""
        return round((self.ended - self.began) * 1000, 3)


pack: Final = msgspec.msgpack.Encoder().encode
unpack: Final = msgspec.msgpack.Decoder(list[Packed]).decode
unpack_bodies: Final = msgspec.msgpack.Decoder(list[tuple[int, bytes, bytes]]).decode


def says_error(raw: Raw) -> bool:
    """Whether a large result looks like an error, by its ends: quick, and sometimes wrong."""
    view = memoryview(raw)
    return bool(find_error(view[:EDGE]) or find_error(view[-EDGE:]))


def ending(answer: Message | BaseException) -> tuple[int, Outcome, str | bytes]:
    """Of a call that did not end well: the size of its answer, its outcome, and what was said."""
    if isinstance(answer, asyncio.CancelledError):
        return 0, Outcome.CANCELLED, ""
    if isinstance(answer, BaseException):
        return 0, Outcome.ERROR, str(answer)
    raw, outcome = answer.result, Outcome.TOOL_ERROR
    if answer.error:
        raw, outcome = answer.error, Outcome.ERROR
    said = raw if len(raw) <= BODY_BYTES else memoryview(raw)[:BODY_BYTES]
    return len(raw), outcome, bytes(said)


def finish(taken: Taken) -> Taken:
    """Read what was said of a call that did not end well; one that only looked so becomes plain."""
    outcome, said = taken[PLAIN:]
    if isinstance(said, str):
        text: str | None = said
    elif outcome is Outcome.ERROR:
        text = jsonrpc.read_fault(said).message
    else:
        text = _complaint(said)
    if text is None:
        return taken[:PLAIN]
    short: str = redact(text[: 10 * ERROR_LENGTH])
    return (*taken[:PLAIN], outcome, short[:ERROR_LENGTH])


def _complaint(raw: bytes) -> str | None:
    """What a tool's result says went wrong; None if it does not say so."""
    try:
        result = jsonrpc.to_python(raw)
    except jsonrpc.MalformedError:  # cut, because it was too long
        return raw[: 2 * ERROR_LENGTH].decode("utf-8", "replace")
    if not isinstance(result, dict) or result.get("isError") is not True:
        return None
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return next((text for text in texts if isinstance(text, str)), "")


def without_secrets(raw: bytes | None) -> bytes:
    """Arguments or a result as they may be kept; None stands for one that is too large."""
    if raw is None:
        return TOO_LARGE
    try:
        return jsonrpc.encode(redact(jsonrpc.to_python(raw)))
    except jsonrpc.MalformedError:
        return NO_JSON if raw else b"null"


@lru_cache(256)
def agent_name(client: bytes) -> str:
    """What a client calls itself, by its raw `clientInfo`."""
    try:
        name = jsonrpc.to_python(jsonrpc.fields(client).get("name", b'""'))
    except jsonrpc.MalformedError:
        return ""
    return name[:100] if isinstance(name, str) else ""
