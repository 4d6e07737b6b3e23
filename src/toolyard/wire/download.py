"""Small documents from the web, bounded in size and time; nothing is redirected.

All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

STEP_SECONDS: Final = 10.0
"""For one step: to connect, or until the next bytes."""
WHOLE_SECONDS: Final = 30.0
"""For a whole answer."""
_CHUNK: Final = 65536


class TooLargeError(OSError):
    """The answer has more bytes than anybody wants."""


def download_json(url: str, limit: int, host: str = "") -> tuple[int, bytes]:
    """Return the status and the body that an address gives.

    With a `host`, an IP address that was judged, that one is connected to, whatever name the
    address has: asked for again, the name could lead elsewhere.

    Raises:
        TooLargeError: The body has more bytes than `limit`.
        TimeoutError: It takes too long.
        OSError: Nobody answers, or not in HTTP.
    """
    return _send("GET", url, limit, {}, host=host)


def post(url: str, body: bytes, headers: Mapping[str, str], limit: int) -> tuple[int, bytes]:
    """Send a body to an address; return the status and the body of the answer.

    Raises:
        TooLargeError: The answer has more bytes than `limit`.
        TimeoutError: It takes too long.
        OSError: Nobody answers, or not in HTTP.
    """
    return _send("POST", url, limit, headers, body)


def _send(
    method: str,
    url: str,
    limit: int,
    headers: Mapping[str, str],
    body: bytes | None = None,
    host: str = "",
) -> tuple[int, bytes]:
    parts = urlsplit(url)
    kind = _PinnedHttps if parts.scheme == "https" else _PinnedHttp
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = {"Accept": "application/json", **headers}
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=STEP_SECONDS)) as connection:
            connection.pinned = host
            connection.request(method, target, body, head)
            response = connection.getresponse()
            return response.status, _read(response, limit)
    except (http.client.HTTPException, UnicodeError) as error:
        raise OSError(f"no answer in HTTP: {type(error).__name__}") from error


class _PinnedHttp(http.client.HTTPConnection):
    """Connects to the one address that it is given, if it is."""

    pinned = ""

    def connect(self) -> None:
        if not self.pinned:
            super().connect()
            return
        self.sock = socket.create_connection((self.pinned, self.port), self.timeout)


class _PinnedHttps(http.client.HTTPSConnection):
    """The same; the certificate is that of the name."""

    pinned = ""

    def connect(self) -> None:
        if not self.pinned:
            super().connect()
            return
        plain = socket.create_connection((self.pinned, self.port), self.timeout)
        self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    end = time.monotonic() + WHOLE_SECONDS
    body = bytearray()
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > limit:
            raise TooLargeError(f"the answer has more than {limit} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    return bytes(body)
