"""Spans and durations of requests, by OpenTelemetry's conventions for MCP.

A request of a client has a SERVER span, from its door to its answer, and every message that it
sends to a server a CLIENT span below it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from msgspec import Raw
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.span import Span

from toolyard.core.errors import LinkTimeoutError
from toolyard.features.history.call_log import looks_failed
from toolyard.features.telemetry.context import find_parent, trace_lines, with_trace
from toolyard.features.telemetry.names import (
    ERROR,
    ID,
    METHOD,
    METHODS,
    OPERATION,
    OTHER,
    PROMPT,
    RESOURCE,
    SERVER,
    SESSION,
    STATUS,
    TOOL,
    TOOL_ERROR,
    TRANSPORT,
    VERSION,
    VERSIONS,
)
from toolyard.links.link import Link
from toolyard.records.secrets.mask import MASK, hide_in_addresses
from toolyard.relay.session import ClientRequest, Responder
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

LISTEN: Final = "subscriptions/listen"
"""Has no end that says anything: it is as long as its client is there."""
NAME_CHARS: Final = 128
ADDRESS_CHARS: Final = 1024
REASON_CHARS: Final = 500
_RESULT: Final = b'{"jsonrpc":"2.0","result":'
"""The beginning of every answer that is no error."""
Facts = dict[str, str]


class RequestTracer:
    """Begins the spans of requests."""

    def __init__(self, tracer: Tracer, as_server: Histogram, as_client: Histogram) -> None:
        """Make spans with `tracer`, and measure what clients, and what servers take."""
        self.tracer = tracer
        self.as_server = as_server
        self.as_client = as_client

    def begin(self, request: ClientRequest) -> None:
        """Begin the span of a request, if it has none yet; its answer ends it."""
        if request.span is not None or request.method == LISTEN:
            return
        session = request.session
        method = request.method if request.method in METHODS else OTHER
        version = era.MODERN if session.is_modern else session.version
        facts = {METHOD: method}
        if version in VERSIONS:
            facts[VERSION] = version
        own = {**facts, ID: request.id.decode("utf-8", "replace").strip('"')[:NAME_CHARS]}
        if not (session.is_modern or session.is_stateless):
            own[SESSION] = session.principal
        target = _target(method, request.name, own)
        parent, links = find_parent(request)
        name = f"{method} {target}" if target else method
        span = self.tracer.start_span(name, parent, SpanKind.SERVER, own, links)
        request.trace = trace_lines(span.get_span_context()) or request.trace
        request.span = request.responder = TracedRequest(self, request, span, facts, target)


class TracedRequest:
    """A request under way: the way back to its client, which ends its span."""

    __slots__ = (
        "_began",
        "_context",
        "_facts",
        "_responder",
        "_span",
        "_target",
        "_tracer",
        "emit",
        "takes_stream",
    )

    def __init__(
        self, tracer: RequestTracer, request: ClientRequest, span: Span, facts: Facts, target: str
    ) -> None:
        """Note what goes to its metric (`facts`), and the tool or prompt that it names."""
        self._tracer = tracer
        self._responder: Responder = request.responder
        self._span = span
        self._facts = facts
        self._target = target
        self._context: Context | None = None
        self._began = monotonic()
        self.emit = request.responder.emit
        self.takes_stream = request.responder.takes_stream

    def hop(self, link: Link, method: str, fields: Fields) -> TracedHop:
        """Begin the span of a message that it sends to a server."""
        if self._context is None:
            self._context = set_span_in_context(self._span, Context())
        return TracedHop(self._tracer, self._context, link, method, fields)

    def answer(self, message: bytes, error: Raw) -> None:
        """Send the answer, and end the span."""
        self._responder.answer(message, error)
        if error or not message.startswith(_RESULT):
            self._fail(error or jsonrpc.decode(message).error)
        elif self._facts[METHOD] == "tools/call" and _is_tool_error(message):
            self._end(TOOL_ERROR)
        else:
            self._end("")

    def cancelled(self, id_: bytes) -> None:
        """There will be no answer."""
        self._responder.cancelled(id_)
        self._end("cancelled")

    def _fail(self, error: Raw) -> None:
        fault = jsonrpc.read_fault(error)
        self._facts[STATUS] = str(fault.code)
        self._end(str(fault.code), fault.message)

    def _end(self, kind: str, reason: str = "") -> None:
        facts = self._facts
        # A name that leads nowhere is anything that a client may think of.
        if self._context is not None or not kind:
            _name(facts, self._target)
        _end(self._span, facts, kind, reason)
        self._tracer.as_server.record(monotonic() - self._began, facts, Context())


class TracedHop:
    """A message on its way to a server, until that has answered."""

    __slots__ = ("_began", "_facts", "_span", "_tracer", "fields", "trace")

    def __init__(
        self, tracer: RequestTracer, parent: Context, link: Link, method: str, fields: Fields
    ) -> None:
        facts = {METHOD: method, SERVER: link.name}
        if link.peer.version in VERSIONS:
            facts[VERSION] = link.peer.version
        if link.pid or not link.where:
            facts[TRANSPORT] = "pipe" if link.pid else "tcp"
        self._tracer = tracer
        self._facts = facts
        own = {**facts, ID: str(link.next_number())}
        key = era.NAMED.get(method)
        target = _target(method, jsonrpc.text(fields.get(key)) if key else "", own)
        _name(facts, target)
        name = f"{method} {target}" if target else method
        self._span = tracer.tracer.start_span(name, parent, SpanKind.CLIENT, own)
        context = self._span.get_span_context()
        self.fields = with_trace(fields, context)
        self.trace = trace_lines(context)
        self._began = monotonic()

    def end(self, answer: asyncio.Future[Message]) -> None:
        """The server has answered, or never will."""
        kind = reason = ""
        failure = None if answer.cancelled() else answer.exception()
        if answer.cancelled():
            kind = "cancelled"
        elif failure is not None:
            kind = "timeout" if isinstance(failure, LinkTimeoutError) else type(failure).__name__
            reason = str(failure)
        elif answer.result().error:
            fault = jsonrpc.read_fault(answer.result().error)
            kind = self._facts[STATUS] = str(fault.code)
            reason = fault.message
        elif self._facts[METHOD] == "tools/call" and _is_tool_error(answer.result().result):
            kind = TOOL_ERROR
        _end(self._span, self._facts, kind, reason)
        self._tracer.as_client.record(monotonic() - self._began, self._facts, Context())


def _target(method: str, name: str, own: Facts) -> str:
    """Note what a request names; return the part of it that belongs into the name of its span."""
    if method == "resources/read":
        own[RESOURCE] = hide_in_addresses(MASK.hide(name))[:ADDRESS_CHARS]
        return ""
    _name(own, name[:NAME_CHARS])
    return name[:NAME_CHARS] if method in ("tools/call", "prompts/get") else ""


def _name(facts: Facts, target: str) -> None:
    """Note the tool or prompt that a request names."""
    method = facts[METHOD]
    if method == "tools/call":
        facts[OPERATION] = "execute_tool"
        if target:
            facts[TOOL] = target
    elif method == "prompts/get" and target:
        facts[PROMPT] = target


def _end(span: Span, facts: Facts, kind: str, reason: str) -> None:
    """End a span; `kind` is the class of its error, empty if there is none."""
    if kind:
        facts[ERROR] = kind
        if span.is_recording():
            span.set_attribute(ERROR, kind)
            if STATUS in facts:
                span.set_attribute(STATUS, facts[STATUS])
            span.set_status(Status(StatusCode.ERROR, MASK.hide(reason)[:REASON_CHARS] or None))
    span.end()


def _is_tool_error(answer: bytes) -> bool:
    """Tell whether a tool says that it failed; `answer` is a result, or the message with it."""
    if not looks_failed(answer):
        return False
    members = jsonrpc.fields(answer)
    if "jsonrpc" in members:
        members = jsonrpc.fields(members["result"])
    return bytes(members.get("isError", b"")) == b"true"
