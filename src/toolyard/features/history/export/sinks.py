"""The places that lines are exported to: a file, a syslog daemon, a collector behind HTTP.

All of them block, and are used from a thread of their own.
"""

from __future__ import annotations

import base64
import http.client
import os
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from toolyard.core.errors import StoreError

SEND_SECONDS: Final = 10.0
"""The time that a collector may take for one thing."""
PRIORITY: Final = 13 * 8 + 6
"""Facility 13 (log audit), severity 6 (informational)."""
LARGEST_DATAGRAM: Final = 8 * 1024
CUT: Final = b'"cut":true}'
SYSLOG_PORT: Final = 514


class LogSink(Protocol):
    """A place that takes lines."""

    def send(self, lines: Sequence[bytes]) -> None:
        """Hand lines over, in their order.

        Raises:
            OSError: It does not take them; some of them may be there.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class FileSink:
    """Lines at the end of a file, which is opened for each batch: it may be rotated meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, lines: Sequence[bytes]) -> None:
        """Append lines."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with open(os.open(self._path, flags, 0o600), "ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def close(self) -> None:
        """Nothing is held."""


class SyslogSink:
    """Lines as messages of RFC 5424, over datagrams or with their length before them (RFC 6587)."""

    def __init__(self, connect: Callable[[], socket.socket], *, is_stream: bool) -> None:
        self._connect, self._is_stream = connect, is_stream
        self._socket: socket.socket | None = None
        self._head = f"{socket.gethostname() or '-'} toolyard {os.getpid()}"

    def send(self, lines: Sequence[bytes]) -> None:
        """Send each line as a message."""
        if self._socket is None:
            self._socket = self._connect()
        try:
            for line in lines:
                self._socket.sendall(self._message(line))
        except OSError:
            self.close()
            raise

    def _message(self, line: bytes) -> bytes:
        if not self._is_stream and len(line) > LARGEST_DATAGRAM:
            line = _shorten(line)
        kind = "order" if line.startswith(b'{"log":"order"') else "call"
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = f"<{PRIORITY}>1 {now} {self._head} {kind} - ".encode() + line
        return b"%d %b" % (len(message), message) if self._is_stream else message

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class HttpSink:
    """Lines as the body of a POST, `application/x-ndjson`, over a connection that is kept."""

    def __init__(self, parts: SplitResult) -> None:
        self._target = parts.path or "/"
        if parts.query:
            self._target += f"?{parts.query}"
        self._headers = {"content-type": "application/x-ndjson"}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            encoded = base64.b64encode(pair.encode()).decode()
            self._headers["authorization"] = f"Basic {encoded}"
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(parts.hostname or "", parts.port, timeout=SEND_SECONDS)

    def send(self, lines: Sequence[bytes]) -> None:
        """Post lines; anything but 2xx is a refusal."""
        body = b"".join(line + b"\n" for line in lines)
        try:
            self._connection.request("POST", self._target, body, self._headers)
            reply = self._connection.getresponse()
            reply.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise OSError(str(error) or type(error).__name__) from error
        if not 200 <= reply.status < 300:
            raise OSError(f"it answered {reply.status} {reply.reason}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def open_sink(address: str) -> LogSink:
    """Return the place that an address names; nothing is opened yet.

    Raises:
        StoreError: It cannot be used.
    """
    parts = urlsplit(address)
    match parts.scheme:
        case "file":
            return FileSink(Path(unquote(parts.path)))
        case "http" | "https":
            return HttpSink(parts)
        case "syslog+unix":
            return SyslogSink(lambda: _unix(unquote(parts.path)), is_stream=False)
        case "syslog+udp":
            return SyslogSink(lambda: _udp(parts), is_stream=False)
        case "syslog+tcp":
            return SyslogSink(lambda: _tcp(parts), is_stream=True)
    raise StoreError(f"nothing can be exported to {parts.scheme!r}", "see: toolyard history export")


def _unix(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    return _connected(connection, path)


def _udp(parts: SplitResult) -> socket.socket:
    host, port = parts.hostname or "", parts.port or SYSLOG_PORT
    family, kind, proto, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    return _connected(socket.socket(family, kind, proto), target)


def _tcp(parts: SplitResult) -> socket.socket:
    target = parts.hostname or "", parts.port or SYSLOG_PORT
    return socket.create_connection(target, SEND_SECONDS)


def _connected(connection: socket.socket, target: object) -> socket.socket:
    connection.settimeout(SEND_SECONDS)
    try:
        connection.connect(target)  # type: ignore[arg-type]  # a path, or what the resolver said
    except OSError:
        connection.close()
        raise
    return connection


def _shorten(line: bytes) -> bytes:
    """Return an order without its records, which no datagram takes."""
    import msgspec

    fields = msgspec.json.decode(line)
    for name in ("before", "after", "error"):
        fields.pop(name, None)
    return msgspec.json.encode(fields)[:-1] + b"," + CUT
