"""How the control API is put together: operations with typed input, one kind of error.

An operation names the types of its body and its query; the same types check what
arrives and make the OpenAPI document, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolyard.core.errors import (
    BusyError,
    ConfigError,
    LinkError,
    LinkTimeoutError,
    StartError,
    StoreError,
    ToolyardError,
    UnknownNameError,
)
from toolyard.wire import jsonrpc

PROBLEM: Final = "application/problem+json"
JSON: Final = "application/json"


class ConflictError(ToolyardError):
    """Somebody else changed it first."""


class Refusal(msgspec.Struct):
    """What went wrong, as problem+json."""

    title: str
    status: int
    detail: str = ""
    hint: str = ""


class Done(msgspec.Struct):
    """An order was carried out."""

    done: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """One request to an operation, its input checked."""

    request: Request
    path: dict[str, str]
    query: Any
    body: Any

    @property
    def if_match(self) -> str:
        """The revision the caller has seen, if it said one."""
        return self.request.headers.get("if-match", "").strip().removeprefix("W/").strip('"')


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with more than a body: a status, an ETag."""

    body: Any
    status: int = 200
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing the API can do."""

    method: str
    path: str
    summary: str
    run: Callable[[Call], Awaitable[Any]]
    answer: Any = None
    """The type of its answer; None for one that is described as any JSON."""
    body: Any = None
    query: Any = None
    tag: str = "yard"
    status: int = 200
    errors: tuple[int, ...] = field(default=())
    media: str = JSON


STATUS: Final[tuple[tuple[type[ToolyardError], int], ...]] = (
    (UnknownNameError, 404),
    (ConflictError, 412),
    (ConfigError, 422),
    (StoreError, 500),
    (LinkTimeoutError, 504),
    (BusyError, 503),
    (StartError, 502),
    (LinkError, 502),
)


def make_app(operations: Sequence[Operation], pages: Sequence[Route] = ()) -> Starlette:
    """The application of all doors but MCP's."""
    routes = [Route(each.path, _endpoint(each), methods=[each.method]) for each in operations]
    return Starlette(
        routes=[*routes, *pages],
        exception_handlers={ToolyardError: _failed, 404: _no_route, 405: _no_method},
    )


def _endpoint(operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        try:
            call = await _read(operation, request)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            status = 422 if isinstance(error, msgspec.ValidationError) else 400
            return problem(status, "the input is not what this operation takes", str(error))
        return _write(operation, await operation.run(call))

    return serve


async def _read(operation: Operation, request: Request) -> Call:
    query = body = None
    if operation.query is not None:
        query = msgspec.convert(dict(request.query_params), operation.query, strict=False)
    if operation.body is not None:
        raw = await request.body()
        body = msgspec.json.decode(raw or b"{}", type=operation.body)
    return Call(request, dict(request.path_params), query, body)


def _write(operation: Operation, answer: Any) -> Response:
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status)
    headers = {"cache-control": "no-store"}
    if reply.etag:
        headers["etag"] = f'"{reply.etag}"'
    body = reply.body if isinstance(reply.body, bytes) else jsonrpc.encode(reply.body)
    return Response(body, reply.status, headers, media_type=operation.media)


def problem(status: int, title: str, detail: str = "", hint: str = "") -> Response:
    """An error in the one form all errors have."""
    body = jsonrpc.encode(Refusal(title, status, detail or title, hint))
    return Response(body, status, {"cache-control": "no-store"}, media_type=PROBLEM)


async def _failed(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 500)
    return problem(status, str(error), str(error), getattr(error, "hint", ""))


async def _no_route(request: Request, error: Exception) -> Response:
    return problem(404, f"there is nothing at {request.url.path}", hint="see /api/v1/openapi.json")


async def _no_method(request: Request, error: Exception) -> Response:
    allowed = getattr(error, "headers", None) or {}
    response = problem(405, f"{request.method} is not possible here")
    response.headers.update(allowed)
    return response
