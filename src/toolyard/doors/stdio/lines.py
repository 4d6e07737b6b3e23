"""The stdio door: one message per line, over the hub's socket or our own stdin and stdout."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import select
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Raw

from toolyard.announce import project_paths
from toolyard.core.agents import spelled
from toolyard.core.names import SEPARATORS
from toolyard.doors.http.unread import UNREAD_BYTES, Unread
from toolyard.links.projects import ProjectFolders
from toolyard.links.readiness import Readiness
from toolyard.relay.relay import Relay
from toolyard.relay.session import ClientRequest, Session
from toolyard.relay.view_key import ViewKey
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.envelope import Envelope, EnvelopeError, read_envelope, unfit_for_modern
from toolyard.wire.jsonrpc import Message
from toolyard.wire.lines import Lines
from toolyard.wire.pipes import for_loop

log = logging.getLogger(__name__)

FAREWELL_SECONDS: Final = 10.0
"""The time that answers may take for a client that asks nothing more."""
LOOK_SECONDS: Final = 0.1
"""The pause between two looks at whether it still waits for them."""
DRAIN_SECONDS: Final = 8.0
"""The time that requests under way may still take when the hub stops."""
HOLD_SECONDS: Final = 2.0
"""The time that the stdio entry has to hold requests back; one that is stopped never does."""
RETURN_SECONDS: Final = 3.0
"""The time that a client of the hub before waits until this one knows its servers."""
OUTLIVING: Final = 2
"""The version from which the stdio entry knows the hub's own lines, and outlives it."""
HOLDING: Final = "toolyard/holding"
LISTEN: Final = "subscriptions/listen"
NUMBER_MOST: Final = 2**53
_LEAVING: Final = {True: "restart", False: "stop"}
_numbers = itertools.count(1)


class LineClient:
    """One client on a line: both eras, told apart request by request."""

    def __init__(
        self,
        relay: Relay,
        write: Callable[[bytes], None],
        limit: int,
        wish: Mapping[str, object] | None = None,
    ) -> None:
        self._relay = relay
        self._write = write
        self._lines = Lines(limit, self._take, self._skip, self._endless)
        self._tasks = Tasks()
        self._limit = limit
        # Not its address in memory: that of one that left may come back as another's.
        principal = f"line {next(_numbers)}"
        shown, questions = (
            _view_key(relay.views.usual_key, wish or {}),
            _number(wish or {}, "asked"),
        )
        self._legacy = Session(principal, self.send, view_key=shown, questions_asked=questions)
        self._modern = Session(principal, self.send, view_key=shown, is_modern=True)
        self.feed = self._lines.feed
        self.holds = False
        """True once it has said that it holds further requests back."""

    def send(self, message: bytes) -> None:
        """Write one message."""
        self._write(jsonrpc.one_line(message) + b"\n")

    # The way back for each of its requests.

    emit = send

    def answer(self, message: bytes, error: Raw) -> None:
        """Send the answer to a request."""
        self.send(message)

    def cancelled(self, id_: bytes) -> None:
        """On a line, whoever took a request back expects no answer."""

    def dismiss(self) -> None:
        """The hub stops: whoever still waits for an answer is told so."""
        fault = jsonrpc.fault(era.SERVER_ERROR, "the hub is stopping; try again in a moment")
        for request in self._waiting():
            self.send(jsonrpc.error(request.id, fault))

    @property
    def is_busy(self) -> bool:
        """True while an answer is waited for."""
        return any(self._waiting())

    def _waiting(self) -> Iterator[ClientRequest]:
        """Its requests under way, but for those that last as long as the connection does."""
        requests = (*self._legacy.requests.values(), *self._modern.requests.values())
        return (request for request in requests if request.method != LISTEN)

    async def finish(self, seconds: float) -> None:
        """Wait until every request is answered, so long at most."""
        await self._tasks.settle(seconds)

    async def close(self) -> None:
        """The client is gone: its work stops."""
        self._lines.close()
        self._relay.leave(self._legacy)
        self._relay.leave(self._modern)
        await self._tasks.close()

    def _take(self, line: bytes) -> None:
        try:
            envelope = read_envelope(line)
        except jsonrpc.MalformedError:
            self._refuse(b"", era.PARSE_ERROR, "this line is no JSON-RPC message")
            return
        except EnvelopeError as error:
            self._refuse(error.id, error.code, str(error))
            return
        message = envelope.message
        if envelope.id:
            self._serve(envelope)
        elif message.is_answer:
            self._legacy.answered(message)
        else:
            self.holds |= message.method == HOLDING
            for session in (self._legacy, self._modern):
                self._relay.noticed(session, message)

    def _serve(self, envelope: Envelope) -> None:
        message, id_, params, meta, name, version = envelope
        session = self._session(envelope)
        if session.is_modern and version != era.MODERN:
            error = unfit_for_modern(envelope)
            self._refuse(id_, error.code, str(error), error.details)
            return
        request = ClientRequest(session, message.method, id_, params, meta, self, name=name)
        self._tasks.start(self._relay.serve(request))

    def _session(self, envelope: Envelope) -> Session:
        """A request with a modern envelope is modern; all others are legacy."""
        method = envelope.message.method
        if method == "initialize":
            return self._legacy
        if method == "server/discover" or era.META_VERSION in envelope.meta:
            return self._modern
        return self._legacy

    def _refuse(self, id_: bytes, code: int, text: str, details: Any = None) -> None:
        self.send(jsonrpc.error(id_, jsonrpc.fault(code, text, details)))

    def _skip(self, head: bytes, tail: bytes | None) -> bool:
        """A message was too long to be read: whoever waits for what it says is told so."""
        if tail is None:
            return False
        glimpse = jsonrpc.glimpse(head, tail)
        text = f"the message is larger than {self._limit} bytes"
        fault = jsonrpc.fault(era.INVALID_REQUEST, text)
        if glimpse.is_answer:
            self._legacy.answered(Message(id=Raw(glimpse.id), error=Raw(fault)))
        else:
            self.send(jsonrpc.error(glimpse.id, fault))
        return True

    def _endless(self) -> None:
        text = "the message does not end; nothing more is read"
        self.send(jsonrpc.error(b"", jsonrpc.fault(era.INVALID_REQUEST, text)))


class SocketClient(asyncio.Protocol):
    """A client attached to the hub's socket; its first line says who it is."""

    def __init__(
        self,
        relay: Relay,
        projects: ProjectFolders,
        readiness: Readiness,
        limit: int,
        tasks: Tasks,
        attached: set[SocketClient],
        unread: Unread,
    ) -> None:
        self._relay = relay
        self._projects = projects
        self._readiness = readiness
        self._limit = limit
        self._all_unread = unread
        self._is_behind = False
        self._tasks = tasks
        self._attached = attached
        self._head = b""
        self._client: LineClient | None = None
        self._folder = ""
        """Its working directory."""
        self._outlives = False
        """True if it understands our own lines, and stays when we go."""
        self._held_by = 0.0
        """When it must have held its requests back, if it is to."""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first line."""
        self._transport = cast("asyncio.Transport", transport)
        self._attached.add(self)

    def data_received(self, data: bytes) -> None:
        """Take the first line apart, and everything after it as messages."""
        if self._client is not None:
            self._client.feed(data)
            return
        self._head += data
        line, end, rest = self._head.partition(b"\n")
        if not end:
            if len(self._head) > self._limit:
                self._transport.abort()
            return
        wish = _preamble(line)
        self._folder = _wished(wish or {}, "cwd")
        self._projects.enter(self._folder)
        self._client = LineClient(self._relay, self._write, self._limit, wish)
        self._outlives = _number(wish or {}, "version") >= OUTLIVING
        first, self._head = self._head if wish is None else rest, b""
        if wish is not None and wish.get("again") is True:
            self._transport.pause_reading()
            self._tasks.start(self._admit(self._client, first))
        else:
            self._client.feed(first)

    async def _admit(self, client: LineClient, first: bytes) -> None:
        """Let a client in that comes from the hub before: it counts on what that one offered."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETURN_SECONDS):
                await self._readiness.wait_settled()
        if not self._transport.is_closing():
            client.feed(first)
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        """The client has said its last word, but may wait for answers: they get some time."""
        if self._client is None or not self._is_heard():
            return False
        self._tasks.start(self._leave(self._client))
        return True

    async def _leave(self, client: LineClient) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + FAREWELL_SECONDS
        while client.is_busy and self._is_heard() and loop.time() < end:
            await client.finish(LOOK_SECONDS)
        self._transport.close()

    def _is_heard(self) -> bool:
        """Tell whether the client still reads: one that was killed has closed both ways."""
        sock = self._transport.get_extra_info("socket")
        if sock is None:
            return True
        look = select.poll()
        look.register(sock.fileno(), 0)
        return not any(events & select.POLLHUP for _, events in look.poll(0))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the client's work."""
        self._attached.discard(self)
        self._all_unread.caught_up(self)
        self._projects.leave(self._folder)
        if self._client is not None:
            self._tasks.start(self._client.close())

    def _write(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        if not self._is_behind:
            self._transport.write(data)
        elif self.unread > UNREAD_BYTES:
            log.warning("a client does not read; hanging up")
            self.cut_off()
        else:
            self._transport.write(data)
            self._all_unread.grew(self, len(data))

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._is_behind = True
        self._all_unread.fell_behind(self)

    def resume_writing(self) -> None:
        """It has caught up."""
        self._is_behind = False
        self._all_unread.caught_up(self)

    @property
    def unread(self) -> int:
        """Bytes that the client has not read yet."""
        return self._transport.get_write_buffer_size()

    def cut_off(self) -> None:
        """Hang up at once."""
        self._transport.abort()

    def part(self, *, comes_back: bool) -> None:
        """Say that the hub stops; if it comes back, new requests are to wait for it."""
        if self._client is not None and self._outlives:
            self._write(jsonrpc.encode({"toolyard": {"leaving": _LEAVING[comes_back]}}) + b"\n")
            self._held_by = asyncio.get_running_loop().time() + HOLD_SECONDS if comes_back else 0.0

    @property
    def is_quiet(self) -> bool:
        """True if it waits for nothing, and nothing more is to come from it."""
        if self._client is None:
            return True
        is_held = self._client.holds or asyncio.get_running_loop().time() > self._held_by
        return is_held and not self._client.is_busy

    def dismiss(self) -> None:
        """Answer what is under way, and hang up."""
        if self._client is not None:
            self._client.dismiss()
        self._transport.close()


def _preamble(line: bytes) -> Mapping[str, object] | None:
    """Read what the stdio entry says of itself; None if the first line is a message already."""
    try:
        raw = jsonrpc.fields(line).get("toolyard")
        wish = jsonrpc.to_python(raw) if raw is not None else None
    except jsonrpc.MalformedError:
        return None
    return wish if isinstance(wish, dict) else None


def _view_key(usual: ViewKey, wish: Mapping[str, object]) -> ViewKey | None:
    """Return the view for a client with these wishes; None for the usual one."""
    keys = ("app", "server", "separator", "profile", "agent", "executor")
    app, server, separator, profile, agent, executor = (_wished(wish, key) for key in keys)
    shown = replace(usual, separator=separator) if separator in SEPARATORS[:-1] else usual
    if app:
        shown = replace(shown, app=app)
    elif server:
        shown = replace(shown, server=server, separator="")
    if folder := _wished(wish, "cwd"):
        shown = replace(shown, folders=_projects(folder))
    if profile:
        shown = replace(shown, profile=profile)
    if agent:
        where = spelled(executor) or "local"
        shown = replace(shown, agent=spelled(agent), executor=where)
    return shown if shown != usual else None


def _projects(folder: str) -> tuple[str, ...]:
    """The folders whose announcements are for a client that works in this one."""
    if not os.path.isabs(folder):
        return ()
    return tuple(str(path.parent.parent) for path in project_paths(folder))


def _wished(wish: Mapping[str, object], key: str) -> str:
    value = wish.get(key)
    return value if isinstance(value, str) else ""


def _number(wish: Mapping[str, object], key: str) -> int:
    value = wish.get(key)
    return value if type(value) is int and 0 <= value < NUMBER_MOST else 0


class SocketDoor:
    """Listens on the hub's socket: only this user can reach it."""

    def __init__(
        self,
        relay: Relay,
        projects: ProjectFolders,
        readiness: Readiness,
        path: Path,
        limit: int,
        unread: Unread,
        comes_back: Callable[[], bool],
    ) -> None:
        """Listen at `path`; `projects` are told where the clients work."""
        self._relay = relay
        self._projects = projects
        self._readiness = readiness
        self._path = path
        self._limit = limit
        self._unread = unread
        self._comes_back = comes_back

    async def run(self, ready: Callable[[], None], stop: asyncio.Event) -> None:
        """Serve until told to stop, then let what is under way finish, within bounds."""
        tasks = Tasks()
        attached: set[SocketClient] = set()
        self._path.unlink(missing_ok=True)
        before = os.umask(0o177)

        def attach() -> SocketClient:
            return SocketClient(
                self._relay,
                self._projects,
                self._readiness,
                self._limit,
                tasks,
                attached,
                self._unread,
            )

        try:
            loop = asyncio.get_running_loop()
            server = await loop.create_unix_server(attach, str(self._path))
        finally:
            os.umask(before)
        ready()
        try:
            try:
                await stop.wait()
            finally:
                server.close()
                self._path.unlink(missing_ok=True)
            await self._drain(attached)
        finally:
            for client in list(attached):
                client.dismiss()
            await tasks.close()

    async def _drain(self, attached: set[SocketClient]) -> None:
        for client in attached:
            client.part(comes_back=self._comes_back())
        loop = asyncio.get_running_loop()
        end = loop.time() + DRAIN_SECONDS
        # A client that does not answer is let go in time.
        while loop.time() < end and not all(client.is_quiet for client in attached):  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(LOOK_SECONDS)


async def serve_stdio(relay: Relay, limit: int, wish: Mapping[str, object] | None = None) -> None:
    """Serve one client on our own stdin and stdout until its end."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    out = _Out(os.dup(1))
    client = LineClient(relay, out.write, limit, wish)

    class Reader(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            client.feed(data)

        def connection_lost(self, exc: Exception | None) -> None:
            if not over.done():
                over.set_result(None)

    stdin = for_loop(os.fdopen(os.dup(0), "rb", buffering=0))
    transport, _ = await loop.connect_read_pipe(Reader, stdin)
    try:
        await over
    finally:
        await client.close()
        transport.close()


class _Out:
    """Our stdout: whole writes, to whatever it is."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes) -> None:
        view: Any = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
