"""The shapes in which clients can read what servers offer.

The library of a client reads a list as a whole: one tool in a shape it does not know costs the
client the tools of every server. So what does not fit is mended member by member: an optional one
is left out, a required one filled in. What fits stays the bytes it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, ClassVar, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from toolyard.core.model import Offer, Offers
from toolyard.core.outputs import legacy_output

Fields = dict[str, Raw]
Text = str | UnsetType
Flag = bool | UnsetType

MalformedError: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_OBJECT: Final = b'{"type":"object"}'
_encode: Final = msgspec.json.Encoder().encode
_members: Final = msgspec.json.Decoder(Fields).decode
_items: Final = msgspec.json.Decoder(list[Raw]).decode
_value: Final = msgspec.json.Decoder().decode


# What the official libraries read; members they do not know may be anything.


class Shape(Struct, rename="camel"):
    """An object; `filled` has the members that are filled in where they are missing or wrong."""

    filled: ClassVar[Mapping[str, bytes]] = {}


class Anything(Shape):
    """Any object."""


class Subschema(Shape):
    """The schema of one argument."""


class Arguments(Shape):
    """The schema of a tool's arguments."""

    filled: ClassVar[Mapping[str, bytes]] = {"type": b'"object"'}
    type: Literal["object"]
    dialect: Text = field(default=UNSET, name="$schema")
    properties: dict[str, Subschema] | UnsetType = UNSET
    required: list[str] | UnsetType = UNSET


class Output(Shape):
    """The schema of what a tool returns."""

    dialect: Text = field(default=UNSET, name="$schema")


class Icon(Shape):
    """A picture of an offer."""

    src: str
    mime_type: Text = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: Literal["light", "dark"] | UnsetType = UNSET


class Hints(Shape):
    """Effects of a tool, as its author sees them."""

    title: Text = UNSET
    read_only_hint: Flag = UNSET
    destructive_hint: Flag = UNSET
    idempotent_hint: Flag = UNSET
    open_world_hint: Flag = UNSET


class Execution(Shape):
    """The ways a tool may be run."""

    task_support: Literal["required", "optional", "forbidden"] | UnsetType = UNSET


class Note(Shape):
    """For whom a resource is, how much it matters, and since when it is as it is."""

    audience: list[Literal["user", "assistant"]] | UnsetType = UNSET
    priority: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    last_modified: (
        Annotated[
            str,
            Meta(
                pattern=r"^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?"
                r"(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z"
            ),
        ]
        | UnsetType
    ) = UNSET

    def __post_init__(self) -> None:
        """The pattern does not know how many days a month has."""
        if isinstance(self.last_modified, str):
            date.fromisoformat(self.last_modified[:10])


class Argument(Shape):
    """An argument of a prompt."""

    name: str
    title: Text = UNSET
    description: Text = UNSET
    required: Flag = UNSET


class _Offered(Shape):
    title: Text = UNSET
    description: Text = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")


class Tool(_Offered, kw_only=True):
    """A tool."""

    filled: ClassVar[Mapping[str, bytes]] = {"inputSchema": _OBJECT}
    input_schema: Arguments
    output_schema: Output | UnsetType = UNSET
    annotations: Hints | UnsetType = UNSET
    execution: Execution | UnsetType = UNSET


class Prompt(_Offered):
    """A prompt."""

    arguments: list[Argument] | UnsetType = UNSET


class Resource(_Offered, kw_only=True):
    """A resource, or a template of some."""

    name: str
    mime_type: Text = UNSET
    size: int | UnsetType = UNSET
    annotations: Note | UnsetType = UNSET


_KINDS: Final[Mapping[str, type[Shape]]] = {
    "tools": Tool,
    "prompts": Prompt,
    "resources": Resource,
    "templates": Resource,
}
_DECODE: Final = {kind: msgspec.json.Decoder(shape).decode for kind, shape in _KINDS.items()}
KEYS: Final[Mapping[str, str]] = {
    "tools": "name",
    "prompts": "name",
    "resources": "uri",
    "templates": "uriTemplate",
}
"""The member that tells an offer from others of its kind."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """An offer under its exposed name, as clients of each era read it."""

    modern: bytes
    legacy: bytes
    wraps: bool = False
    """True if the tool returns something else than an object; legacy clients get it in one."""


def shaped(kind: str, offer: Offer, name: str) -> Shaped:
    """An offer as clients can read it, under the name they see.

    A tool that is `unfit` can be read then, but not called: leave it out.
    """
    raw = offer.raw if _is_read(kind, offer.raw) else _mend_offer(kind, offer.raw)
    if name == offer.key and b'"outputSchema"' not in raw:
        return Shaped(raw, raw)
    fields = _members(raw)
    if name != offer.key:
        fields[KEYS[kind]] = Raw(_encode(name))
        raw = _fitted(fields)
    if "outputSchema" not in fields:
        return Shaped(raw, raw)
    output = bytes(fields.pop("outputSchema"))
    fitting, wraps = legacy_output(output)
    if fitting is output:
        return Shaped(raw, raw, wraps)
    if fitting is not None:
        fields["outputSchema"] = Raw(fitting)
    return Shaped(raw, _fitted(fields), wraps)


def _fitted(fields: Mapping[str, Raw]) -> bytes:
    """Encode into as many bytes as it takes: msgspec's own have room for half as many again."""
    return bytes(memoryview(_encode(fields)))


def unfit(offers: Offers) -> frozenset[str]:
    """The tools that nobody could call: their arguments are no object."""
    return frozenset(offer.key for offer in offers.tools if not _takes_object(offer.raw))


def _takes_object(raw: bytes) -> bool:
    if b'"inputSchema":{"type":"object"' in raw:
        return True  # so nearly all of them begin
    try:
        schema = bytes(_members(raw).get("inputSchema", b""))
        type_ = _value(_members(schema).get("type", b"null")) if schema[:1] == b"{" else None
    except MalformedError:
        return True
    return type_ in ("object", None) or (isinstance(type_, list) and "object" in type_)


# Mending.


def _is_read(kind: str, raw: bytes) -> bool:
    try:
        _DECODE[kind](raw)
    except MalformedError:
        return False
    return True


def _mend_offer(kind: str, raw: bytes) -> bytes:
    if kind in ("resources", "templates"):
        # One without a name is called by its address.
        fields = _members(raw)
        if not _fits(bytes(fields.get("name", b"null")), str):
            fields["name"] = fields[KEYS[kind]]
            raw = _encode(fields)
    return _mended(raw, _KINDS[kind]) or raw


def _fits(raw: bytes, type_: Any) -> bool:
    try:
        msgspec.json.decode(raw, type=type_)
    except MalformedError:
        return False
    return True


def _mended(raw: bytes, type_: Any) -> bytes | None:
    """A value of a type, with as much as possible of what was said; None if there is none."""
    if _fits(raw, type_):
        return raw
    if type_ is Subschema:
        return b'{"not":{}}' if raw == b"false" else b"{}"
    if isinstance(type_, type) and issubclass(type_, Shape):
        return _mend_object(raw, type_) if raw[:1] == b"{" else None
    if get_origin(type_) is list:
        return _mend_list(raw, get_args(type_)[0])
    if get_origin(type_) is dict and raw[:1] == b"{":
        return _mend_map(raw, get_args(type_)[1])
    return None


def _mend_list(raw: bytes, type_: Any) -> bytes | None:
    if raw[:1] != b"[":
        # One alone is meant as a list of it.
        return b"[%b]" % raw if _fits(raw, type_) else None
    mended = (_mended(bytes(item), type_) for item in _items(raw))
    return b"[%b]" % b",".join(item for item in mended if item is not None)


def _mend_map(raw: bytes, type_: Any) -> bytes:
    mended = {name: _mended(bytes(value), type_) for name, value in _members(raw).items()}
    return _encode({name: Raw(value) for name, value in mended.items() if value is not None})


def _mend_object(raw: bytes, shape: type[Shape]) -> bytes | None:
    fields = _members(raw)
    types = get_type_hints(shape, include_extras=True)
    for info in msgspec.structs.fields(shape):
        name = info.encode_name
        parts = get_args(types[info.name])
        type_ = parts[0] if UnsetType in parts else types[info.name]
        mended = _mended(bytes(fields[name]), type_) if name in fields else None
        mended = mended or shape.filled.get(name)
        if mended is not None:
            fields[name] = Raw(mended)
        elif info.required:
            return None
        else:
            fields.pop(name, None)
    return _encode(fields)
