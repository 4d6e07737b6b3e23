"""JSON-RPC envelopes with the body left as the bytes that arrived.

Only `id`, `method` and the presence of `params`, `result` and `error` are
looked at; what is inside is passed on, not modelled.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Raw

NOTHING: Final = Raw(b"")
Fields = dict[str, Raw]
"""A JSON object of which only the keys are known."""


class Message(msgspec.Struct):
    """One JSON-RPC message: a request, a notification, or an answer."""

    method: str = ""
    id: Raw = NOTHING
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING

    @property
    def is_request(self) -> bool:
        """True if it wants an answer."""
        return bool(self.method) and bool(bytes(self.id))

    @property
    def is_answer(self) -> bool:
        """True if it answers a request of ours."""
        return not self.method


class Mark(msgspec.Struct):
    """The one member that every message of JSON-RPC has."""

    jsonrpc: Literal["2.0"]


class ErrorForm(msgspec.Struct):
    """The members that every error has; what else it tells is not looked at."""

    code: int
    message: str


class Fault(msgspec.Struct, omit_defaults=True):
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


decode: Final = msgspec.json.Decoder(Message).decode
decode_fields: Final = msgspec.json.Decoder(Fields).decode
decode_fault: Final = msgspec.json.Decoder(Fault).decode
_decode_error_form: Final = msgspec.json.Decoder(ErrorForm).decode
_decode_raw: Final = msgspec.json.Decoder(Raw).decode
_decode_mark: Final = msgspec.json.Decoder(Mark).decode
encode: Final = msgspec.json.Encoder().encode
to_python: Final = msgspec.json.Decoder().decode

MalformedError = (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError)
"""Raised by the decoders for bytes that are not what they should be."""

_QUOTED_ERROR: Final = 1000
"""Bytes of an error that has no known form; more of them tell nobody more."""
_BIG: Final = 1 << 16
"""From here on an answer's strings are stepped over: scanning them would cost most."""
_ENDS: Final = (b"}}", b"]}", b'"}')
"""The ends of an answer without a blank that does not belong to its result."""
_QUOTES: Final = 128
"""Marks of strings that are stepped over one by one; with more, scanning it all is cheaper."""
_SLASHES: Final = 8
"""Backslashes before such a mark that are counted."""
_HEAD: Final = re.compile(
    rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,\s*"(result|error)"\s*:\s*'
)
"""The beginning of nearly every answer, up to the first byte of its result."""


def read(raw: bytes) -> Message:
    """Read one message; what is in the strings of a large answer is not looked at."""
    if (
        len(raw) > _BIG
        and (head := _HEAD.match(raw))
        and head[2] == b"result"
        and raw.endswith(_ENDS)
        and _is_one_value(raw, head.end())
    ):
        return Message(id=Raw(head[1]), result=Raw(memoryview(raw)[head.end() : -1]))
    try:
        return decode(raw)
    except msgspec.DecodeError:
        if b"\\u" not in raw:
            raise
        return decode(_ESCAPE.sub(_whole, raw))


def claimed_id(raw: bytes) -> bytes:
    """The id of the request that malformed bytes begin to answer; empty if they begin otherwise."""
    head = _HEAD.match(raw)
    return head[1] if head is not None else b""


def _is_one_value(raw: bytes, start: int) -> bool:
    """Tell whether one JSON value, and nothing more, stands between there and the last byte.

    Else a server could end its answer early and say more in its place, under any id. Strings are
    found by their marks and left out; of what is left, all is checked. False also means that
    stepping from mark to mark is no shorter way.
    """
    rest, at, end, is_inside = bytearray(), start, len(raw) - 1, False
    for _ in range(_QUOTES):
        mark = raw.find(b'"', at, end)
        if mark < 0:
            rest += raw[at:end]
            return _is_valid(rest)
        before = raw[mark - _SLASHES : mark]
        slashes = _SLASHES - len(before.rstrip(b"\\"))
        if slashes == _SLASHES:
            return False
        if not is_inside:
            rest += raw[at : mark + 1]
            is_inside = True
        elif slashes % 2 == 0:
            rest += b'"'
            is_inside = False
        at = mark + 1
    return False


def _is_valid(raw: bytearray) -> bool:
    try:
        _decode_raw(raw)
    except MalformedError:
        return False
    return True


class Glimpse(NamedTuple):
    """As much of a message as its beginning and end tell."""

    id: bytes
    """Empty if it has none, or none that can be seen."""
    is_answer: bool | None
    """None if nobody can tell."""


def glimpse(head: bytes, tail: bytes) -> Glimpse:
    """See what a message is that is too long to be read, from how it begins and ends.

    Only members of the message itself are seen: what stands deeper is followed by more brackets.
    """
    begun, ended = _BEGUN.match(head), _ENDED.search(tail)
    id_ = (begun and begun["id"]) or (ended and ended["id"]) or b""
    return Glimpse(id_, begun["member"] in (b"result", b"error") if begun else None)


_VERSION_MEMBER: Final = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID_MEMBER: Final = rb'"id"\s*:\s*(?P<id>-?\d+|"[^"\\]*")\s*'
_BEGUN: Final = re.compile(
    rb"\s*\{\s*(?:%b,\s*)?(?:%b,\s*)?(?:%b,\s*)?"
    rb'"(?P<member>method|params|result|error)"' % (_VERSION_MEMBER, _ID_MEMBER, _VERSION_MEMBER)
)
_ENDED: Final = re.compile(rb",\s*%b(?:,\s*%b)?\}\s*$" % (_ID_MEMBER, _VERSION_MEMBER))


# Half of a surrogate pair: what is left when a server cuts a text in the middle of an emoji.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)", re.DOTALL
)


def _whole(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if len(escape[0]) == 6 else escape[0]


def read_fault(raw: Raw | bytes) -> Fault:
    """The error of an answer; one that is not in the right form is quoted."""
    try:
        return decode_fault(raw)
    except MalformedError:
        return Fault(0, bytes(raw).decode("utf-8", "replace"))


def error_code(error: Raw) -> int:
    """The code of an error; 0 if it has another form."""
    try:
        return _decode_error_form(error).code
    except MalformedError:
        return 0


def well_formed(error: Raw) -> Raw:
    """The error of an answer as clients can read it: as it is, or quoted if it has another form."""
    try:
        _decode_error_form(error)
    except MalformedError:
        text = bytes(memoryview(error)[:_QUOTED_ERROR]).decode("utf-8", "replace")
        return Raw(encode(Fault(0, text)))
    return error


def fields(raw: Raw | bytes) -> Fields:
    """The members of a params object; absent params have none."""
    return decode_fields(raw) if bytes(raw) else {}


def text(raw: Raw | None) -> str:
    """The text of a member; an empty one if it has none, or is something else."""
    value = to_python(raw) if raw is not None else ""
    return value if isinstance(value, str) else ""


def request(number: int, method: str, params: bytes) -> bytes:
    """A request of ours; the number is its id."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}' % (
        number,
        method.encode(),
        params,
    )


def question(id_: bytes, method: str, params: bytes) -> bytes:
    """A request of ours to a client; its id is as it stands in JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (id_, method.encode(), params)


def notification(method: str, params: bytes = b"") -> bytes:
    """A notification of ours."""
    if not params:
        return b'{"jsonrpc":"2.0","method":"%b"}' % method.encode()
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), params)


def result(id_: Raw | bytes, body: Raw | bytes) -> bytes:
    """The answer to the request with this raw id."""
    return b'{"jsonrpc":"2.0","result":%b,"id":%b}' % (body, id_)


def error(id_: Raw | bytes, body: Raw | bytes) -> bytes:
    """The refusal of the request with this raw id; an unknown id is null."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id_ or b"null", body)


def fault(code: int, text: str, data: Any = None) -> bytes:
    """The bytes of an error object."""
    return encode(Fault(code, text, data))


def is_message(raw: bytes) -> bool:
    """Tell whether these bytes are a message of JSON-RPC 2.0, and not just some JSON."""
    try:
        _decode_mark(raw)
    except MalformedError:
        return False
    return True


_BRACKETS: Final = re.compile(rb'"[^"\\]*+(?:\\.?+[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
"""Strings and brackets; a string without end is not tried again from within: linear time."""


def is_too_deep(raw: bytes, limit: int) -> bool:
    """Tell whether arrays and objects nest deeper than `limit`."""
    if raw.count(b"{") + raw.count(b"[") <= limit:
        return False
    depth = 0
    for token in _BRACKETS.finditer(raw):
        mark = raw[token.start()]
        if mark in b"[{":
            depth += 1
            if depth > limit:
                return True
        elif mark in b"]}":
            depth -= 1
    return False


def in_utf_8(raw: bytes) -> bytes:
    """The same JSON with what is not UTF-8 marked: no reader of JSON takes it as it is."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace").encode()
    return raw


def one_line(raw: bytes) -> bytes:
    """The same JSON without any byte that some reader takes for the end of a line, or of all lines.

    Line ends between tokens become blanks; the exotic ones can only stand in
    strings, where their escapes mean the same. What is not UTF-8, such as half
    a character, is marked: some readers end their connection for one such byte.
    """
    if b"\n" in raw or b"\r" in raw:
        raw = raw.replace(b"\r", b" ").replace(b"\n", b" ")
    if raw.isascii():
        return raw
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        raw = text.encode()
    for mark, escape in _EXOTIC:
        if mark in text:  # found sooner in text than in bytes
            raw = raw.replace(mark.encode(), escape)
    return raw


_EXOTIC: Final = (("\u2028", b"\\u2028"), ("\u2029", b"\\u2029"), ("\x85", b"\\u0085"))
