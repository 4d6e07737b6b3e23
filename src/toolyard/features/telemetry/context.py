"""The trace that a request belongs to: read from `_meta` or headers, and written for the next hop.

The keys are those of W3C Trace Context, plain as SEP-414 has them. What else is in `_meta`, such as
`baggage`, crosses the hub as it is.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw
from opentelemetry.context import Context
from opentelemetry.trace import Link as SpanLink
from opentelemetry.trace import SpanContext, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolyard.relay.session import ClientRequest
from toolyard.wire import jsonrpc
from toolyard.wire.headers import add_trace
from toolyard.wire.jsonrpc import Fields

PARENT: Final = "traceparent"
STATE: Final = "tracestate"
_EMPTY: Final = Context()
_extract: Final = TraceContextTextMapPropagator().extract


def find_parent(request: ClientRequest) -> tuple[Context, list[SpanLink]]:
    """The span that caused a request, and what else it is linked to.

    `_meta` says more than the header: one HTTP request may be there for another reason than its
    message. What another replica passed on has the span of that replica in its header.
    """
    inner = _read(_meta_lines(request.meta)) if PARENT in request.meta else _EMPTY
    outer = _read(request.trace) if request.trace else _EMPTY
    if request.is_passed and outer:
        return outer, []
    if not inner:
        return outer, []
    transport = get_current_span(outer).get_span_context() if outer else None
    if transport is None or transport.span_id == get_current_span(inner).get_span_context().span_id:
        return inner, []
    return inner, [SpanLink(transport)]


def trace_lines(context: SpanContext) -> bytes:
    """A span as header lines; none if it is not valid."""
    if not context.is_valid:
        return b""
    line = b"traceparent: %b\r\n" % _traceparent(context)
    state = context.trace_state.to_header()
    return b"%btracestate: %b\r\n" % (line, state.encode()) if state else line


def with_trace(fields: Fields, context: SpanContext) -> Fields:
    """Params whose `_meta` names a span; unchanged if it is not valid."""
    if not context.is_valid:
        return fields
    meta = jsonrpc.fields(fields["_meta"]) if "_meta" in fields else {}
    meta.pop(STATE, None)
    meta[PARENT] = Raw(b'"%b"' % _traceparent(context))
    state = context.trace_state.to_header()
    if state:
        meta[STATE] = Raw(jsonrpc.encode(state))
    return {**fields, "_meta": Raw(jsonrpc.encode(meta))}


def _traceparent(context: SpanContext) -> bytes:
    return b"00-%032x-%016x-%02x" % (context.trace_id, context.span_id, context.trace_flags)


def _meta_lines(meta: Fields) -> bytes:
    """The trace in `_meta`, within the same bounds as that of headers."""
    lines = b""
    for key in (PARENT, STATE):
        if key in meta:
            value = jsonrpc.text(meta[key]).encode("utf-8", "replace")
            lines = add_trace(lines, key.encode(), value)
    return lines


def _read(lines: bytes) -> Context:
    """The span that header lines name; empty if it is none."""
    pairs = (line.split(": ", 1) for line in lines.decode("latin-1").splitlines())
    return _extract(dict(pairs), _EMPTY)
