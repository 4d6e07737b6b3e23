"""Results that are too large for their client: cut with a mark, and kept for a while to be read.

Only text is cut. What is kept is as large as the server's answer was, so both the number and the
bytes of what is kept have a limit; the oldest goes first.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolyard.relay.handles import Handles
from toolyard.relay.session import ClientRequest, Session
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message

TextBlock = dict[str, Raw | str]
"""A block of text in a result, by its members."""
PREFIX: Final = "toolyard://result/"
PURPOSE: Final = "result"
KEPT: Final = 200
KEPT_BYTES: Final = 64 << 20
KEPT_SECONDS: Final = 600.0
"""Long enough for a model to come back to it, short enough not to fill the memory."""
LINKS_SINCE: Final = "2025-06-18"
"""The first protocol revision with links to resources in results."""
_ROOM: Final = 1024
"""Bytes for the mark and the link."""
_SEALED_ROOM: Final = 1536
"""The same where a URI says which replica keeps the rest."""
_LEAST: Final = 256
"""Bytes of text that are shown in any case."""
_blocks: Final = msgspec.json.Decoder(list[Raw]).decode


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The text of one result, in pieces that each fit; JSON without its quotes."""

    owner: str
    pieces: tuple[bytes, ...]
    size: int
    until: float


class Results:
    """The results that were cut, until they are too old or too many."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._kept: OrderedDict[str, KeptResult] = OrderedDict()
        self._bytes = 0

    def keep(self, session: Session, pieces: tuple[bytes, ...]) -> str:
        """Keep a text for one client; the URI it can read it at."""
        id_ = self._handles.make(PURPOSE, session, secrets.token_urlsafe(12))
        size = sum(map(len, pieces))
        self._kept[id_] = KeptResult(session.principal, pieces, size, monotonic() + KEPT_SECONDS)
        self._bytes += size
        self._sweep()
        return PREFIX + id_

    def read(self, owner: str, uri: str) -> bytes | None:
        """The result of reading a URI; None if it is not this client's, or is gone."""
        self._sweep()
        id_, slash, number = uri.removeprefix(PREFIX).partition("/")
        result = self._kept.get(id_)
        if result is None or result.owner != owner:
            return None
        pieces = result.pieces
        if slash:
            if not number.isascii() or not number.isdigit() or not 0 < int(number) <= len(pieces):
                return None
            pieces = pieces[int(number) - 1 : int(number)]
        block = b'{"uri":%b,"mimeType":"text/plain","text":"%b"}'
        return b'{"contents":[%b]}' % (block % (jsonrpc.encode(uri), b"".join(pieces)))

    async def read_elsewhere(self, request: ClientRequest) -> Message | None:
        """Have the replica that keeps a result answer a request for it; None if none does."""
        id_ = request.name.removeprefix(PREFIX).partition("/")[0]
        return await self._handles.pass_on(PURPOSE, id_, request)

    def leave(self, owner: str) -> None:
        """A client is gone, and with it whoever could read this."""
        for id_ in [id_ for id_, result in self._kept.items() if result.owner == owner]:
            self._forget(id_)

    def _sweep(self) -> None:
        now = monotonic()
        while self._kept:
            id_, oldest = next(iter(self._kept.items()))
            if (
                oldest.until > now
                and len(self._kept) <= KEPT
                and (self._bytes <= KEPT_BYTES or len(self._kept) == 1)
            ):
                return
            self._forget(id_)

    def _forget(self, id_: str) -> None:
        self._bytes -= self._kept.pop(id_).size

    def cut(self, session: Session, result: bytes, *, keeps: bool) -> bytes:
        """A result of as many bytes as its client takes, as far as its text can be cut.

        `keeps` leaves `structuredContent` in it, however large: the tool has promised it.
        """
        most, room = session.largest, _SEALED_ROOM if session.replica else _ROOM
        try:
            fields = jsonrpc.fields(result)
            blocks = _blocks(fields["content"]) if "content" in fields else []
            parts = [jsonrpc.fields(block) for block in blocks]
        except jsonrpc.MalformedError:
            return result
        texts = [part for part in parts if _is_text(part)]
        other = len(result) - sum(len(part["text"]) for part in texts)
        whole = "\n".join(_text(part["text"]) for part in texts)
        structured = fields.get("structuredContent")
        drops = structured is not None and not keeps and other + room + _LEAST > most
        if structured is not None and drops:
            del fields["structuredContent"]
            other -= len(structured)
            if len(whole) < len(structured):  # else the text says the same, as it should
                whole = "\n".join(filter(None, [whole, bytes(structured).decode()]))
        pieces = _pieces(whole, max(most - other - room, _LEAST), most - room)
        if len(pieces) == 1 and not drops:
            return result  # what is large is no text
        head: TextBlock = {**texts[0]} if texts else {"type": "text"}
        rest = [block for block, part in zip(blocks, parts, strict=True) if not _is_text(part)]
        fields["content"] = Raw(jsonrpc.encode([*self._said(session, head, pieces), *rest]))
        return jsonrpc.encode(fields)

    def _said(self, session: Session, head: TextBlock, pieces: tuple[bytes, ...]) -> list[Any]:
        """The first piece, and where the others are."""
        if len(pieces) == 1:
            return [{**head, "text": Raw(b'"%b"' % pieces[0])}]
        uri = self.keep(session, pieces)
        shown = {**head, "text": Raw(b'"%b%b"' % (pieces[0], _mark(uri, pieces)))}
        takes_links = session.is_modern or session.version >= LINKS_SINCE
        return [shown, _link(uri, len(pieces))] if takes_links else [shown]


def _is_text(part: jsonrpc.Fields) -> bool:
    return bytes(part.get("type", b"")) == b'"text"' and "text" in part


def _text(raw: Raw) -> str:
    value = jsonrpc.to_python(raw)
    return value if isinstance(value, str) else ""


def _pieces(text: str, first: int, others: int) -> tuple[bytes, ...]:
    """A text in pieces of so many bytes of JSON."""
    pieces: list[bytes] = []
    at, room = 0, first
    while at < len(text) or not pieces:
        size = _fitting(text[at : at + room], room)
        pieces.append(jsonrpc.encode(text[at : at + size])[1:-1])
        at, room = at + size, others
    return tuple(pieces)


def _fitting(text: str, room: int) -> int:
    """Return how many characters fit into so many bytes of JSON; one in any case."""
    low, high = 1, max(len(text), 1)
    while low < high:
        middle = (low + high + 1) // 2
        if len(jsonrpc.encode(text[:middle])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _mark(uri: str, pieces: tuple[bytes, ...]) -> bytes:
    count = len(pieces)
    rest = f"{uri}/2" if count == 2 else f"{uri}/2 to {uri}/{count}"
    text = (
        f"\n\n[cut by toolyard: {len(pieces[0])} of {sum(map(len, pieces))} bytes are shown, as "
        f"many as this client takes. The rest is in the resource {rest}, the whole in {uri}; "
        f"kept for {KEPT_SECONDS / 60:g} minutes.]"
    )
    return jsonrpc.encode(text)[1:-1]


def _link(uri: str, count: int) -> dict[str, str]:
    return {
        "type": "resource_link",
        "uri": f"{uri}/2",
        "name": f"result, part 2 of {count}",
        "description": "What follows where this result was cut.",
        "mimeType": "text/plain",
    }
