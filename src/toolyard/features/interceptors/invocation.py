"""One invocation, in the words of the MCP interceptors working group (SEP-1763, SEP-2624)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from toolyard import __version__
from toolyard.core.errors import CallRefusedError, LinkError
from toolyard.core.interceptors import Interceptor
from toolyard.core.jsontypes import JsonObject
from toolyard.relay.session import Session, agent_of
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

METHOD: Final = "interceptor/invoke"
EVENT: Final = "tools/call"
LONGEST: Final = 1000
"""Characters of what an interceptor says that a caller is told."""
_META: Final = {
    era.META_VERSION: era.MODERN,
    era.META_CLIENT: {"name": "toolyard", "version": __version__},
    era.META_CAPABILITIES: {},
}
OnePhase = Literal["request", "response"]


class Remark(Struct):
    """One remark of a validator."""

    message: str
    path: str = ""


class Verdict(Struct):
    """The answer of a validator."""

    valid: bool
    severity: Literal["info", "warn", "error"] = "error"
    messages: list[Remark] = []


class Mutated(Struct):
    """The answer of a mutator."""

    modified: bool
    payload: Raw = jsonrpc.NOTHING


class Block(Struct):
    """One block of a result."""

    type: Annotated[str, Meta(min_length=1)]


class LeastResult(Struct, rename="camel"):
    """The least that a result of a tool is."""

    content: list[Block]
    is_error: bool = False


class CallParams(Struct):
    """The params of a call, as a mutator gives them back."""

    name: str
    arguments: dict[str, Raw] = {}


class CallPayload(Struct):
    """A call, as a mutator gives it back."""

    params: CallParams


def request_payload(tool: str, arguments: Raw) -> bytes:
    """The payload of a call before it is made."""
    call = {"method": EVENT, "params": {"name": tool, "arguments": arguments or Raw(b"{}")}}
    return jsonrpc.encode(call)


def make_params(
    interceptor: Interceptor, phase: OnePhase, payload: bytes, session: Session | None, server: str
) -> bytes:
    """The params of one invocation."""
    params: JsonObject = {
        "name": interceptor.invoke,
        "event": EVENT,
        "phase": phase,
        "payload": Raw(payload),
        "timeoutMs": round(interceptor.seconds * 1000),
        "context": _context(session, server),
        "_meta": _META,
    }
    if interceptor.config:
        params["config"] = Raw(interceptor.config)
    return jsonrpc.encode(params)


def _context(session: Session | None, server: str) -> JsonObject:
    context: JsonObject = {"timestamp": datetime.now(UTC).isoformat(), "server": server}
    if session is not None:
        id_ = session.member or session.caller
        kind = "user" if session.member else "service" if id_ else "anonymous"
        context["principal"] = {"type": kind, "id": id_} if id_ else {"type": kind}
        context["client"] = session.agent or agent_of(session.info)
    return context


def read_answer(message: Message) -> Raw:
    """Return the result of an invocation.

    Raises:
        LinkError: The interceptor says that it failed.
    """
    if message.error or not message.result:
        fault = jsonrpc.read_fault(message.error)
        raise LinkError(f"it says: {fault.message[:LONGEST]} ({fault.code})")
    return message.result


def check_verdict(interceptor: Interceptor, phase: OnePhase, result: Raw) -> None:
    """See whether a validator lets a call pass.

    Raises:
        CallRefusedError: It does not.
        LinkError: The answer is none.
    """
    verdict = _read(result, Verdict, "its answer is no verdict")
    if verdict.valid or verdict.severity != "error":
        return
    said = "; ".join(f"{note.path}: {note.message}".removeprefix(": ") for note in verdict.messages)
    about = "this call" if phase == "request" else "the result of this call"
    text = f"the interceptor {interceptor.name!r} refused {about}"
    raise CallRefusedError(f"{text}: {said[:LONGEST]}" if said else text)


def mutated_arguments(tool: str, result: Raw) -> Raw | None:
    """Return the arguments that a mutator wants; None if they stay.

    Raises:
        LinkError: It gives back what is no call of that tool.
    """
    mutated = _read(result, Mutated, "its answer is no mutation")
    if not mutated.modified:
        return None
    call = _read(mutated.payload, CallPayload, "it made of the call what is none")
    if call.params.name != tool:
        raise LinkError(f"it made of the call one of {call.params.name[:80]!r}")
    return Raw(jsonrpc.encode(call.params.arguments))


def mutated_result(before: Raw, result: Raw) -> Raw | None:
    """Return the result that a mutator wants; None if it stays.

    Raises:
        LinkError: It gives back what is no result of a tool.
    """
    mutated = _read(result, Mutated, "its answer is no mutation")
    if not mutated.modified:
        return None
    _read(mutated.payload, LeastResult, "it made of the result what is none")
    fields = jsonrpc.fields(mutated.payload)
    return Raw(jsonrpc.encode({**_kept(before), **fields}))


def _kept(before: Raw) -> Fields:
    """The members of a result that are not a tool's, but those of its era."""
    return {name: raw for name, raw in jsonrpc.fields(before).items() if name == "resultType"}


def _read(raw: Raw, shape: Any, complaint: str) -> Any:
    try:
        return msgspec.json.decode(raw, type=shape)
    except jsonrpc.MalformedError as error:
        raise LinkError(f"{complaint} ({error})") from error
