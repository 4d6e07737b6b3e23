"""Readers of what was said in a call: who asked, how it ended, and what of it may be kept."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Final

from toolyard.features.history.model import ERROR_LENGTH, Outcome
from toolyard.features.history.redaction import redact
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message

READ_BYTES: Final = 64 * 1024
"""The largest result that is parsed for what its tool said went wrong."""
TOO_LARGE: Final = '"[larger than 64 KiB: not kept]"'
NOT_JSON: Final = '"[no JSON: not kept]"'


def read_failure(answer: Message | BaseException) -> tuple[int, Outcome, str]:
    """Return the size, the outcome and the error of an answer that looks failed."""
    if isinstance(answer, asyncio.CancelledError):
        return 0, Outcome.CANCELLED, ""
    if isinstance(answer, BaseException):
        return 0, Outcome.ERROR, _short(str(answer))
    raw = answer.error or answer.result
    head = bytes(memoryview(raw)[:READ_BYTES])
    if answer.error:
        return len(raw), Outcome.ERROR, _short(jsonrpc.read_fault(head).message)
    text = _complaint(head)
    if text is None:
        return len(raw), Outcome.OK, ""
    return len(raw), Outcome.TOOL_ERROR, _short(text)


def _short(text: str) -> str:
    redacted: str = redact(text[: 10 * ERROR_LENGTH])
    # Errors of the system may quote bytes that are not text, which no database takes.
    return redacted[:ERROR_LENGTH].encode("utf-8", "replace").decode()


def _complaint(raw: bytes) -> str | None:
    """Return what a tool's result says went wrong; None if it does not say so."""
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


def without_secrets(raw: bytes | None) -> str:
    """Return arguments or a result as they may be kept; None stands for one that is too large."""
    if raw is None:
        return TOO_LARGE
    try:
        return jsonrpc.encode(redact(jsonrpc.to_python(raw))).decode()
    except jsonrpc.MalformedError:
        return NOT_JSON if raw else "null"


@lru_cache(256)
def agent_name(client: bytes) -> str:
    """Return what a client calls itself, by its raw `clientInfo`."""
    try:
        name = jsonrpc.to_python(jsonrpc.fields(client).get("name", b'""'))
    except jsonrpc.MalformedError:
        return ""
    return name[:100] if isinstance(name, str) else ""
