"""Operations of features, bound to the yard they are asked of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from toolyard.operation import Guard, Operation, Streamed, Versioned, WithStatus, read_order
from toolyard.surfaces.control import api
from toolyard.yard import Yard

_STREAM_HEADERS: Final = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}


class _Stream(StreamingResponse):
    """Sends chunks and closes them however that ends, in the task in which they began."""

    async def stream_response(self, send: Send) -> None:
        """Send them; starlette cancels this once the client has gone."""
        try:
            await super().stream_response(send)
        finally:
            if isinstance(self.body_iterator, AsyncGenerator):
                await self.body_iterator.aclose()


def bind_operations(operations: Iterable[Operation[Any, Any]], yard: Yard) -> list[api.Operation]:
    """The operations as the REST door serves them."""
    return [_bind(operation, yard) for operation in operations]


def _bind(operation: Operation[Any, Any], yard: Yard) -> api.Operation:
    async def run(call: api.Call) -> api.Reply | Response:
        asked = replace(yard, expected=call.if_match)
        answer = await operation.run(asked, await _order(operation, call))
        if isinstance(answer, Streamed):
            return _stream(operation, call, answer)
        if isinstance(answer, WithStatus):
            return api.Reply(answer.answer, answer.status)
        if isinstance(answer, Versioned):
            return api.Reply(answer.answer, operation.status, answer.version)
        etag = str(yard.snapshot.revision) if operation.from_picture else ""
        return api.Reply(answer, operation.status, etag)

    has_query = bool(operation.split.query.__struct_fields__)
    return api.Operation(
        operation.method,
        operation.path,
        operation.summary,
        run,
        operation.answer,
        body=operation.split.body,
        query=operation.split.query if has_query else None,
        tag=operation.tag,
        status=operation.status,
        errors=operation.errors,
        media=operation.media,
        changes=operation.guard is Guard.PICTURE,
        versioned=operation.guard is Guard.RECORD,
        shape=operation.shape,
        invalid=operation.invalid,
        says_success=operation.says_success,
    )


async def _order(operation: Operation[Any, Any], call: api.Call) -> Any:
    request = call.request
    body = await request.body()
    return read_order(operation, call.path, request.query_params, request.headers, body)


def _stream(operation: Operation[Any, Any], call: api.Call, answer: Streamed[Any]) -> Response:
    if call.request.method == "HEAD":
        return Response(b"", operation.status, _STREAM_HEADERS, media_type=operation.media)
    return _Stream(answer.chunks, operation.status, _STREAM_HEADERS, media_type=operation.media)
