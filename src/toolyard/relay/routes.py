"""The routes of exposed names, and the lists of such names as ready-made bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Raw

from toolyard.core.model import Offer, ServerId
from toolyard.links.owner import Apart
from toolyard.wire import headers, jsonrpc

NO_OFFER: Final = Offer("", b"{}")
"""For routes to what no server has listed."""
_MARK: Final = headers.MARK.encode()


class Route:
    """The target of a name: the server, and what it is called there."""

    __slots__ = (
        "_schema",
        "alias",
        "apart",
        "guards",
        "head",
        "key",
        "marked",
        "offer",
        "raw_key",
        "server",
        "wraps",
    )

    def __init__(
        self,
        server: ServerId | None,
        key: str,
        offer: Offer,
        alias: str = "",
        apart: Apart | None = None,
        *,
        wraps: bool = False,
        guards: tuple[Any, ...] = (),
    ) -> None:
        self.server = server
        """None for what the hub itself offers."""
        self.apart = apart
        """The other way the server runs for who comes this way, if not as in the picture."""
        self.alias = alias
        self.key = key
        self.raw_key = Raw(jsonrpc.encode(key))
        self.head = b"mcp-name: %b\r\n" % headers.encode_value(key).encode() if key else b""
        """The header line that names it to a modern server behind HTTP."""
        self.offer = offer
        self.wraps = wraps
        """True if it returns something else than an object; legacy clients get it in one."""
        self.guards = guards
        """The `CallGuard`s that a call passes before it is sent; nearly always none."""
        self._schema: Any = None
        self.marked = self._read_marks() if _MARK in offer.raw else {}
        """The arguments that travel as headers too; nearly always none."""

    def apart_for(self, has_folders: bool) -> Apart | None:
        """Return how else the server runs for one client: some do only for clients with folders."""
        apart = self.apart
        return None if apart is not None and apart.folders and not has_folders else apart

    @property
    def schema(self) -> Any:
        """The tool's input schema, decoded when first asked for."""
        if self._schema is None:
            raw = jsonrpc.fields(self.offer.raw).get("inputSchema")
            self._schema = jsonrpc.to_python(raw) if raw is not None else {}
        return self._schema

    def _read_marks(self) -> dict[headers.Path, tuple[str, str]]:
        try:
            return headers.param_headers(self.schema)
        except jsonrpc.MalformedError:
            return {}  # one tool that cannot be read must not cost the view of all


Item = tuple[bytes, bytes]
"""An offer under its exposed name, as modern and as legacy clients read it; mostly the same."""
Made = tuple[Item, Route]
"""An offer as it is listed, and where it leads."""


@dataclass(slots=True)
class Listing:
    """One list, cut into pages of ready-made bytes."""

    digest: str
    items: list[Item]
    size: int
    member: str
    _pages: dict[tuple[bool, int], bytes] = field(default_factory=dict)

    def page(self, modern: bool, cursor: str | None) -> bytes | None:
        """The result for a cursor; None if the cursor is not of this list."""
        start = 0
        if cursor is not None:
            digest, _, offset = cursor.partition(".")
            if digest != self.digest or not offset.isdigit() or int(offset) >= len(self.items):
                return None
            start = int(offset)
        result = self._pages.get((modern, start))
        if result is None:
            result = self._pages[modern, start] = self._make(modern, start)
        return result

    def _make(self, modern: bool, start: int) -> bytes:
        end = start + self.size
        column = 0 if modern else 1
        items = b",".join(item[column] for item in self.items[start:end])
        body = b'"%b":[%b]' % (self.member.encode(), items)
        if end < len(self.items):
            body += b',"nextCursor":"%b.%d"' % (self.digest.encode(), end)
        return b"{%b%b}" % (CACHED if modern else b"", body)


CACHED: Final = b'"resultType":"complete","ttlMs":0,"cacheScope":"private",'
"""The words of every list and every read of ours in the modern era: ask again, we are near."""
