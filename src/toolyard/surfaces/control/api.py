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

from toolyard.core.errors import ConflictError, ToolyardError
from toolyard.core.fields import FaultsError
from toolyard.doors.rest.errors import answer_error, no_method, no_route, problem, refuse_faults
from toolyard.wire import jsonrpc

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to an operation, its input checked."""

    request: Request
    path: dict[str, str]
    query: Any
    body: Any

    @property
    def if_match(self) -> frozenset[str]:
        """The revisions under which the caller wants its change, if it said any."""
        said = self.request.headers.get("if-match", "").split(",")
        tags = (tag.strip().removeprefix("W/").strip('"') for tag in said)
        return frozenset(tag for tag in tags if tag)


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
    changes: bool = False
    """Whether it changes the picture, so that `If-Match` counts."""
    versioned: bool = False
    """Whether it changes a record with an ETag of its own, and looks at `If-Match` itself."""
    shape: Any = None
    """The type that describes its body, where the operation says more exactly what is wrong."""
    invalid: int = 422
    """The status of input that can be read, and is not what the operation takes."""
    says_success: bool = False
    """A refusal of the input says `success: false`."""


def make_app(
    operations: Sequence[Operation],
    pages: Sequence[Route] = (),
    revision: Callable[[], int] = lambda: 0,
) -> Starlette:
    """The application of all doors but MCP's; `revision` is that of the picture, now."""
    paths: dict[str, dict[str, Operation]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method] = each
    # What is spelt out comes before what a name may fill in.
    ordered = sorted(paths.items(), key=lambda each: "{" in each[0])
    routes = [Route(path, _endpoint(ways, revision), methods=list(ways)) for path, ways in ordered]
    app = Starlette(
        routes=[*routes, *pages],
        exception_handlers={ToolyardError: answer_error, 404: no_route, 405: no_method},
    )
    # A name may end with a slash; that is another name, and no slip to be corrected.
    app.router.redirect_slashes = False
    return app


def _endpoint(
    ways: dict[str, Operation], revision: Callable[[], int]
) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        operation = ways["GET" if request.method == "HEAD" else request.method]
        try:
            call = await _read(operation, request)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            status = operation.invalid if isinstance(error, msgspec.ValidationError) else 400
            return problem(status, "the input is not what this operation takes", str(error))
        if operation.changes:
            _check_seen(call.if_match, str(revision()))
        try:
            return _write(operation, await operation.run(call))
        except FaultsError as error:
            return refuse_faults(error, operation.invalid, operation.says_success)

    return serve


def _check_seen(wanted: frozenset[str], now: str) -> None:
    """Refuse a change that was decided on by an older picture.

    Raises:
        ConflictError: The picture is another now.
    """
    if wanted and not wanted & {now, "*"}:
        hint = "look again, and decide again"
        raise ConflictError(f"the picture has changed: its revision is {now} now", hint)


async def _read(operation: Operation, request: Request) -> Call:
    query = body = None
    if operation.query is not None:
        query = msgspec.convert(dict(request.query_params), operation.query, strict=False)
    if operation.body is not None:
        raw = await request.body()
        body = msgspec.json.decode(raw or b"{}", type=operation.body)
    elif operation.shape is not None:
        body = _decode(await request.body() or b"{}")
    return Call(request, dict(request.path_params), query, body)


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None


def _write(operation: Operation, answer: Any) -> Response:
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status)
    headers = {"cache-control": "no-store"}
    if reply.etag:
        headers["etag"] = f'"{reply.etag}"'
    body = reply.body if isinstance(reply.body, bytes) else jsonrpc.encode(reply.body)
    return Response(body, reply.status, headers, media_type=operation.media)
