"""Calls as tests record them."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Raw

from toolyard.features.history.call_log import Bounds, CallLog
from toolyard.features.history.store import History
from toolyard.records.calls import CallRows
from toolyard.wire.jsonrpc import Message

FINE = Message(result=Raw(b'{"content":[{"type":"text","text":"hello"}],"isError":false}'))


def keeping(calls: CallRows | None, **bounds: Any) -> History:
    """A history with these bounds."""
    return History(CallLog(calls, Bounds(**bounds)))


def record(history: History, answer: Message | BaseException = FINE, **told: Any) -> None:
    """Note a call."""
    usual = {"agent": "codex", "server": "files", "tool": "read", "asked": Raw(b'{"path":"a"}')}
    history.log.record(**{**usual, "began": time.monotonic(), **told}, answer=answer)
