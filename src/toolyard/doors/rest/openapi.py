"""The OpenAPI document of the control API, made from the operations themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from toolyard import __version__
from toolyard.core.caller import Role
from toolyard.core.jsontypes import JsonObject
from toolyard.doors.http.gate import OPEN_PATHS
from toolyard.doors.rest.errors import PROBLEM, ProblemDetails
from toolyard.operation import JSON, Guard, Operation

AnyOperation = Operation[Any, Any]


def document(operations: Sequence[AnyOperation]) -> JsonObject:
    """An OpenAPI 3.1 document of all operations."""
    types = [
        kind
        for operation in operations
        for kind in (operation.answer, _body(operation), _query(operation))
        if kind is not None
    ]
    template = "#/components/schemas/{name}"
    schemas, parts = msgspec.json.schema_components([*types, ProblemDetails], ref_template=template)
    by_type = dict(zip([*map(_key, types), _key(ProblemDetails)], schemas, strict=True))
    paths: dict[str, JsonObject] = {}
    for operation in operations:
        path = paths.setdefault(_plain(operation.path), {})
        path[operation.method.lower()] = _describe(operation, by_type, parts)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Toolyard", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


OF_THE_DOOR: Final = (400, 401, 403, 413, 421, 431, 503)
"""Refusals of any request: it cannot be read, its caller or host is not let in, it or its head is
too large, too much is under way, or the shared database is away."""
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of the picture this change was decided on; another now means 412.",
    "schema": {"type": "string"},
}
_IF_MATCH_RECORD: Final = {
    **_IF_MATCH,
    "description": "The ETag of the record this change was decided on; another now means 412.",
}


def _body(operation: AnyOperation) -> Any:
    return operation.split.body or operation.shape


def _query(operation: AnyOperation) -> Any:
    part = operation.split.query
    return part if part.__struct_fields__ else None


def _key(kind: Any) -> str:
    return repr(kind)


def _describe(operation: AnyOperation, by_type: JsonObject, parts: JsonObject) -> JsonObject:
    schema = by_type[_key(operation.answer)]
    refusals = {*OF_THE_DOOR, *operation.errors}
    body = _body(operation)
    takes_input = body is not None or _query(operation) is not None
    refusals |= {operation.invalid} if takes_input or _judges_names(operation) else set()
    # The hub's owner is no member, and so has nothing of their own.
    refusals |= {404} if "{" in operation.path or operation.role is Role.MEMBER else set()
    refusals |= {412} if operation.guard is not Guard.NONE else set()
    out: JsonObject = {
        "operationId": _name(operation),
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": {
            str(operation.status): {
                "description": "as asked",
                "content": {operation.media.partition(";")[0]: {"schema": schema}},
            },
            **{str(code): _refusal(by_type) for code in sorted(refusals)},
        },
    }
    if operation.path in OPEN_PATHS:
        out["security"] = []
        del out["responses"]["401"]
    parameters = [*_path_parameters(operation), *_query_parameters(operation, by_type, parts)]
    if operation.guard is not Guard.NONE:
        parameters.append(_IF_MATCH if operation.guard is Guard.PICTURE else _IF_MATCH_RECORD)
    if parameters:
        out["parameters"] = parameters
    if body is not None:
        content = {JSON: {"schema": by_type[_key(body)]}}
        out["requestBody"] = {"required": not _may_be_empty(body), "content": content}
    return out


def _may_be_empty(kind: Any) -> bool:
    """Whether a request without a body says enough, because all of it has a default."""
    try:
        msgspec.convert({}, kind)
    except msgspec.ValidationError:
        return False
    return True


def _refusal(by_type: JsonObject) -> JsonObject:
    content = {PROBLEM: {"schema": by_type[_key(ProblemDetails)]}}
    return {"description": "why it was refused, and what to do", "content": content}


def _plain(path: str) -> str:
    """A path without what only our router reads: `{name:path}` is `{name}` to everybody else."""
    return re.sub(r":\w+}", "}", path)


def _name(operation: AnyOperation) -> str:
    words = re.findall(r"[A-Za-z0-9]+", _plain(operation.path).removeprefix("/api/v1"))
    return "_".join([operation.method.lower(), *words])


def _path_names(operation: AnyOperation) -> list[str]:
    return re.findall(r"{(\w+)(?::\w+)?}", operation.path)


def _judges_names(operation: AnyOperation) -> bool:
    """Whether a name in the path is refused for its form, such as one that is too long."""
    names = _path_names(operation)
    fields = msgspec.structs.fields(operation.order)
    return any(field.encode_name in names and field.type is not str for field in fields)


def _path_parameters(operation: AnyOperation) -> list[JsonObject]:
    schema = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in _path_names(operation)
    ]


def _query_parameters(
    operation: AnyOperation, by_type: JsonObject, parts: JsonObject
) -> list[JsonObject]:
    if _query(operation) is None:
        return []
    schema = by_type[_key(_query(operation))]
    name = schema.get("$ref", "").rpartition("/")[2]
    shape: JsonObject = parts.get(name) or schema
    required = shape.get("required", [])
    return [
        {"name": key, "in": "query", "required": key in required, "schema": value}
        for key, value in shape.get("properties", {}).items()
    ]
