"""Sends a client's request over a link, in the words of its server's era."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Raw

from toolyard.links.link import Link
from toolyard.links.pending import PendingRequest
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest
from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.jsonrpc import Fields

RETRIED: Final = frozenset({"inputResponses", "requestState"})
"""Members of a call that goes on after questions."""
_FOREIGN: Final = RETRIED | {"task"}
"""Members of a modern call that a legacy server takes for something else, or not at all."""
_VERSION: Final = Raw(jsonrpc.encode(era.MODERN))


def start_plain(
    link: Link, request: ClientRequest, method: str, fields: Fields, route: Route
) -> PendingRequest:
    """Send a request as it is to a server of the client's era."""
    if request.meta:
        fields = {**fields, "_meta": hop_meta(link, request)}
    head = head_lines(request, fields, route) if request.session.is_modern else b""
    return start(link, request, method, fields, head)


def start_legacy(link: Link, request: ClientRequest, method: str, fields: Fields) -> PendingRequest:
    """Send the request of a modern client to a legacy server, whose questions may interrupt it."""
    request.may_park = True
    plain = dict(fields)
    for key in _FOREIGN & plain.keys():
        del plain[key]
    if request.meta.keys() <= era.CONNECTION_KEYS:
        plain.pop("_meta", None)
    else:
        plain["_meta"] = hop_meta(link, request)
    return start(link, request, method, plain)


def start(
    link: Link, request: ClientRequest, method: str, fields: Fields, head: bytes = b""
) -> PendingRequest:
    """Send a request; `head` are header lines for a server behind HTTP."""
    if request.forwarded is not None and link.forwards:
        head += forward_lines(link, request.forwarded)
    if request.span is None:
        pending = link.request(method, jsonrpc.encode(fields), request, head=head + request.trace)
    else:
        hop = request.span.hop(link, method, fields)
        head += hop.trace
        pending = link.request(method, jsonrpc.encode(hop.fields), request, head=head)
        pending.answer.add_done_callback(hop.end)
    request.sent = (link, pending.number)
    if request.turns is not None:
        # Also beyond this request: a parked call goes on with the next one.
        pending.when_answered(request.turns.leave)
        request.turns = None
    return pending


def forward_lines(link: Link, forwarded: Mapping[bytes, bytes]) -> bytes:
    """The header lines of a caller that a server's entry lets through; they are of one call."""
    return b"".join(
        b"%b: %b\r\n" % (to, forwarded[name]) for name, to in link.forwards if name in forwarded
    )


def hop_meta(link: Link, request: ClientRequest) -> Raw:
    """The `_meta` for the next hop: our progress token, and the envelope its era wants."""
    meta = dict(request.meta)
    if "progressToken" in meta:
        meta["progressToken"] = Raw(b"%d" % link.next_number())
    if not link.is_modern:
        for key in era.CONNECTION_KEYS & meta.keys():
            del meta[key]
    elif not request.is_modern:
        session = request.session
        meta[era.META_VERSION] = _VERSION
        meta[era.META_CAPABILITIES] = Raw(session.raw_capabilities)
        if session.info:
            meta[era.META_CLIENT] = Raw(session.info)
        if session.log_level is not None:
            meta[era.META_LOG_LEVEL] = Raw(jsonrpc.encode(session.log_level))
    return Raw(jsonrpc.encode(meta))


def head_lines(request: ClientRequest, fields: Fields, route: Route) -> bytes:
    """The header lines that repeat parts of the body for a modern server behind HTTP."""
    lines = list((request.mirrored or {}).items())
    if route.marked and "arguments" in fields:
        own = headers.mirror(route.marked, jsonrpc.to_python(fields["arguments"]))
        names = {name.lower() for name, _ in own}
        lines = own + [(name, value) for name, value in lines if name.lower() not in names]
    if not lines:
        return route.head
    return route.head + "".join(f"{name}: {value}\r\n" for name, value in lines).encode("latin-1")
