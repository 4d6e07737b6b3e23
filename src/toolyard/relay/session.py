"""Clients as the relay sees them: sessions, and their requests while under way."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.core.passport import Passport
from toolyard.links.pending import PendingRequest
from toolyard.links.turns import Turns
from toolyard.relay.routes import Route
from toolyard.relay.view_key import ViewKey
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

ASK_SECONDS: Final = 600.0
"""How long a person may take to answer a server's question."""
ELICITATIONS_KEPT: Final = 1000
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
NEEDS: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""Which capability a client must have declared to be asked this."""

Send = Callable[[bytes], None]


class Session:
    """One client: what it told us of itself, and the way to speak to it unasked."""

    __slots__ = (
        "_asked",
        "account",
        "agent",
        "asks",
        "base",
        "caller",
        "capabilities",
        "elicitations",
        "exchanges",
        "view_key",
        "info",
        "is_modern",
        "is_stateless",
        "largest",
        "log_level",
        "passport",
        "principal",
        "push",
        "raw_capabilities",
        "version",
        "watched",
        "ready",
    )

    def __init__(
        self,
        principal: str,
        push: Send,
        *,
        is_modern: bool = False,
        is_stateless: bool = False,
        asked: int = 0,
    ) -> None:
        self.principal = principal
        """Who this is, as the door has established it."""
        self.account = principal
        """Whose servers it counts among: those of its token, or of its connection alone."""
        self.push = push
        self.is_modern = is_modern
        self.is_stateless = is_stateless
        """Whether nothing proves that two requests of this principal are one client's."""
        self.version = ""
        self.capabilities: dict[str, Any] = {}
        self.raw_capabilities = b"{}"
        self.info = b""
        self.agent = ""
        self.caller = ""
        """Whose token it came with; empty for a client on a line, which needs none."""
        self.log_level: str | None = None
        self.ready = False
        self.view_key: ViewKey | None = None
        """How servers are shown to it, if not as to everybody."""
        self.base: ViewKey | None = None
        """How its door shows them, before its passport is looked at."""
        self.passport: Passport | None = None
        self.largest = sys.maxsize
        """Bytes of a result it takes; what is larger is cut."""
        self.elicitations: set[str] = set()
        """Ids of questions it was sent to a web page for."""
        self.exchanges: dict[bytes, Exchange] = {}
        """Its requests under way, by raw id."""
        self.asks: dict[bytes, asyncio.Future[Message]] = {}
        """Our questions to it, by raw id."""
        self.watched: dict[str, Route] = {}
        """The resources it follows, by the URI it knows, and where that led when it began."""
        self._asked = asked
        """How many questions it was asked, by the hubs before this one too."""

    @property
    def has_folders(self) -> bool:
        """Whether it can be asked for its folders outside of its calls."""
        return not self.is_modern and "roots" in self.capabilities

    async def ask(self, send: Send, method: str, params: bytes) -> Message:
        """Put a question to the client and wait for its answer.

        Raises:
            LinkError: It did not answer in time, or is gone.
        """
        self._asked += 1
        key = b"%d" % self._asked
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.asks[key] = answer
        if b'"elicitationId"' in params:
            self._note_elicitation(params)
        send(jsonrpc.request(self._asked, method, params))
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
        for exchange in list(self.exchanges.values()):
            exchange.abandon()


class Exchange:
    """One request of a client, and the way back to it while it is under way."""

    __slots__ = (
        "asked",
        "capabilities",
        "checks_params",
        "dropped",
        "emit",
        "id",
        "level",
        "method",
        "params_head",
        "parked",
        "session",
        "task",
        "token",
        "trace",
        "turns",
    )

    def __init__(self, session: Session, id_: bytes, emit: Send) -> None:
        self.session = session
        self.id = id_
        self.emit = emit
        self.method = ""
        self.token = b""
        """The progress token as the client gave it."""
        self.level: str | None = session.log_level
        self.capabilities = session.capabilities
        self.params_head: dict[str, str] = {}
        """`Mcp-Param-*` headers that came with the request."""
        self.trace = b""
        """Header lines that name the trace it belongs to, for a server behind HTTP."""
        self.checks_params = False
        """Whether they must agree with the body, as on the modern HTTP door."""
        self.turns: Turns | None = None
        """Where its turn is left when it ends, if it waited for one."""
        self.task: asyncio.Task[Any] | None = None
        self.dropped = False
        """Whether the client took it back before it was begun."""
        self.asked: asyncio.Future[None] | None = None
        """Set while a modern client waits: a question for it has arrived."""
        self.parked: Any = None

    @property
    def is_modern(self) -> bool:
        """Whether the client speaks the modern era."""
        return self.session.is_modern

    @property
    def client(self) -> object:
        """Equal for two requests only if the door proves that one client made both."""
        return self if self.session.is_stateless else self.session.principal

    @property
    def turn(self) -> object:
        """As `client`; but a modern one can only be asked in the result of the very call."""
        return self if self.session.is_modern else self.client

    def begin(self, task: asyncio.Task[Any] | None) -> bool:
        """It is served by this task from here on; false if nobody wants it any more."""
        self.task = task
        return not self.dropped

    def abandon(self) -> None:
        """The client does not want the answer any more."""
        self.dropped = True
        if self.task is not None:
            self.task.cancel()

    # What the server says before its answer.

    def notify(self, method: str, params: bytes) -> None:
        """Pass a notification on, as far as this client wants it."""
        if method == "notifications/progress":
            params = self._restored(params)
        elif method == "notifications/message" and not self._wants(params):
            return
        if params:
            self.emit(jsonrpc.notification(method, params))

    def _restored(self, params: bytes) -> bytes:
        if not self.token:
            return b""
        fields = jsonrpc.fields(params)
        fields["progressToken"] = Raw(self.token)
        return jsonrpc.encode(fields)

    def _wants(self, params: bytes) -> bool:
        if self.level is None:
            # A modern client that names no level wants silence; a legacy one leaves it open.
            return not self.is_modern
        try:
            level = jsonrpc.to_python(jsonrpc.fields(params).get("level", Raw(b'"info"')))
        except jsonrpc.MalformedError:
            return False
        return level not in LEVELS or LEVELS.index(level) >= LEVELS.index(self.level)

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Put a question of the server to the client.

        A modern client cannot be asked: its call is parked, and answered with the question.
        """
        refusal = self._refusal(method, params)
        if refusal is not None:
            return refusal
        if not self.is_modern:
            return await self.session.ask(self.emit, method, params)
        if self.parked is None:
            raise LinkError("this client can only be asked while a call is under way")
        answer: Message = await self.parked.put(method, params)
        return answer

    def _refusal(self, method: str, params: bytes) -> Message | None:
        need = NEEDS.get(method)
        if need is None:
            return _error(era.METHOD_NOT_FOUND, f"{method} is not known")
        if need in self.capabilities and not _lacks_part(self.capabilities[need], need, params):
            return None
        if need == "roots":
            return Message(result=Raw(b'{"roots":[]}'))
        if self.is_modern and self.parked is not None:
            self.parked.miss(need)
        return _error(era.METHOD_NOT_FOUND, f"the client does not support {need}")


class Home:
    """A session as servers that run for it alone reach it outside of its calls."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def client(self) -> object:
        """Who it is."""
        return self._session.principal

    turn = client

    def notify(self, method: str, params: bytes) -> None:
        """Pass on what a server says, as far as the client wants it now."""
        self._exchange().notify(method, params)

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Put a question to the client, if it can be asked outside of its calls."""
        return await self._exchange().ask(pending, method, params)

    def _exchange(self) -> Exchange:
        return Exchange(self._session, b"", self._session.push)


def agent_of(info: bytes) -> str:
    """What a client calls itself."""
    try:
        raw = jsonrpc.fields(info).get("name")
        name = jsonrpc.to_python(raw) if raw is not None else ""
    except jsonrpc.MalformedError:
        return ""
    return name[:100] if isinstance(name, str) else ""


def _lacks_part(capability: Any, need: str, params: bytes) -> bool:
    """Whether a question wants more than the client declared within a capability."""
    parts = capability if isinstance(capability, dict) else {}
    if need == "elicitation" and b'"url"' in params:
        mode = jsonrpc.fields(params).get("mode")
        return mode is not None and bytes(mode) == b'"url"' and "url" not in parts
    if need == "sampling" and b'"tools"' in params:
        return "tools" in jsonrpc.fields(params) and "tools" not in parts
    return False


def _error(code: int, text: str) -> Message:
    return Message(error=Raw(jsonrpc.fault(code, text)))
