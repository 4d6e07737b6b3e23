"""HTTP for logins: to judged addresses alone, bounded, never redirected and never packed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

import msgspec

from toolyard.core.errors import LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.links.addresses import Reach
from toolyard.wire.http1 import Headers, HttpTarget, Pool, parse_address
from toolyard.wire.pieces import Pieces

SECONDS: Final = 20.0
ANSWER_LIMIT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class IssuerReply:
    """The answer of an issuer, or of the server whose tokens it gives out."""

    status: int
    headers: Headers
    body: bytes

    def fields(self) -> JsonObject:
        """The members of its body; empty if it is no JSON object."""
        try:
            fields = msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            return {}
        return fields if isinstance(fields, dict) else {}


class IssuerHttp:
    """Requests on the way to one server's tokens, each over a connection of its own."""

    def __init__(self, server: str) -> None:
        """Go wherever a login at this server may."""
        self._reach = Reach(server)

    async def get(self, url: str) -> IssuerReply:
        """Ask for a document; see `send`."""
        return await self.send("GET", url)

    async def post_form(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> IssuerReply:
        """Post a form; see `send`."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return await self.send("POST", url, {**headers, **kind}, urlencode(form).encode())

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> IssuerReply:
        """Send one request.

        Raises:
            LinkError: The address must not be asked, cannot be reached, is late, or packs its
                answer.
        """
        try:
            async with asyncio.timeout(SECONDS):
                return await self._send(method, url, headers or {}, body)
        except TimeoutError:
            host = urlsplit(url).hostname
            raise LinkError(f"{host!r} did not answer within {SECONDS:g} s") from None

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> IssuerReply:
        address = await self._judge(url)
        pool, answer = Pool(address), _Answer()
        fixed = {"host": address.authority, "accept": "application/json"}
        fixed |= {"accept-encoding": "identity"}
        if method != "GET":
            fixed["content-length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**fixed, **headers}.items())
        head = f"{method} {address.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
        try:
            pool.send(head + body, answer)
            reply = await answer.over
            return IssuerReply(answer.status, answer.headers, reply)
        finally:
            await pool.close()

    async def _judge(self, url: str) -> HttpTarget:
        """The address to connect to; its name may lead elsewhere than the last time."""
        try:
            address, parts = parse_address(url), urlsplit(url)
        except ValueError as error:
            raise LinkError(
                "the login leads to what is no address", "do not log in there"
            ) from error
        places = await self._reach.addresses(parts.scheme, address.host, parts.port)
        return address._replace(resolved=tuple(places))


class _Answer:
    """Collects one answer."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Headers = {}
        self.over: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._body = Pieces()

    def head(self, status: int, headers: Headers) -> None:
        """Note the status and the headers; nobody asked for a packed answer.

        A megabyte of it may become a gigabyte when it is unpacked.
        """
        self.status, self.headers = status, headers
        coding = headers.get(b"content-encoding", b"").strip().lower()
        if coding not in (b"", b"identity"):
            shown = coding[:20].decode("latin-1")
            self.lost(f"the answer is packed ({shown}), which was not asked for")

    def body(self, chunk: bytes) -> None:
        """Keep a piece, up to what an answer may have."""
        self._body.add(chunk[: ANSWER_LIMIT - self._body.size])

    def done(self) -> None:
        """It is complete."""
        if not self.over.done():
            self.over.set_result(self._body.take())

    def lost(self, why: str) -> None:
        """It will not be."""
        if not self.over.done():
            self.over.set_exception(LinkError(why))
