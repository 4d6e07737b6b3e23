"""The OpenAPI document of the control API, made from the operations themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from toolyard import __version__
from toolyard.doors.http.gate import OPEN_PATHS
from toolyard.doors.rest.errors import PROBLEM, ProblemDetails
from toolyard.surfaces.control.api import JSON, Call, Operation
from toolyard.wire import jsonrpc


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """An OpenAPI 3.1 document of all operations."""
    types = [
        kind
        for each in operations
        for kind in (each.answer, each.body or each.shape, each.query)
        if kind is not None
    ]
    template = "#/components/schemas/{name}"
    schemas, parts = msgspec.json.schema_components([*types, ProblemDetails], ref_template=template)
    found = dict(zip([*map(_key, types), _key(ProblemDetails)], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(_plain(each.path), {})[each.method.lower()] = _operation(
            each, found, parts
        )
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


def described(operations: Sequence[Operation]) -> Operation:
    """The operation that gives the document of all the others."""
    made: list[bytes] = []

    async def give(call: Call) -> bytes:
        if not made:
            made.append(jsonrpc.encode(document(operations)))
        return made[0]

    return Operation("GET", "/api/v1/openapi.json", "This document", give, _Document)


_Document = Annotated[dict[str, Any], Meta(description="An OpenAPI 3.1 document.")]
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


def _key(kind: Any) -> str:
    return repr(kind)


def _operation(each: Operation, found: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    schema = found[_key(each.answer)] if each.answer is not None else {}
    refusals = {401, 403, 421, *each.errors}
    body = each.body or each.shape
    refusals |= {400, each.invalid} if body is not None or each.query is not None else set()
    refusals |= {404} if "{" in each.path else set()
    refusals |= {412} if each.changes or each.versioned else set()
    out: dict[str, Any] = {
        "operationId": _name(each),
        "summary": each.summary,
        "tags": [each.tag],
        "responses": {
            str(each.status): {
                "description": "as asked",
                "content": {each.media.partition(";")[0]: {"schema": schema}},
            },
            **{str(code): _refusal(found) for code in sorted(refusals)},
        },
    }
    if each.path in OPEN_PATHS:
        out["security"] = []
        del out["responses"]["401"]
    parameters = [*_path_parameters(each), *_query_parameters(each, found, parts)]
    if each.changes or each.versioned:
        parameters.append(_IF_MATCH if each.changes else _IF_MATCH_RECORD)
    if parameters:
        out["parameters"] = parameters
    if body is not None:
        content = {JSON: {"schema": found[_key(body)]}}
        out["requestBody"] = {"required": not _may_be_empty(body), "content": content}
    return out


def _may_be_empty(kind: Any) -> bool:
    """Whether a request without a body says enough, because all of it has a default."""
    try:
        msgspec.convert({}, kind)
    except msgspec.ValidationError:
        return False
    return True


def _refusal(found: dict[str, Any]) -> dict[str, Any]:
    content = {PROBLEM: {"schema": found[_key(ProblemDetails)]}}
    return {"description": "why it was refused, and what to do", "content": content}


def _plain(path: str) -> str:
    """A path without what only our router reads: `{name:path}` is `{name}` to everybody else."""
    return re.sub(r":\w+}", "}", path)


def _name(each: Operation) -> str:
    words = re.findall(r"[A-Za-z0-9]+", _plain(each.path).removeprefix("/api/v1"))
    return "_".join([each.method.lower(), *words])


def _path_parameters(each: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)(?::\w+)?}", each.path)
    schema = {"type": "string", "minLength": 1}
    return [{"name": n, "in": "path", "required": True, "schema": schema} for n in names]


def _query_parameters(
    each: Operation, found: dict[str, Any], parts: dict[str, Any]
) -> list[dict[str, Any]]:
    if each.query is None:
        return []
    schema = found[_key(each.query)]
    name = schema.get("$ref", "").rpartition("/")[2]
    shape = parts.get(name, schema)
    required = shape.get("required", [])
    return [
        {"name": key, "in": "query", "required": key in required, "schema": value}
        for key, value in shape.get("properties", {}).items()
    ]
