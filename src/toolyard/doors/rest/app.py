"""The REST door: the operations of all features over HTTP.

Whatever an operation takes and gives is said by its description; this door reads the one and
writes the other, and knows no feature.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from toolyard.core.caller import CALLER_KEY, Caller, Role
from toolyard.core.errors import ToolyardError
from toolyard.core.fields import FaultsError
from toolyard.doors.http.gate import NOBODY
from toolyard.doors.rest.errors import (
    answer_error,
    answer_failure,
    no_method,
    no_route,
    problem,
    refuse_faults,
)
from toolyard.doors.rest.openapi import document
from toolyard.operation import JSON, Guard, Operation, Streamed, Versioned, WithStatus, read_order
from toolyard.records.audit import OrderOrigin, ordering
from toolyard.records.audit_trail import AuditTrail
from toolyard.wire import jsonrpc
from toolyard.yard import Yard

DOCUMENT: Final = "/api/v1/openapi.json"
_STREAM_HEADERS: Final = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}

LONGEST_AGENT: Final = 200
"""Characters that are kept of what the program of an order calls itself."""

AnyOperation = Operation[Any, Any]
Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(
    operations: Sequence[AnyOperation], yard: Yard, pages: Sequence[Route] = ()
) -> Starlette:
    """The application of all doors but MCP's."""
    paths: dict[str, dict[str, AnyOperation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = operation
    # What is spelt out comes before what a name may fill in.
    ordered = sorted(paths.items(), key=lambda item: "{" in item[0])
    routes = [
        Route(path, _endpoint(methods, yard), methods=list(methods)) for path, methods in ordered
    ]
    app = Starlette(
        routes=[*routes, Route(DOCUMENT, _document(operations)), *pages],
        exception_handlers={
            ToolyardError: answer_error,
            404: no_route,
            405: no_method,
            Exception: answer_failure,
        },
    )
    # A name may end with a slash; that is another name, and no slip to be corrected.
    app.router.redirect_slashes = False
    return app


def _document(operations: Sequence[AnyOperation]) -> Endpoint:
    made: list[bytes] = []

    async def give(_request: Request) -> Response:
        if not made:
            made.append(jsonrpc.encode(document(operations)))
        return Response(made[0], headers={"cache-control": "no-store"}, media_type=JSON)

    return give


def _endpoint(methods: Mapping[str, AnyOperation], yard: Yard) -> Endpoint:
    async def serve(request: Request) -> Response:
        operation = methods["GET" if request.method == "HEAD" else request.method]
        caller: Caller = request.scope.get(CALLER_KEY, NOBODY)
        if caller.member and operation.role is Role.KEEPER is not caller.role:
            return problem(403, "only keepers may do this")
        try:
            order = await _read(operation, request)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            status = operation.invalid if isinstance(error, msgspec.ValidationError) else 400
            return problem(status, "the input is not what this operation takes", str(error))
        asked = replace(
            yard,
            expected=_versions(request),
            caller=caller.name,
            member=caller.member,
            has_left=request.is_disconnected,
        )
        # An operation that reads its body itself checks after that: wrong input is always wrong.
        if operation.guard is Guard.PICTURE and operation.shape is None:
            asked.check_picture()
        try:
            answer = await _run(operation, asked, order, request)
        except FaultsError as error:
            return refuse_faults(error, operation.invalid, operation.says_success)
        return _write(operation, request, answer, yard)

    return serve


async def _run(operation: AnyOperation, yard: Yard, order: Any, request: Request) -> Any:
    """Carry out an operation; what it changes is recorded as ordered by the caller."""
    if operation.method == "GET" or AuditTrail not in yard.parts:
        return await operation.run(yard, order)
    host = request.client.host if request.client is not None else ""
    agent = request.headers.get("user-agent", "")[:LONGEST_AGENT]
    caller: Caller = request.scope.get(CALLER_KEY, NOBODY)
    origin = OrderOrigin(agent, yard.member, caller.token)
    with ordering(yard.part(AuditTrail).order(yard.caller, host, origin)):
        return await operation.run(yard, order)


async def _read(operation: AnyOperation, request: Request) -> Any:
    body = await request.body()
    return read_order(operation, request.path_params, request.query_params, request.headers, body)


def _versions(request: Request) -> frozenset[str]:
    """The versions that `If-Match` names."""
    words = request.headers.get("if-match", "").split(",")
    tags = (word.strip().removeprefix("W/").strip('"') for word in words)
    return frozenset(tag for tag in tags if tag)


def _write(operation: AnyOperation, request: Request, answer: Any, yard: Yard) -> Response:
    if isinstance(answer, Streamed):
        return _stream(operation, request, answer)
    status, version = operation.status, ""
    if operation.from_picture:
        version = str(yard.snapshot.revision)
    if isinstance(answer, Versioned):
        answer, version = answer.answer, answer.version
    elif isinstance(answer, WithStatus):
        answer, status = answer.answer, answer.status
    headers = {"cache-control": "no-store"} | ({"etag": f'"{version}"'} if version else {})
    body = answer if isinstance(answer, bytes) else jsonrpc.encode(answer)
    return Response(body, status, headers, media_type=operation.media)


def _stream(operation: AnyOperation, request: Request, answer: Streamed[Any]) -> Response:
    if request.method == "HEAD":
        return Response(b"", operation.status, _STREAM_HEADERS, media_type=operation.media)
    return _Stream(answer.chunks, operation.status, _STREAM_HEADERS, media_type=operation.media)


class _Stream(StreamingResponse):
    """Sends chunks and closes them however that ends, in the task in which they began."""

    async def stream_response(self, send: Send) -> None:
        """Send them; starlette cancels this once the client has gone."""
        try:
            await super().stream_response(send)
        finally:
            if isinstance(self.body_iterator, AsyncGenerator):
                await self.body_iterator.aclose()
