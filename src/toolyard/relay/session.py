"""Clients as the relay sees them: sessions, and their requests while under way."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol

from msgspec import Raw, Struct, field

from toolyard.core.errors import LinkError
from toolyard.core.quirks import KnownClient
from toolyard.links.link import Link
from toolyard.links.owner import Apart, member_key
from toolyard.links.pending import PendingRequest
from toolyard.links.turns import Turns
from toolyard.relay.questions import (
    NEEDS,
    QuestionClock,
    Questions,
    is_able,
    refuse_question,
)
from toolyard.relay.replies import failed
from toolyard.relay.routes import Route
from toolyard.relay.tracing import RequestSpan
from toolyard.relay.view_key import ViewKey
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

ASK_SECONDS: Final = 600.0
"""The time that a person may take to answer a server's question."""
ELICITATIONS_KEPT: Final = 1000
LEFT: Final = "the client went away"
"""The reason that a server is told when a request is cancelled."""
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

Send = Callable[[bytes], None]
Note = Callable[["Session"], None]
"""Hears that a client wishes something else than before."""


class Responder(Protocol):
    """The way back to the client of one request, as its door has it."""

    @property
    def takes_stream(self) -> bool:
        """True if the client takes anything before the answer, such as a question."""
        ...

    def emit(self, message: bytes) -> None:
        """Send something before the answer, if the client takes it."""
        ...

    def answer(self, message: bytes, error: Raw) -> None:
        """Send the answer; `error` is the error in it, empty if it is a result."""
        ...

    def cancelled(self, id_: bytes) -> None:
        """The request was cancelled: there will be no answer."""
        ...


class Outlet:
    """A responder for what is no request of a client's own: nobody waits for an answer."""

    __slots__ = ("emit",)
    takes_stream: ClassVar[bool] = True

    def __init__(self, emit: Send) -> None:
        self.emit = emit

    def answer(self, message: bytes, error: Raw) -> None:
        """Whoever made the request has the answer already."""

    def cancelled(self, id_: bytes) -> None:
        """Whoever made the request knows it."""


class Session(Struct, eq=False):
    """One client: what it told us of itself, and the way to speak to it unasked."""

    principal: str
    """The client's identity, as its door has established it."""
    push: Send
    """Sends the client something unasked."""
    account: str = ""
    """The account whose servers it counts among: that of its token; empty if it is its own."""
    caller: str = ""
    """The name of its token; empty for a client on a line, which needs none."""
    member: str = ""
    """The key of the member who calls; empty for the hub's owner and for agents."""
    token: str = ""
    """The mark of the token that the member made and came in with; empty if they logged in."""
    view_key: ViewKey | None = None
    """The view it has, if not the usual one: its door's, then fitted to the client it names."""
    is_modern: bool = False
    is_stateless: bool = False
    """True if nothing proves that two requests of this principal are one client's."""
    agent: str = ""
    capabilities: era.Capabilities = field(default_factory=dict)
    raw_capabilities: bytes = b"{}"
    replica: str = ""
    """The name of this hub, if other replicas may serve the client, too; else empty."""
    questions_asked: int = 0
    """The number of questions it was asked, by the hubs before this one too."""
    version: str = ""
    info: bytes = b""
    log_level: str | None = None
    ready: bool = False
    arrival: asyncio.Future[None] | None = None
    """Done once it is known what the client wished at another replica; None if that is known."""
    known_client: KnownClient | None = None
    """The client that speaks in it, if that is known."""
    largest: int = sys.maxsize
    """Bytes of a result it takes; what is larger is cut."""
    elicitations: set[str] = field(default_factory=set)
    """Ids of questions it was sent to a web page for."""
    requests: dict[bytes, ClientRequest] = field(default_factory=dict)
    """Its requests under way, by raw id."""
    asks: dict[bytes, asyncio.Future[Message]] = field(default_factory=dict)
    """Our questions to it, by raw id."""
    watched: dict[str, Route] = field(default_factory=dict)
    """The resources it follows, by the URI it knows, and where that led when it began."""

    @property
    def has_folders(self) -> bool:
        """True if it can be asked for its folders outside of its calls."""
        return not self.is_modern and "roots" in self.capabilities

    def owner_key(self, apart: Apart) -> str:
        """The key of the owner of what runs apart for it: the client itself, or its member."""
        if apart.per_member and not apart.per_session:
            return member_key(self.member)
        return self.principal if apart.per_session else ""

    def is_of(self, key: str) -> bool:
        """True if what runs for the owner of this key runs for it, too; empty for everybody."""
        return not key or key in (self.principal, member_key(self.member))

    async def ask(self, send: Send, method: str, params: bytes) -> Message:
        """Put a question to the client and wait for its answer.

        Raises:
            LinkError: It did not answer in time, or is gone.
        """
        key = self._next_question()
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.asks[key] = answer
        if b'"elicitationId"' in params:
            self._note_elicitation(params)
        send(jsonrpc.question(key, method, params))
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await answer
        except TimeoutError:
            raise LinkError(
                f"the client did not answer {method} within {ASK_SECONDS:g} s"
            ) from None
        finally:
            del self.asks[key]
            if not answer.done() or answer.cancelled():
                send(jsonrpc.notification("notifications/cancelled", b'{"requestId":%b}' % key))

    def _next_question(self) -> bytes:
        """The raw id of one more question: its number, and where several ask, who did."""
        self.questions_asked += 1
        number = b"%d" % self.questions_asked
        return b'"%b.%b"' % (self.replica.encode(), number) if self.replica else number

    def _note_elicitation(self, params: bytes) -> None:
        id_ = jsonrpc.to_python(jsonrpc.fields(params).get("elicitationId", Raw(b"null")))
        if isinstance(id_, str) and len(self.elicitations) < ELICITATIONS_KEPT:
            self.elicitations.add(id_)

    def answered(self, message: Message) -> None:
        """The client answered a question of ours; what nobody asked is dropped."""
        answer = self.asks.get(bytes(message.id))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def close(self) -> None:
        """The client is gone: nobody will answer."""
        for answer in self.asks.values():
            if not answer.done():
                answer.set_exception(LinkError("the client is gone"))
        for request in list(self.requests.values()):
            request.abandon()


class ClientRequest(Struct, eq=False):
    """One request of a client, read once at its door, and the way back to it."""

    session: Session
    method: str
    id: bytes
    params: Fields
    """The members of its params; what is inside of them stays the bytes it was."""
    meta: Fields
    """The members of `params._meta`."""
    responder: Responder
    name: str = ""
    """The tool, prompt, resource or task that it names."""
    trace: bytes = b""
    """Header lines that name the trace it belongs to, for a server behind HTTP."""
    forwarded: Mapping[bytes, bytes] | None = None
    """The headers of its caller that some server is to get, by their names in lower case; None if
    there are none."""
    mirrored: Mapping[str, str] | None = None
    """The `Mcp-Param-*` headers that came with it and must agree with its body; None if its door
    has none."""
    address: str = ""
    """The address it came from; empty for this machine."""
    is_passed: bool = False
    """True if another replica has passed it on; it goes no further."""
    turns: Turns | None = None
    """The turns that it leaves when it ends, if it waited for one."""
    may_park: bool = False
    """True if a question of its server may take the place of the answer."""
    questions: Questions | None = None
    """Those that it has raised so far."""
    clock: QuestionClock | None = None
    """Measures how long those were open that were put to its client before the answer."""
    _capabilities: era.Capabilities | None = None
    work: asyncio.Future[Any] | None = None
    """The task that serves it, or the server's answer if nothing else is waited for."""
    sent: tuple[Link, int] | None = None
    """The link that it was sent over last, and its number there."""
    is_dropped: bool = False
    """True if the client took it back."""
    span: RequestSpan | None = None
    """Its span, if calls are traced."""

    @property
    def is_modern(self) -> bool:
        """True if the client speaks the modern era."""
        return self.session.is_modern

    @property
    def client(self) -> object:
        """Equal for two requests only if the door proves that one client made both."""
        return self if self.session.is_stateless else self.session.principal

    @property
    def turn(self) -> object:
        """As `client`; but a modern one can only be asked in the result of the very call."""
        return self if self.session.is_modern else self.client

    @property
    def lane(self) -> object:
        """Equal for two requests of one client, as far as is known: modern ones claim it."""
        return self.session.principal

    @property
    def capabilities(self) -> era.Capabilities:
        """The client's capabilities: as this request says, or as its session did."""
        if not self.session.is_modern:
            return self.session.capabilities
        if self._capabilities is None:
            raw = self.meta.get(era.META_CAPABILITIES)
            declared = jsonrpc.to_python(raw) if raw is not None else {}
            self._capabilities = declared if isinstance(declared, dict) else {}
        return self._capabilities

    @property
    def log_level(self) -> str | None:
        """The least level of log messages that the client wants; None if it named none."""
        if not self.session.is_modern:
            return self.session.log_level
        raw = self.meta.get(era.META_LOG_LEVEL)
        level = jsonrpc.to_python(raw) if raw is not None else None
        return level if level in LEVELS else None

    def text(self, key: str) -> str:
        """Return a param that is a text; an empty one if it is none."""
        return jsonrpc.text(self.params.get(key))

    def abandon(self) -> None:
        """The client does not want the answer any more.

        The server is told at once: the next request of the client must not overtake it.
        """
        self.is_dropped = True
        if self.sent is not None:
            link, number = self.sent
            link.take_back(number, LEFT)
        if self.work is not None:
            self.work.cancel()

    def respond(self, reply: Message) -> None:
        """Send the answer."""
        if reply.error:
            self.responder.answer(jsonrpc.error(self.id, reply.error), reply.error)
        else:
            self.responder.answer(jsonrpc.result(self.id, reply.result), jsonrpc.NOTHING)

    def fail(self, failure: BaseException) -> None:
        """Tell the client that there is no answer: it was cancelled, or the hub failed at it."""
        if isinstance(failure, asyncio.CancelledError):
            self.responder.cancelled(self.id)
        else:
            self.responder.answer(jsonrpc.error(self.id, failed(failure)), jsonrpc.NOTHING)

    # What the server says before its answer.

    def notify(self, method: str, params: bytes) -> None:
        """Pass a notification on, as far as this client wants it."""
        if method == "notifications/progress":
            params = self._with_own_token(params)
        elif method == "notifications/message" and not self._wants(params):
            return
        if params:
            self.responder.emit(jsonrpc.notification(method, params))

    def _with_own_token(self, params: bytes) -> bytes:
        """Give the progress of a server the token of the client; nothing if it named none."""
        token = self.meta.get("progressToken")
        if token is None:
            return b""
        return jsonrpc.encode({**jsonrpc.fields(params), "progressToken": token})

    def _wants(self, params: bytes) -> bool:
        least = self.log_level
        if least is None:
            # A modern client that names no level wants silence; a legacy one leaves it open.
            return not self.is_modern
        try:
            level = jsonrpc.to_python(jsonrpc.fields(params).get("level", Raw(b'"info"')))
        except jsonrpc.MalformedError:
            return False
        return level not in LEVELS or LEVELS.index(level) >= LEVELS.index(least)

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Put a question of the server to the client.

        A modern client cannot be asked: its call is parked, and answered with the question.
        """
        need = NEEDS.get(method, "")
        if not is_able(self.capabilities, need, params):
            if self.may_park and need not in ("", "roots"):
                self._raised(pending).miss(need)
            return refuse_question(method, need)
        if not self.is_modern:
            self.clock = self.clock or QuestionClock()
            with self.clock:
                return await self.session.ask(self.responder.emit, method, params)
        if not self.may_park:
            raise LinkError("this client can only be asked while a call is under way")
        return await self._raised(pending).put(method, params)

    def _raised(self, pending: PendingRequest) -> Questions:
        self.questions = self.questions or Questions(pending)
        return self.questions


class Home:
    """A session as servers that run for it alone reach it outside of its calls."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def client(self) -> object:
        """The client's identity."""
        return self._session.principal

    turn = lane = client

    def notify(self, method: str, params: bytes) -> None:
        """Pass on what a server says, as far as the client wants it now."""
        self._request().notify(method, params)

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Put a question to the client, if it can be asked outside of its calls."""
        return await self._request().ask(pending, method, params)

    def _request(self) -> ClientRequest:
        return ClientRequest(self._session, "", b"", {}, {}, Outlet(self._session.push))


def agent_of(info: bytes) -> str:
    """Return what a client calls itself."""
    try:
        return jsonrpc.text(jsonrpc.fields(info).get("name"))[:100]
    except jsonrpc.MalformedError:
        return ""
