"""The two greetings: the modern probe and the legacy handshake, and what their answers tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from toolyard import __version__
from toolyard.core.errors import LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Peer
from toolyard.links.link import Link, RequestRefusedError
from toolyard.links.pending import PendingRequest
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

CLIENT: Final = {"name": "toolyard", "title": "Toolyard", "version": __version__}
CAPABILITIES: Final = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
}
"""What a legacy server is told we can do: all that any client may have. A question that the
caller cannot answer is refused then, see docs/decisions/0005. One that runs for one client alone
is told what that client can do."""
ENVELOPE: Final = {era.META_VERSION: era.MODERN, era.META_CLIENT: CLIENT, era.META_CAPABILITIES: {}}
"""What every modern request of the hub's own carries."""
_NOT_LEGACY: Final = frozenset({era.UNSUPPORTED_VERSION, era.METHOD_NOT_FOUND})
"""How a server refuses the legacy greeting that knows only the modern era."""


def own_params(
    link: Link, fields: Mapping[str, object], able: era.Capabilities | None = None
) -> bytes:
    """Params of a request of the hub's own, with the envelope where the era wants one."""
    envelope = {**ENVELOPE, era.META_CAPABILITIES: able or {}}
    return jsonrpc.encode({**fields, "_meta": envelope} if link.is_modern else fields)


def send_probe(link: Link, seconds: float) -> PendingRequest:
    """Ask a server the modern way what it is."""
    params = jsonrpc.encode({"_meta": ENVELOPE})
    return _heard(link.request("server/discover", params, patience=seconds))


def send_greeting(link: Link, seconds: float) -> PendingRequest:
    """Say hello the legacy way; the answer is for `welcome`."""
    params = {
        "protocolVersion": era.LATEST_LEGACY,
        "capabilities": CAPABILITIES if link.declares is None else link.declares,
        "clientInfo": CLIENT,
    }
    return _heard(link.request("initialize", jsonrpc.encode(params), patience=seconds))


async def initialize(link: Link, seconds: float) -> None:
    """Shake hands the legacy way."""
    finish_greeting(link, await send_greeting(link, seconds).answer)


def finish_greeting(link: Link, message: Message) -> None:
    """Take the answer to a greeting, and say so."""
    welcome(link, message)
    link.notify("notifications/initialized")


def adopt(link: Link, message: Message) -> bool:
    """Take the answer to a probe; false means that it does not prove a modern server."""
    if not message.result:
        return False
    result = _object(message.result)
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or era.MODERN not in versions:
        return False
    meta = result.get("_meta")
    info = meta.get(era.META_SERVER) if isinstance(meta, dict) else None
    link.peer = _peer("modern", era.MODERN, result, info)
    link.capabilities = _capabilities(result)
    return True


def welcome(link: Link, message: Message) -> None:
    """Take the answer to a greeting."""
    if message.error:
        raise RequestRefusedError(link.name, "initialize", jsonrpc.read_fault(message.error))
    result = _object(message.result)
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise LinkError(f"{link.name!r} answered initialize without a protocol version")
    link.peer = _peer("legacy", version, result, result.get("serverInfo"))
    link.capabilities = _capabilities(result)


def refuses_legacy(message: Message) -> bool:
    """True if a greeting was answered by a server that knows the modern era alone."""
    return bool(message.error) and jsonrpc.read_fault(message.error).code in _NOT_LEGACY


def _peer(which: era.Era, version: str, result: JsonObject, info: Any) -> Peer:
    info = info if isinstance(info, dict) else {}
    return Peer(
        era=which,
        version=version,
        name=_text(info.get("name")),
        release=_text(info.get("version")),
        capabilities=jsonrpc.encode(_capabilities(result)),
        instructions=_text(result.get("instructions"), 16384),
    )


def _capabilities(result: JsonObject) -> era.Capabilities:
    capabilities = result.get("capabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def _object(raw: Any) -> JsonObject:
    try:
        value = jsonrpc.to_python(raw)
    except jsonrpc.MalformedError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any, limit: int = 200) -> str:
    return value[:limit] if isinstance(value, str) else ""


def succeeded(pending: PendingRequest) -> bool:
    """Return whether an answer has come, be it a refusal."""
    return not pending.answer.cancelled() and pending.answer.exception() is None


def is_refused_as_old(greeting: PendingRequest) -> bool:
    """True if only a modern server can have said so: one that is slow, and yet to answer."""
    if not greeting.answer.done() or not succeeded(greeting):
        return False
    error = greeting.answer.result().error
    return bool(error) and jsonrpc.read_fault(error).code == era.UNSUPPORTED_VERSION


def _heard(pending: PendingRequest) -> PendingRequest:
    """Of two greetings only one answer matters; the other may fail unseen."""
    pending.answer.add_done_callback(_look_away)
    return pending


def _look_away(answer: asyncio.Future[Message]) -> None:
    if not answer.cancelled():
        answer.exception()
