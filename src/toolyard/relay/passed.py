"""Requests, answers and notices of clients, as one replica passes them to another.

The client was judged where it came in. With its words goes who it is, and what it may see. Replicas
may be of different versions: a limit that is not known here is refused, never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from toolyard.relay.session import ClientRequest, Session
from toolyard.relay.view_key import ViewKey
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message


class PassedClient(msgspec.Struct, array_like=True, frozen=True):
    """A client, as much of it as another replica needs to serve it."""

    principal: str
    account: str
    caller: str
    view: bytes
    """What it sees; see `read_view`."""
    is_modern: bool
    version: str = ""
    capabilities: bytes = b"{}"
    info: bytes = b""
    agent: str = ""
    log_level: str | None = None
    member: str = ""
    token: str = ""


class PassedMessage(msgspec.Struct, array_like=True, frozen=True):
    """A message of a client: JSON as it was sent, but for blanks."""

    client: PassedClient
    message: bytes
    trace: bytes = b""
    mirrored: Mapping[str, str] | None = None
    forwarded: Mapping[bytes, bytes] | None = None
    address: str = ""


_VIEWS: Final = 1000
"""Views that are kept as they were written or read."""
_USUAL: Final = ViewKey()
_decode = msgspec.msgpack.Decoder(PassedMessage).decode
_decode_fields = msgspec.msgpack.Decoder(dict[str, Any]).decode


def read_passed(body: bytes) -> PassedMessage:
    """Read what another replica has passed on.

    Raises:
        msgspec.DecodeError: It cannot be read.
    """
    return _decode(body)


@lru_cache(_VIEWS)
def tell_view(view_key: ViewKey | None) -> bytes:
    """Write the key of a view: what is not as usual in it."""
    if view_key is None:
        return b""
    fields = ((name, getattr(view_key, name)) for name in ViewKey.__struct_fields__)
    told = {name: value for name, value in fields if value != getattr(_USUAL, name)}
    return msgspec.msgpack.encode(told)


@lru_cache(_VIEWS)
def read_view(told: bytes) -> ViewKey | None:
    """Read the key of a view.

    Raises:
        msgspec.DecodeError: It cannot be read, or says more than is known here.
    """
    if not told:
        return None
    fields = _decode_fields(told)
    unknown = fields.keys() - set(ViewKey.__struct_fields__)
    if unknown:
        raise msgspec.ValidationError(f"a replica of another version tells of {min(unknown)!r}")
    return msgspec.convert(fields, ViewKey)


def pass_request(request: ClientRequest) -> bytes:
    """A request for another replica."""
    message = jsonrpc.question(request.id, request.method, jsonrpc.encode(request.params))
    passed = PassedMessage(
        _client(request.session),
        message,
        request.trace,
        request.mirrored,
        request.forwarded,
        request.address,
    )
    return msgspec.msgpack.encode(passed)


def pass_answer(session: Session, answer: Message) -> bytes:
    """An answer for another replica, which asked."""
    whole = jsonrpc.error if answer.error else jsonrpc.result
    message = whole(answer.id, answer.error or answer.result)
    return msgspec.msgpack.encode(PassedMessage(_client(session), message))


def pass_notice(session: Session, notice: Message) -> bytes:
    """A notification for another replica."""
    message = jsonrpc.notification(notice.method, bytes(notice.params))
    return msgspec.msgpack.encode(PassedMessage(_client(session), message))


def make_guest(client: PassedClient, replica: str) -> Session:
    """A session for a client that is not here itself; it hears nothing unasked."""
    capabilities = jsonrpc.to_python(client.capabilities)
    return Session(
        client.principal,
        _mute,
        account=client.account,
        caller=client.caller,
        view_key=read_view(client.view),
        is_modern=client.is_modern,
        is_stateless=client.is_modern,
        agent=client.agent,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        raw_capabilities=client.capabilities,
        replica=replica,
        version=client.version,
        info=client.info,
        log_level=client.log_level,
        member=client.member,
        token=client.token,
        ready=True,
    )


def _client(session: Session) -> PassedClient:
    return PassedClient(
        session.principal,
        session.account,
        session.caller,
        tell_view(session.view_key),
        session.is_modern,
        session.version,
        session.raw_capabilities,
        session.info,
        session.agent,
        session.log_level,
        session.member,
        session.token,
    )


def _mute(_message: bytes) -> None:
    """Nobody listens."""
