"""Operations of features, bound to the yard they are asked of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from toolyard.operation import WHOLE_BODY, Guard, Operation, Versioned
from toolyard.surfaces.control import api
from toolyard.yard import Yard


def bind_operations(operations: Iterable[Operation[Any, Any]], yard: Yard) -> list[api.Operation]:
    """The operations as the REST door serves them."""
    return [_bind(operation, yard) for operation in operations]


def _bind(operation: Operation[Any, Any], yard: Yard) -> api.Operation:
    async def run(call: api.Call) -> api.Reply:
        asked = replace(yard, expected=call.if_match)
        answer = await operation.run(asked, _order(operation, call))
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
    )


def _order(operation: Operation[Any, Any], call: api.Call) -> Any:
    parts = [msgspec.convert(call.path, operation.split.path, strict=False)]
    parts += [] if call.query is None else [call.query]
    parts += [call.body] if operation.split.body is not None else []
    fields = {name: getattr(part, name) for part in parts for name in part.__struct_fields__}
    if operation.shape is not None:
        fields[WHOLE_BODY] = call.body
    return operation.order(**fields)
