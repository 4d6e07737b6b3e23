"""TLS for connections that are many, quiet and long: it holds what is under way and no more.

The event loops set aside 256 KiB for each TLS connection, and every container has one.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import cast

_SLICE = 16 * 1024  # a record of TLS; what a burst needed at once would be held for good


class Secured(asyncio.Protocol):
    """Between a plain connection and a protocol, to which it is the transport."""

    def __init__(self, inner: asyncio.Protocol, context: ssl.SSLContext, name: str) -> None:
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._transport: asyncio.Transport | None = None
        self._error: Exception | None = None
        self._paused = False
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once both sides know each other, and the protocol has its connection."""

    # What the plain connection tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with who we are."""
        self._transport = cast(asyncio.Transport, transport)
        self._greet()

    def data_received(self, data: bytes) -> None:
        """Hand on what is inside."""
        for at in range(0, len(data), _SLICE):
            self._incoming.write(data[at : at + _SLICE])
            if not self.ready.done():
                self._greet()
            self._take()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand on that it ended."""
        error = self._error or exc
        if not self.ready.done():
            self.ready.set_exception(error or ConnectionError("the connection was closed"))
        elif not self.ready.cancelled() and self.ready.exception() is None:
            self._inner.connection_lost(error)

    # What the protocol asks of its transport.

    def write(self, data: bytes) -> None:
        """Queue bytes; dropped once it is closed."""
        if self.is_closing():
            return
        view = memoryview(data)
        try:
            while view:
                view = view[self._tls.write(view[:_SLICE]) :]
                self._flush()
        except ssl.SSLError as error:
            self._fail(error)

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self._plain.is_closing()

    def get_write_buffer_size(self) -> int:
        """How many bytes wait to be sent."""
        return self._plain.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        """No: what follows the end of one side would not be read."""
        return False

    def pause_reading(self) -> None:
        """Take nothing until `resume_reading`."""
        self._paused = True
        self._plain.pause_reading()

    def resume_reading(self) -> None:
        """Take what waits, and all that comes."""
        self._paused = False
        self._take()
        if not self._paused and not self.is_closing():
            self._plain.resume_reading()

    def close(self) -> None:
        """Say that it is over, send what waits, and close."""
        if not self.is_closing():
            with suppress(ssl.SSLError):  # it would wait for a word of theirs that we do not need
                self._tls.unwrap()
            self._flush()
            self._plain.close()

    def abort(self) -> None:
        """Drop it."""
        self._plain.abort()

    @property
    def _plain(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _greet(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._fail(error)
        else:
            self._flush()
            self._inner.connection_made(cast(asyncio.BaseTransport, self))
            if not self.ready.done():
                self.ready.set_result(None)

    def _take(self) -> None:
        """Hand on all that has come, unless we are to wait or it is over."""
        if not self.ready.done():
            return
        try:
            while not self._paused and not self.is_closing():
                data = self._tls.read(_SLICE)
                if not data:
                    self.close()
                    return
                self._inner.data_received(data)
        except ssl.SSLWantReadError:
            self._flush()  # it may have been asked for new keys
        except ssl.SSLError as error:
            self._fail(error)

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._plain.write(self._outgoing.read())

    def _fail(self, error: ssl.SSLError) -> None:
        """Tell the other side what is wrong, as far as it has come, and give up."""
        self._error = self._error or error
        if not self.is_closing():
            self._flush()
            self._plain.close()
