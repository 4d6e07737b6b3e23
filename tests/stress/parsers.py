"""Every parser of what strangers send, as a function of bytes that raises if the parser is wrong.

It returns whether the input was taken. To refuse one is right in one way only: with the error that
the parser promises. Anything else that comes out is a fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from toolyard.core.caller import TurnedAway
from toolyard.core.errors import ConfigError
from toolyard.core.model import Command
from toolyard.doors.http.connection import InboundConnection, read_target
from toolyard.doors.http.reply import HttpReply, Request
from toolyard.doors.http.unread import Unread
from toolyard.records.jsonc import JsoncError, parse
from toolyard.records.secrets.expand import Lookup, expand, find_unset
from toolyard.records.secrets.mask import MASK, Mask
from toolyard.relay.uris import Spread, Template
from toolyard.wire import headers, http1, jsonrpc
from toolyard.wire.envelope import EnvelopeError, read_envelope
from toolyard.wire.lines import Lines
from toolyard.wire.sse import Events, TooLongError

LIMIT = 1024
"""Bytes of a line or an event: small, so that the limits are reached."""
BODY_LIMIT = 512
CALL = (
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":'
    b'{"text":"a\\u2603\\n"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
)
ANSWERS = (
    b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a \\"b\\" \\ud83d"}]}}',
    b'{"jsonrpc":"2.0","id":"q","error":{"code":-32000,"message":"no","data":{"retryAfter":3}}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}',
)


def pieces(data: bytes) -> list[bytes]:
    """Cut bytes anywhere; the first one says how."""
    size = 1 + (data[0] % 40 if data else 0)
    return [data[at : at + size] for at in range(0, len(data), size)]


def envelope(data: bytes) -> bool:
    """Read a message of a client."""
    try:
        read_envelope(data)
    except (EnvelopeError, *jsonrpc.MalformedError):
        return False
    return True


def answer(data: bytes) -> bool:
    """Read a message of a server, and write it anew as one line."""
    assert b"\n" not in jsonrpc.one_line(data)
    jsonrpc.glimpse(data[:LIMIT], data[-LIMIT:])
    jsonrpc.is_too_deep(data, 64)
    try:
        message = jsonrpc.read(data)
    except jsonrpc.MalformedError:
        jsonrpc.claimed_id(data)
        return False
    if message.error:
        jsonrpc.well_formed(message.error)
        jsonrpc.error_code(message.error)
    return True


def events(data: bytes) -> bool:
    """Read a stream of events: however it is cut, they are the same."""
    whole, cut = Events(LIMIT), Events(LIMIT)
    try:
        expected = whole.feed(data)
        got = [event for piece in pieces(data) for event in cut.feed(piece)]
    except TooLongError:
        return False
    assert got == expected, (got, expected)
    return bool(got)


def lines(data: bytes) -> bool:
    """Read lines: none is longer than the limit, however they are cut."""
    got: list[bytes] = []
    cut = Lines(LIMIT, got.append, lambda _head, _tail: False, lambda: None)
    for piece in pieces(data):
        cut.feed(piece)
    expected = [line for line in data.split(b"\n")[:-1] if line and not line.isspace()]
    assert got == [line for line in expected if len(line) <= LIMIT] or len(data) > LIMIT
    return bool(got)


class StillLoop:
    """A loop whose clock stands still: timers never end, and what comes soon comes when asked."""

    def __init__(self) -> None:
        self.soon: list[asyncio.Handle] = []

    def time(self) -> float:
        return 0.0

    def get_debug(self) -> bool:
        return False

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return asyncio.TimerHandle(delay, callback, args, cast("Any", self), context)

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, cast("Any", self), context)
        self.soon.append(handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def settle(self) -> None:
        """Call what was to be called soon."""
        while self.soon:
            self.soon.pop(0)._run()


LOOP = StillLoop()


class Wire(asyncio.Transport):
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Server:
    """Serves every request at once, but for one path."""

    limit = BODY_LIMIT

    def __init__(self) -> None:
        self.unread = Unread(1 << 20, LOOP.time)
        self.served = self.refused = 0

    def refusal(self, connection: InboundConnection, request: Request) -> TurnedAway | None:
        return TurnedAway(403, "no") if request.path == "/no" else None

    def refuse(self, reply: HttpReply, refused: TurnedAway) -> None:
        self.refused += 1
        reply.respond(refused.status, refused.text.encode())

    def serve(self, request: Request, reply: HttpReply) -> None:
        assert len(request.body) <= BODY_LIMIT
        assert request.path.isascii() and request.path != "/no"
        self.served += 1
        reply.respond(200, b"ok")

    def opened(self, connection: InboundConnection) -> None:
        pass

    closed = opened


def request(data: bytes) -> bool:
    """Read requests of a client: each is answered once, and nothing follows a refusal."""
    server, wire = Server(), Wire()
    with running(LOOP):
        connection = InboundConnection(server)
        connection.connection_made(wire)
        for piece in pieces(data):
            if not wire.is_closed:
                connection.data_received(piece)
                LOOP.settle()
        connection.connection_lost(None)
        LOOP.settle()
    answers = wire.written.count(b"HTTP/1.1 ") - wire.written.count(b"HTTP/1.1 100 ")
    assert answers == server.served + server.refused, (answers, server.served, server.refused)
    assert server.refused <= 1
    return bool(server.served)


class Sink:
    """Counts the ends of an answer."""

    def __init__(self) -> None:
        self.ends = 0
        self.is_done = False

    def head(self, status: int, headers: http1.Headers) -> None:
        assert self.ends == 0

    def body(self, chunk: bytes) -> None:
        assert self.ends == 0

    def done(self) -> None:
        self.ends += 1
        self.is_done = True

    def lost(self, why: str) -> None:
        self.ends += 1


def response(data: bytes) -> bool:
    """Read an answer of a server: it ends once."""
    sink, wire = Sink(), Wire()
    with running(LOOP):
        pool = http1.Pool(http1.HttpTarget("127.0.0.1", 1, False, "/"))
        connection = http1.Connection(pool, sink, b"")
        connection.connection_made(wire)
        for piece in pieces(data):
            if not wire.is_closed:
                connection.data_received(piece)
        connection.connection_lost(None)
    assert sink.ends == 1, sink.ends
    return sink.is_done


class running:  # noqa: N801 - it reads as the context manager it is
    """Make a loop the one that runs."""

    def __init__(self, loop: StillLoop) -> None:
        self.loop = cast("asyncio.AbstractEventLoop", loop)

    def __enter__(self) -> None:
        asyncio._set_running_loop(self.loop)

    def __exit__(self, *_: object) -> None:
        asyncio._set_running_loop(None)


def jsonc(data: bytes) -> bool:
    """Read JSON as people write it: a refusal names a place inside it."""
    try:
        document = parse(data)
    except JsoncError as error:
        assert 1 <= error.line <= data.count(b"\n") + data.count(b"\r") + 1
        assert 1 <= error.column <= len(data) + 1
        return False
    if document.root is not None:
        document.root.plain()
    return True


def template(data: bytes) -> bool:
    """Compare a URI with a template."""
    first, _, second = data.decode("utf-8", "replace").partition("\n")
    return Template(first).gives(Spread(second))


def expansion(data: bytes) -> bool:
    """Replace references; nothing of a reference that stands for nothing is left."""
    for name, value in vars(Mask()).items():
        setattr(MASK, name, value)  # or it would learn a million secrets
    text = data.decode("utf-8", "replace")
    lookup = Lookup(
        {"A": "a", "SECRET": "${A}", "EMPTY": ""},
        keyring=lambda name: f"key-{name}",
        file=lambda path: f"file-{path}",
        home="/users/me",
    )
    command = Command(("x", text), (("V", text),), text or None)
    unset = find_unset(command, lookup)
    try:
        expanded = expand(command, lookup)
    except ConfigError:
        return False
    assert not unset
    assert isinstance(expanded, Command)
    assert "${" not in text or expanded.argv[1] != text
    return True


def header(data: bytes) -> bool:
    """Read an encoded header, and write it anew."""
    value = headers.decode_value(data.decode("latin-1"))
    if value is None:
        return False
    with suppress(UnicodeEncodeError):  # a lone surrogate has no bytes
        assert headers.decode_value(headers.encode_value(value)) == value
    return True


def target(data: bytes) -> bool:
    """Read the target of a request."""
    path, _, _ = read_target(data)
    assert path.isascii()
    return bool(path)


def address(data: bytes) -> bool:
    """Read an address."""
    try:
        read = http1.parse_address(data.decode("utf-8", "replace"))
    except ValueError:
        return False
    assert read.host and read.target.isascii() and " " not in read.target
    return True


Parser = Callable[[bytes], bool]
POST = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nContent-Type: application/json\r\n"
    b"Content-Length: 4\r\n\r\nnull"
)
PARSERS: dict[str, tuple[Parser, tuple[bytes, ...]]] = {
    "envelope": (envelope, (CALL, *ANSWERS)),
    "answer": (answer, (*ANSWERS, CALL)),
    "events": (
        events,
        (
            b"event: message\r\nid: 1\r\ndata: {}\r\n\r\n",
            b"\xef\xbb\xbf: hello\ndata:a\ndata: b\n\nretry: 5\r\rdata\n\n",
        ),
    ),
    "lines": (lines, (CALL + b"\n" + ANSWERS[0] + b"\r\n", b"text\n \n" + b"x" * 1500 + b"\n{}\n")),
    "request": (
        request,
        (
            POST,
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnull\r\n0\r\nX: y\r\n\r\n",
            b"GET /a?b=c HTTP/1.0\r\nExpect: 100-continue\r\n\r\n" + POST,
            b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n" + POST,
        ),
    ),
    "response": (
        response,
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.0 401 No\r\nWWW-Authenticate: a\r\n\r\nno",
        ),
    ),
    "jsonc": (
        jsonc,
        (
            b'// mine\n{"a": [1, -2.5e3, true, null, "\\u2603"], /* b */ "c": {"d": {},},}\r\n',
            b"[" * 40 + b"]" * 40,
        ),
    ),
    "template": (
        template,
        (
            b"repo://{owner}/{name}/contents{/path*}\nrepo://me/it/contents/a/b",
            b"find://all{?word,limit}{&x}\nfind://all?word=x&limit=1",
        ),
    ),
    "expansion": (
        expansion,
        (
            b"a ${A} $${A} ${env:EMPTY:-b${SECRET}} ${keyring:k} ${member:m}",
            b"${userHome}/${file:~/x}/${NONE:-${NONE:-${NONE:-x}}}",
        ),
    ),
    "header": (header, (b"=?base64?4piD?=", b"plain text")),
    "target": (target, (b"/mcp/s/a?b=c#d", b"http://127.0.0.1:7420/mcp", b"*", b"//x/y")),
    "address": (address, (b"https://[::1]:443/a?b=c", b"http://user:p@example.com:80/%20#f")),
}
"""Each with inputs that it takes, from which others are made."""
WORDS = (
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b",", b'"', b"\\", b"{", b"}", b"[", b"]", b"/"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"\xed\xa0\x80", b"\xc0\xaf"),
    *(
        b"${",
        b"$${",
        b":-",
        b"{+x}",
        b"{?x}",
        b"//",
        b"/*",
        b"*/",
        b"null",
        b"1e999",
        b"-0",
        b"NaN",
    ),
    *(b"99999999999999999999", b"-1", b"0\r\n\r\n", b"data:", b"id:", b"Content-Length: 5\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"HTTP/1.1 ", b"GET / ", b'"id":', b'"result":', b"\t"),
    *(b"[" * 80, b'{"a":' * 80, b"x" * 1200, b"${A:-" * 40, b'"jsonrpc":"2.0",'),
)
"""Pieces that parsers look at."""
