"""Operations: every question and order about the yard, each described once.

A feature writes a function; what it takes and gives are its types. The REST door, the OpenAPI
document, the reference pages and the command line's client are all made from the same
description, so none of them can say something else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import quote, urlencode

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Raw, Struct
from msgspec.structs import asdict

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.fields import FieldFault
from toolyard.core.jsontypes import JsonObject

if TYPE_CHECKING:
    from toolyard.yard import Yard

Order = TypeVar("Order", bound=Struct)
Answer = TypeVar("Answer")
JSON: Final = "application/json"
_PATH_FIELD: Final = re.compile(r"{(\w+)(?::\w+)?}")
_WITHOUT_BODY: Final = ("GET", "DELETE")
WHOLE_BODY: Final = "body"
"""A field of this name takes the body as it is; the operation itself says what is wrong with it."""


class Needs(StrEnum):
    """The least that must be there for an operation to be carried out."""

    FILES = "files"
    """What is kept on disk: without a running hub it is carried out in the caller's process."""
    HUB = "hub"
    """A running hub."""


class Guard(StrEnum):
    """The state that `If-Match` names: an order decided on an older one is refused."""

    NONE = "none"
    PICTURE = "picture"
    RECORD = "record"


class NoInput(Struct, frozen=True):
    """Nothing to say."""


class Done(Struct, frozen=True):
    """An order was carried out."""

    done: bool = True


class Ordered(Struct, frozen=True):
    """An order was written down; `noticed` says whether the picture shows its effect already."""

    name: str
    noticed: bool
    done: bool = True


_OPEN: Final = "As its author wrote it: any JSON object."
OpenObject = Annotated[JsonObject, Meta(description=_OPEN)]
"""Something that somebody else made, a server or a registry, and we pass on."""
RawObject = Annotated[Raw, Meta(description=_OPEN, extra_json_schema={"type": "object"})]
"""The same, passed on byte for byte."""


class FaultRow(Struct, frozen=True):
    """One thing that is wrong with what was said, or should be told of it."""

    server: str
    field: str
    text: str
    hint: str


def fault_rows(faults: Iterable[FieldFault]) -> list[FaultRow]:
    """Return faults as an answer tells them."""
    return [FaultRow(fault.server, fault.field, fault.text, fault.hint) for fault in faults]


@dataclass(frozen=True, slots=True)
class Versioned(Generic[Answer]):
    """An answer with the version of what it tells: a later order can name it."""

    answer: Answer
    version: str


@dataclass(frozen=True, slots=True)
class WithStatus(Generic[Answer]):
    """An answer whose status is not the described one."""

    answer: Answer
    status: int


@dataclass(frozen=True, slots=True)
class Streamed(Generic[Answer]):
    """An answer that is sent while it is made; the type is that of all of it together.

    When whoever asked has gone, the chunks are closed, and with them whatever they wait for.
    """

    chunks: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Split:
    """An order's fields by the part of a request that carries them."""

    path: type[Struct]
    query: type[Struct]
    headers: type[Struct]
    """A field `last_event_id` travels as the header `last-event-id`."""
    body: type[Struct] | None


@dataclass(frozen=True, slots=True)
class Operation(Generic[Order, Answer]):
    """One question or order."""

    method: str
    path: str
    run: Callable[[Yard, Order], Awaitable[Answer]]
    order: type[Order]
    answer: Any
    """The type of the answer's body, as its schema and its reader need it."""
    is_versioned: bool
    """The answer comes with the version of what it tells."""
    summary: str
    package: str
    """The package of the feature it belongs to."""
    tag: str
    needs: Needs
    split: Split
    status: int = 200
    errors: tuple[int, ...] = ()
    """Refusals beside those that follow from the description."""
    media: str = JSON
    guard: Guard = Guard.NONE
    shape: Any = None
    """The type that describes a body which the operation reads itself."""
    raw: bool = False
    """The operation gets the bytes of that body as they came, not what they say."""
    invalid: int = 422
    """The status of input that can be read, and is not what the operation takes."""
    says_success: bool = False
    """The answer has a field `success`; so a refusal of the input says `success: false`."""
    from_picture: bool = False
    """The answer is the picture's, so the picture's revision is its version."""
    role: Role = Role.KEEPER
    """The least role that may run it. What members may run is below `OWN_PATHS`, and is about
    nothing but the things of `Yard.own_member`."""


Function = Callable[["Yard", Order], Awaitable[Answer]]


def operation(
    method: str,
    path: str,
    *,
    needs: Needs = Needs.HUB,
    tag: str = "",
    role: Role = Role.KEEPER,
    query: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    **more: Any,
) -> Callable[[Function[Order, Answer]], Operation[Order, Answer]]:
    """Describe an operation; the function's docstring and types say the rest.

    Args:
        tag: The feature's name, unless given.
        role: The least role that may run it.
        query: Fields that stand in the address although the request has a body.
        headers: Fields that travel as headers.
        more: Further fields of `Operation`.
    """
    if (role is Role.MEMBER) != path.startswith(OWN_PATHS):
        raise ValueError(f"{path}: members run what is below {OWN_PATHS}, all of it and no more")

    def describe(function: Function[Order, Answer]) -> Operation[Order, Answer]:
        hints = get_type_hints(function, include_extras=True)
        order, answer = hints["order"], hints["return"]
        wrapper = get_origin(answer)
        is_wrapped = wrapper in (Versioned, WithStatus, Streamed)
        return Operation(
            method,
            path,
            function,
            order,
            get_args(answer)[0] if is_wrapped else answer,
            wrapper is Versioned,
            _first_sentence(function),
            package := function.__module__.rpartition(".")[0],
            tag or package.rpartition(".")[2],
            needs,
            _split(order, method, path, query, headers),
            role=role,
            **more,
        )

    return describe


def read_order(
    operation: Operation[Order, Answer],
    path: Mapping[str, str],
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
) -> Order:
    """Put an order together from the parts of a request; names of headers are in lower case.

    Raises:
        msgspec.ValidationError: It is not what the operation takes.
        msgspec.DecodeError: The body is not JSON.
    """
    split = operation.split
    fields = asdict(msgspec.convert(dict(path), split.path, strict=False))
    fields |= asdict(msgspec.convert(dict(query), split.query, strict=False))
    fields |= asdict(msgspec.convert(_told(split.headers, headers), split.headers, strict=False))
    if split.body is not None:
        fields |= asdict(msgspec.json.decode(body or b"{}", type=split.body))
    elif operation.shape is not None:
        plain = _decode(body or b"{}")
        fields[WHOLE_BODY] = body if operation.raw else plain
    return operation.order(**fields)


@dataclass(frozen=True, slots=True)
class WrittenOrder:
    """The parts of the request that gives an order."""

    target: str
    headers: dict[str, str]
    body: bytes | None


def write_order(operation: Operation[Order, Answer], order: Order) -> WrittenOrder:
    """Make the request that gives an order; `read_order` undoes it."""
    split = operation.split
    fields = asdict(order)
    named = {name: quote(_word(fields[name]), safe="") for name in split.path.__struct_fields__}
    target = _PATH_FIELD.sub(lambda match: named[match[1]], operation.path)
    if asked := _words(split.query, fields):
        target += "?" + urlencode(asked)
    told = {name.replace("_", "-"): word for name, word in _words(split.headers, fields).items()}
    return WrittenOrder(target, told, _body(operation, fields))


def _told(part: type[Struct], headers: Mapping[str, str]) -> dict[str, str]:
    names = {name: name.replace("_", "-") for name in part.__struct_fields__}
    return {name: headers[header] for name, header in names.items() if header in headers}


def _words(part: type[Struct], fields: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a part that say something, as words."""
    return {
        field.name: _word(fields[field.name])
        for field in msgspec.structs.fields(part)
        if fields[field.name] is not UNSET and fields[field.name] != _default(field)
    }


def _body(operation: Operation[Any, Any], fields: Mapping[str, Any]) -> bytes | None:
    if operation.raw:
        raw: bytes = fields[WHOLE_BODY]
        return raw
    if operation.shape is not None:
        return msgspec.json.encode(fields[WHOLE_BODY])
    part = operation.split.body
    if part is None:
        return None
    return msgspec.json.encode(part(**{name: fields[name] for name in part.__struct_fields__}))


def path_fields(path: str) -> list[str]:
    """The names of the fields in a path."""
    return _PATH_FIELD.findall(path)


def _split(
    order: type[Struct],
    method: str,
    path: str,
    query: tuple[str, ...],
    headers: tuple[str, ...],
) -> Split:
    named = path_fields(path)
    elsewhere = {*named, *headers, WHOLE_BODY}
    rest = [name for name in order.__struct_fields__ if name not in elsewhere]
    in_query = rest if method in _WITHOUT_BODY else [name for name in rest if name in query]
    in_body = [name for name in rest if name not in in_query]
    has_body = bool(in_body) and method not in _WITHOUT_BODY
    return Split(
        _part(order, tuple(named), "Path"),
        _part(order, tuple(in_query), "Query"),
        _part(order, headers, "Headers"),
        _part(order, tuple(in_body), "Body") if has_body else None,
    )


@cache
def _part(order: type[Struct], names: tuple[str, ...], suffix: str) -> type[Struct]:
    """The fields of an order that one part of a request carries; all of them are the order.

    Operations that take the same order share its parts, so that the document names each once.
    """
    if names == order.__struct_fields__:
        return order
    fields = {field.name: field for field in msgspec.structs.fields(order)}
    return msgspec.defstruct(
        f"{order.__name__}{suffix}",
        [_definition(fields[name]) for name in names],
        namespace={"__doc__": order.__doc__},
        kw_only=True,
        frozen=True,
        forbid_unknown_fields=order.__struct_config__.forbid_unknown_fields,
    )


def _definition(field: msgspec.structs.FieldInfo) -> tuple[str, Any] | tuple[str, Any, Any]:
    if field.default is not NODEFAULT:
        return field.name, field.type, field.default
    if field.default_factory is not NODEFAULT:
        return field.name, field.type, msgspec.field(default_factory=field.default_factory)
    return field.name, field.type


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def _first_sentence(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").partition("\n")[0].strip().rstrip(".")


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
