"""Refusals of the REST door: one form for all of them, problem+json."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from toolyard.core.errors import (
    BusyError,
    ConfigError,
    ConflictError,
    DatabaseAwayError,
    HeldError,
    LinkError,
    LinkTimeoutError,
    NotOursError,
    StartError,
    StoreError,
    TakenError,
    ToolyardError,
    UnknownNameError,
)
from toolyard.core.fields import FaultsError
from toolyard.installation import GONE, GONE_HINT, is_gone
from toolyard.operation import FaultRow, fault_rows
from toolyard.wire import jsonrpc

PROBLEM: Final = "application/problem+json"

STATUS: Final[tuple[tuple[type[ToolyardError], int], ...]] = (
    (UnknownNameError, 404),
    (ConflictError, 412),
    (TakenError, 409),
    (HeldError, 409),
    (NotOursError, 409),
    (ConfigError, 422),
    (DatabaseAwayError, 503),
    (StoreError, 500),
    (LinkTimeoutError, 504),
    (BusyError, 503),
    (StartError, 502),
    (LinkError, 502),
)
"""The status of each kind of error; the first that fits counts."""


class ProblemDetails(msgspec.Struct, frozen=True):
    """What went wrong, as problem+json."""

    title: str
    status: int
    detail: str = ""
    hint: str = ""
    errors: list[FaultRow] | UnsetType = UNSET
    """Everything that is wrong with what was said."""
    success: bool | UnsetType = UNSET
    code: str | UnsetType = UNSET
    """The code of the problem, if it is one of the reference."""


def problem(
    status: int,
    title: str,
    detail: str = "",
    hint: str = "",
    errors: list[FaultRow] | UnsetType = UNSET,
    success: bool | UnsetType = UNSET,
    code: str | UnsetType = UNSET,
) -> Response:
    """An error in the one form all errors have."""
    details = ProblemDetails(title, status, detail or title, hint, errors, success, code)
    body = jsonrpc.encode(details)
    return Response(body, status, {"cache-control": "no-store"}, media_type=PROBLEM)


def refuse_faults(error: FaultsError, status: int, says_success: bool) -> Response:
    """Refuse input with everything that is wrong with it."""
    success = False if says_success else UNSET
    rows = fault_rows(error.faults)
    return problem(status, str(error), str(error), error.hint, rows, success)


async def answer_error(request: Request, error: Exception) -> Response:
    """Refuse with what went wrong."""
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 500)
    code = getattr(error, "problem_code", "") or UNSET
    return problem(status, str(error), str(error), getattr(error, "hint", ""), code=code)


async def answer_failure(request: Request, error: Exception) -> Response:
    """Tell of a failure that nobody foresaw; its trace is in the log."""
    if is_gone():
        return problem(500, GONE, hint=GONE_HINT)
    return problem(500, "the hub failed to answer", hint="see: toolyard logs; please report it")


async def no_route(request: Request, error: Exception) -> Response:
    """Refuse an address that nothing answers at."""
    return problem(404, f"there is nothing at {request.url.path}", hint="see /api/v1/openapi.json")


async def no_method(request: Request, error: Exception) -> Response:
    """Refuse a method that an address does not take."""
    allowed = getattr(error, "headers", None) or {}
    response = problem(405, f"{request.method} is not possible here")
    response.headers.update(allowed)
    return response
