"""The ids of legacy sessions: random, or sealed descriptions from which any replica goes on."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Protocol

import msgspec

from toolyard.core.caller import Caller
from toolyard.core.jsontypes import JsonObject
from toolyard.doors.http.ended import EndedSessions
from toolyard.doors.http.path_scope import WHOLE, read_scope
from toolyard.relay.client_greeting import ClientGreeting, read_greeting
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields
from toolyard.wire.seal import ROOM, Seal

PURPOSE: Final = "session"
_DAY: Final = 86400.0
_NAME_CHARS: Final = 100
"""Characters of a client's name that are looked at anywhere."""
_IDENTITY: Final = ("name", "version")
"""The members of `clientInfo` by which clients are told apart."""
_PARTS: Final = {
    "elicitation": ("form", "url"),
    "sampling": ("tools", "context"),
    "roots": ("listChanged",),
}
"""The capabilities that decide what a client may be asked, with the parts that matter."""


class SessionIds(Protocol):
    """Makes the ids of sessions, and knows those that other replicas made."""

    replica: str
    """The name of this hub, if others take up its sessions; else empty."""

    def make(self, caller: Caller, path: str, params: Fields) -> bytes:
        """Make the id of a session that begins; `params` are those of `initialize`."""
        ...

    def open(self, caller: Caller, path: str, id_: bytes) -> ClientGreeting | None:
        """Read how a client introduced itself from an id; None if it may not go on here."""
        ...

    def principal(self, id_: bytes) -> str:
        """Return what stands for the client of a session, the same at every replica."""
        ...

    def end(self, id_: bytes) -> None:
        """Let nobody go on with a session."""
        ...


class RandomIds:
    """Ids that say nothing: a session lives and dies with this hub."""

    replica = ""

    def make(self, caller: Caller, path: str, params: Fields) -> bytes:
        """Make the id of a session that begins."""
        return secrets.token_urlsafe(24).encode()

    def open(self, caller: Caller, path: str, id_: bytes) -> ClientGreeting | None:
        """Nobody can go on with a session that is not here."""
        return None

    def principal(self, id_: bytes) -> str:
        """Return the id itself."""
        return id_.decode()

    def end(self, id_: bytes) -> None:
        """It is over anyway."""


class SessionDescription(msgspec.Struct, array_like=True, frozen=True):
    """The inside of a sealed id; a later version may add members at the end."""

    issued_at: int
    version: str
    capabilities: bytes
    info: bytes


class SealedIds:
    """Ids that describe their session to whoever has the key, for some days."""

    def __init__(
        self, seal: Seal, replica: str, ended: EndedSessions, days: int, clock: Callable[[], float]
    ) -> None:
        self.replica = replica
        self._seal = seal
        self._ended = ended
        self._lifetime = days * _DAY
        self._clock = clock
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(SessionDescription).decode

    def make(self, caller: Caller, path: str, params: Fields) -> bytes:
        """Make the id of a session that begins, with as much of its client as has room."""
        now = int(self._clock())
        described = (
            self._encode(SessionDescription(now, fit.version, fit.capabilities, fit.info))
            for fit in _shortened(_readable(params))
        )
        data = next(data for data in described if len(data) <= ROOM)
        return self._seal.seal(PURPOSE, _owner(caller, path), data).encode()

    def open(self, caller: Caller, path: str, id_: bytes) -> ClientGreeting | None:
        """Read how a client introduced itself; None if the id is not its own, old, or ended."""
        data = self._seal.open(PURPOSE, _owner(caller, path), id_.decode("latin-1"))
        if data is None:
            return None
        described = self._decode(data)
        is_old = self._clock() - described.issued_at > self._lifetime
        if is_old or _digest(id_) in self._ended:
            return None
        return ClientGreeting(described.version, described.capabilities, described.info)

    def principal(self, id_: bytes) -> str:
        """Return a digest: the id is long, and looked up with every call."""
        return _digest(id_).hex()

    def end(self, id_: bytes) -> None:
        """Remember that a session is over for as long as its id could be opened."""
        self._ended.add(_digest(id_), self._clock() + self._lifetime)


def _owner(caller: Caller, path: str) -> str:
    """Return what an id is sealed for: a caller with these limits, at this path."""
    scope = read_scope(path) or WHOLE
    limits = (sorted(caller.servers), caller.profile, caller.agent, caller.executor)
    # Left out where there are none, so that ids of earlier versions still open.
    admitted = () if caller.admitted is None else (caller.admitted,)
    tier = (caller.tier,) if caller.tier else ()
    of_member = (caller.profile_tiers, caller.token) if caller.profile_tiers or caller.token else ()
    return jsonrpc.encode((caller.account, *limits, *admitted, *tier, *of_member, scope)).decode()


def _digest(id_: bytes) -> bytes:
    return hashlib.sha256(id_).digest()


def _readable(params: Fields) -> ClientGreeting:
    """The greeting of a client; an empty one if it cannot be read, for then it is refused."""
    try:
        greeting = read_greeting(params)
        jsonrpc.to_python(greeting.capabilities)
        jsonrpc.to_python(greeting.info or b"{}")
    except jsonrpc.MalformedError:
        return ClientGreeting(era.LATEST_LEGACY)
    return greeting


def _shortened(greeting: ClientGreeting) -> Iterator[ClientGreeting]:
    """The greeting, then less and less of it: first what only decorates, last what names."""
    yield greeting
    info, able = _object(greeting.info), _object(greeting.capabilities)
    info = {member: info[member] for member in _IDENTITY if member in info}
    yield (greeting := replace(greeting, info=jsonrpc.encode(info)))
    for member in ("experimental", "extensions"):
        able.pop(member, None)
        yield (greeting := replace(greeting, capabilities=jsonrpc.encode(able)))
    parts = {name: _parts_of(able[name], names) for name, names in _PARTS.items() if name in able}
    yield (greeting := replace(greeting, capabilities=jsonrpc.encode(parts)))
    name = info.get("name")
    short = {"name": name[:_NAME_CHARS]} if isinstance(name, str) else {}
    yield (greeting := replace(greeting, info=jsonrpc.encode(short)))
    yield replace(greeting, info=b"")


def _parts_of(capability: Any, names: tuple[str, ...]) -> JsonObject:
    members = capability if isinstance(capability, dict) else {}
    values = {part: members[part] for part in names if part in members}
    return {part: value if isinstance(value, bool) else {} for part, value in values.items()}


def _object(raw: bytes) -> JsonObject:
    value = jsonrpc.to_python(raw) if raw else {}
    return value if isinstance(value, dict) else {}
