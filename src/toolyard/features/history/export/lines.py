"""A call or an order as one line of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from toolyard.core.jsontypes import JsonObject
from toolyard.features.history.model import Call, LoggedCall
from toolyard.records.audit_trail import AuditedOrder

_encode: Final = msgspec.json.Encoder().encode


def call_line(call: Call) -> bytes:
    """Return the line of a call as it is kept."""
    return _line("call", msgspec.to_builtins(call))


def order_line(order: AuditedOrder) -> bytes:
    """Return the line of an order as it is kept."""
    return _line("order", msgspec.to_builtins(order))


def logged_lines(calls: Sequence[LoggedCall], epoch: float, replica: str) -> list[bytes]:
    """Return the lines of calls that are just over; they have no id yet.

    Args:
        epoch: The time at which the clock of the calls began.
    """
    return [_line("call", _plain(call, epoch, replica)) for call in calls]


def _plain(call: LoggedCall, epoch: float, replica: str) -> JsonObject:
    member, token, address = call.origin or ("", "", "")
    return {
        "at": datetime.fromtimestamp(epoch + call.began, UTC),
        "agent": call.agent,
        "caller": call.caller,
        "server": call.server,
        "tool": call.tool,
        "ms": call.ms,
        "asked": call.asked,
        "answered": call.answered,
        "outcome": call.outcome,
        "error": call.error,
        "replica": replica,
        "member": member,
        "token": token,
        "address": address,
    }


def _line(log: str, plain: JsonObject) -> bytes:
    return _encode({"log": log, **plain})
