"""Waits until a browser comes back from an authorization server: on the loopback, or in public."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from toolyard.core.errors import LinkError
from toolyard.features.auth.client_document import HOST, describe_client

PATH: Final = "/callback"
HEAD_LIMIT: Final = 16 * 1024
HEAD_SECONDS: Final = 10.0
PAGE: Final = (
    "<!doctype html><meta charset=utf-8><title>Toolyard</title>"
    "<p style='font:1.1em sans-serif;margin:3em'>{}"
)
UNKNOWN: Final = "This login is not known, or is over. Start it again."
ELSEWHERE: Final = (
    "This login was begun in another browser, so nothing was kept. Go on there, or start it again"
    " in this one. If somebody sent you here, tell the keeper of this hub."
)
HEADERS: Final = (
    "content-type: text/html; charset=utf-8\r\ncache-control: no-store\r\nconnection: close\r\n"
    "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
    "referrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n"
)


class Callback:
    """One address for one login; whatever does not know its state is turned away."""

    def __init__(self, address: str = "", tie: str = "") -> None:
        """Wait at an address of the hub; without one, at a port of the loopback.

        Args:
            tie: The secret of the browser that has to come; empty for any.
        """
        self.port = 0
        self._address = address
        self._tie = tie
        self._state = ""
        self._came = _make_future()

    @property
    def address(self) -> str:
        """The address to which the browser is to be sent."""
        return self._address or f"http://{HOST}:{self.port}{PATH}"

    def expect(self, state: str) -> None:
        """Let in only who brings this state, and forget who came before."""
        self._state = state
        self._came = _make_future()

    async def wait(self, seconds: float) -> dict[str, str]:
        """Wait for the browser, and return the parameters that it brought.

        Raises:
            LinkError: Nobody came in time.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._came
        except TimeoutError:
            raise LinkError(
                f"nobody finished the login within {seconds:g} s", "start it again"
            ) from None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                async with asyncio.timeout(HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                status, text = self._judge(head.decode("latin-1"))
                body = PAGE.format(text).encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\n{HEADERS}content-length: {len(body)}\r\n\r\n".encode()
                )
                writer.write(body)
                await writer.drain()
            except TimeoutError:
                pass
            finally:
                writer.close()

    def _judge(self, head: str) -> tuple[str, str]:
        lines = head.split("\r\n")
        method, _, rest = lines[0].partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        hosts = [
            line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")
        ]
        # A page that has its own name point to this address is not the browser we wait for.
        if hosts != [f"{HOST}:{self.port}"]:
            return "421 Misdirected Request", "This address is not for you."
        if method != "GET" or target.path != PATH:
            return "404 Not Found", "There is nothing here."
        brought = dict(parse_qsl(target.query))
        if not self.take(brought):
            return "400 Bad Request", UNKNOWN
        return "200 OK", _farewell(brought)

    def is_for(self, brought: Mapping[str, str]) -> bool:
        """Tell whether what a browser brought is of this login."""
        matches = secrets.compare_digest(brought.get("state", "").encode(), self._state.encode())
        return bool(self._state) and matches and not self._came.done()

    def expects(self, tie: str) -> bool:
        """Tell whether a browser is the one that began this login."""
        return not self._tie or secrets.compare_digest(tie.encode(), self._tie.encode())

    def take(self, brought: Mapping[str, str], tie: str = "") -> bool:
        """Take the parameters that a browser brought; False if they are not of this login."""
        if not self.is_for(brought) or not self.expects(tie):
            return False
        self._came.set_result(dict(brought))
        return True


def _make_future() -> asyncio.Future[dict[str, str]]:
    return asyncio.get_running_loop().create_future()


class PublicCallbacks:
    """The logins under way whose browsers come back to the hub's public address."""

    def __init__(self, address: str, page: str = "") -> None:
        """Take browsers at `address`; the document that describes us is at `page`."""
        self._address = address
        self.page = page if page.startswith("https://") else ""
        """The address of that document; empty if no issuer would fetch it."""
        self._waiting: list[Callback] = []

    def describe(self) -> bytes:
        """Return the document that describes us to issuers; empty if none would fetch it."""
        if not self.page:
            return b""
        document = {"client_id": self.page, **describe_client(self._address)}
        return msgspec.json.encode({**document, "token_endpoint_auth_method": "none"})

    @asynccontextmanager
    async def open(self, tie: str = "") -> AsyncIterator[Callback]:
        """Open a callback for one login, and for one browser if it has a tie; leaving closes it."""
        callback = Callback(self._address, tie)
        self._waiting.append(callback)
        try:
            yield callback
        finally:
            self._waiting.remove(callback)

    def bring(self, brought: Mapping[str, str], tie: str = "") -> tuple[int, str]:
        """Take what a browser brought to its login; give the status and the page for it."""
        callback = next((waiting for waiting in self._waiting if waiting.is_for(brought)), None)
        if callback is None:
            return 400, PAGE.format(UNKNOWN)
        if not callback.take(brought, tie):
            return 403, PAGE.format(ELSEWHERE)
        return 200, PAGE.format(_farewell(brought))


def _farewell(brought: Mapping[str, str]) -> str:
    if "error" in brought:
        return "The login was refused. You can close this page."
    return "That is all: you can close this page and go back."


@asynccontextmanager
async def listening(port: int = 0) -> AsyncIterator[Callback]:
    """Open a callback that can be reached; leaving closes it.

    Raises:
        OSError: The port is taken.
    """
    callback = Callback()
    server = await asyncio.start_server(callback.serve, HOST, port, limit=HEAD_LIMIT)
    callback.port = server.sockets[0].getsockname()[1]
    try:
        yield callback
    finally:
        server.close()
