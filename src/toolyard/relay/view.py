"""What clients see of a picture: tables of names, and lists as ready-made bytes.

Made once per picture and only when somebody asks. What did not change between
two pictures is taken over, so one server's change costs one server's work.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from msgspec import Raw

from toolyard.core.model import Entry, Offer, ServerId, Snapshot
from toolyard.core.names import exposed_names
from toolyard.core.search import Index
from toolyard.relay.offers import OWN
from toolyard.wire import headers, jsonrpc

KINDS: Final = ("tools", "prompts", "resources", "templates")
_MARK: Final = headers.MARK.encode()
_PARTS: Final = re.compile(r"(\{[^{}]*\})")
FIELDS: Final = {
    "tools": ("tools", "name"),
    "prompts": ("prompts", "name"),
    "resources": ("resources", "uri"),
    "templates": ("resourceTemplates", "uriTemplate"),
}


@dataclass(frozen=True, slots=True)
class Exposure:
    """How servers are shown: what stands between alias and name, and what is listed."""

    separator: str = "__"
    expose: str = "all"
    """`all`, or `search`: only the hub's own tools and the pinned ones."""
    pinned: frozenset[str] = frozenset()
    page: int = 5000
    server: str = ""
    """The alias of the one server to show; empty for all."""
    app: str = ""
    """The one app to show, as its own hub would; empty for the whole yard."""


class Route:
    """Where a name leads: the server, and what it is called there."""

    __slots__ = ("_has_marks", "_schema", "alias", "head", "key", "offer", "raw_key", "server")

    def __init__(self, server: ServerId | None, key: str, offer: Offer, alias: str = "") -> None:
        self.server = server
        """None for what the hub itself offers."""
        self.alias = alias
        self.key = key
        self.raw_key = Raw(jsonrpc.encode(key))
        self.head = b"mcp-name: %b\r\n" % headers.encode_value(key).encode()
        self.offer = offer
        self._has_marks = _MARK in offer.raw
        self._schema: tuple[Any, dict[headers.Path, tuple[str, str]]] | None = None

    @property
    def schema(self) -> Any:
        """The tool's input schema, decoded when first asked for."""
        return self._read()[0]

    @property
    def marked(self) -> dict[headers.Path, tuple[str, str]]:
        """The arguments that travel as headers too; nearly always none."""
        return self._read()[1] if self._has_marks else {}

    def _read(self) -> tuple[Any, dict[headers.Path, tuple[str, str]]]:
        if self._schema is None:
            raw = jsonrpc.fields(self.offer.raw).get("inputSchema")
            schema = jsonrpc.to_python(raw) if raw is not None else {}
            self._schema = (schema, headers.param_headers(schema))
        return self._schema


@dataclass(slots=True)
class Listing:
    """One list, cut into pages of ready-made bytes."""

    digest: str
    items: list[bytes]
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
        made = self._pages.get((modern, start))
        if made is None:
            made = self._pages[modern, start] = self._make(modern, start)
        return made

    def _make(self, modern: bool, start: int) -> bytes:
        end = start + self.size
        body = b'"%b":[%b]' % (self.member.encode(), b",".join(self.items[start:end]))
        if end < len(self.items):
            body += b',"nextCursor":"%b.%d"' % (self.digest.encode(), end)
        return b"{%b%b}" % (CACHED if modern else b"", body)


CACHED: Final = b'"resultType":"complete","ttlMs":0,"cacheScope":"private",'
"""What every list and every read of ours says in the modern era: ask again, we are near."""


class View:
    """Everything a client may list, read or call, and where it leads."""

    def __init__(self, revision: int, exposure: Exposure) -> None:
        self.revision = revision
        self.exposure = exposure
        self.tools: dict[str, Route] = {}
        self.prompts: dict[str, Route] = {}
        self.resources: dict[str, Route] = {}
        self.templates: dict[str, Route] = {}
        self.wrapped: dict[ServerId, list[tuple[bytes, bytes]]] = {}
        """Per server: its clashing URIs as JSON strings, and what stands for them."""
        self.patterns: list[tuple[re.Pattern[str], Route]] = []
        self.lists: dict[str, Listing] = {}
        self.entries: dict[str, Entry] = {}
        """By alias."""
        self.extensions: dict[str, Any] = {}
        self.has_tasks = False
        self.renamed: dict[tuple[Offer, str], bytes] = {}
        self._index: Index | None = None

    def table(self, kind: str) -> dict[str, Route]:
        """The table of one kind of offer."""
        return getattr(self, kind)  # type: ignore[no-any-return]

    def search(self, query: str, alias: str = "") -> list[str]:
        """Exposed names of tools that match, best first; all in order without a query."""
        theirs = [name for name, route in self.tools.items() if route.server is not None]
        if query.strip():
            if self._index is None:
                texts = [(name, _description(self.tools[name].offer)) for name in theirs]
                self._index = Index(texts)
            theirs = [theirs[i] for i in self._index.search(query)]
        return [name for name in theirs if alias in ("", self.tools[name].alias)]

    def tools_of(self, alias: str) -> dict[str, Route]:
        """The tools of one server, by their own names there."""
        return {route.key: route for route in self.tools.values() if route.alias == alias}

    def route_uri(self, uri: str) -> Route | None:
        """Who has a resource: by its exact URI, else by the first template that fits."""
        route = self.resources.get(uri)
        if route is not None:
            return route
        for pattern, candidate in self.patterns:
            if match := pattern.fullmatch(uri):
                key = _fill(candidate.key, match.groups())
                return Route(candidate.server, key, candidate.offer, candidate.alias)
        return None


def make_view(
    snapshot: Snapshot,
    exposure: Exposure,
    before: View | None,
    own: Mapping[str, tuple[Offer, ...]] = OWN,
) -> View:
    """The view of a picture; `before` lends the bytes that did not change."""
    view = View(snapshot.revision, exposure)
    old = before.renamed if before is not None else {}
    listed: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    taken: dict[str, set[str]] = {kind: set() for kind in KINDS}
    if not exposure.server:
        _add_own(view, own, listed, taken)
    for entry in sorted(_shown(snapshot, exposure), key=lambda e: e.alias):
        if entry.server.enabled and exposure.server in ("", entry.alias):
            view.entries[entry.alias] = entry
            _add(view, entry, listed, taken, old)
            _note_capabilities(view, entry)
    for kind in KINDS:
        digest = hashlib.sha256(b"\0".join(listed[kind])).hexdigest()[:16]
        view.lists[kind] = Listing(digest, listed[kind], exposure.page, FIELDS[kind][0])
    return view


def _shown(snapshot: Snapshot, exposure: Exposure) -> list[Entry]:
    """The servers to show; in the view of an app, a variant is called as the app calls it."""
    entries = snapshot.entries.values()
    if not exposure.app:
        return list(entries)
    variants = [entry for entry in entries if entry.server.id.source == exposure.app]
    return [replace(entry, alias=entry.server.id.name) for entry in variants]


def _add_own(
    view: View,
    own: Mapping[str, tuple[Offer, ...]],
    listed: dict[str, list[bytes]],
    taken: dict[str, set[str]],
) -> None:
    for kind, offers in own.items():
        for offer in offers:
            view.table(kind)[offer.key] = Route(None, offer.key, offer)
            listed[kind].append(offer.raw)
            taken[kind].add(offer.key)


def _add(
    view: View,
    entry: Entry,
    listed: dict[str, list[bytes]],
    taken: dict[str, set[str]],
    old: dict[tuple[Offer, str], bytes],
) -> None:
    for kind in KINDS:
        offers: tuple[Offer, ...] = getattr(entry.offers, kind)
        if kind == "tools" and entry.held:
            offers = tuple(offer for offer in offers if offer.key not in entry.held)
        names = _names(view, entry, kind, offers, taken[kind])
        for offer in offers:
            name = names.get(offer.key)
            if name is None:
                continue
            view.table(kind)[name] = route = Route(entry.server.id, offer.key, offer, entry.alias)
            if kind == "templates":
                view.patterns.append((_pattern(name), route))
            raw = old.get((offer, name)) or _rename(offer, FIELDS[kind][1], name)
            view.renamed[offer, name] = raw
            raw = rewrap(raw, view.wrapped.get(entry.server.id))
            if _is_listed(view.exposure, kind, name):
                listed[kind].append(raw)


def _names(
    view: View, entry: Entry, kind: str, offers: tuple[Offer, ...], taken: set[str]
) -> dict[str, str]:
    if kind in ("tools", "prompts"):
        return exposed_names(entry.alias, (o.key for o in offers), view.exposure.separator, taken)
    names: dict[str, str] = {}
    for offer in offers:
        name = offer.key
        if name in taken:
            name = f"toolyard://at/{quote(entry.alias, safe='')}/{_quote_uri(offer.key)}"
            pair = (jsonrpc.encode(offer.key), jsonrpc.encode(name))
            view.wrapped.setdefault(entry.server.id, []).append(pair)
        taken.add(name)
        names[offer.key] = name
    return names


def _quote_uri(uri: str) -> str:
    """Percent-encoded, but for the braces of a template's variables."""
    return quote(uri, safe="{}")


def _is_listed(exposure: Exposure, kind: str, name: str) -> bool:
    return kind != "tools" or exposure.expose == "all" or name in exposure.pinned


def _rename(offer: Offer, field_: str, name: str) -> bytes:
    if name == offer.key:
        return offer.raw
    fields = jsonrpc.fields(offer.raw)
    fields[field_] = Raw(jsonrpc.encode(name))
    return jsonrpc.encode(fields)


def rewrap(raw: bytes, pairs: list[tuple[bytes, bytes]] | None) -> bytes:
    """References to URIs that clash become references to what stands for them."""
    for inner, outer in pairs or ():
        raw = raw.replace(inner, outer)
    return raw


def _pattern(template: str) -> re.Pattern[str]:
    """A URI template as a pattern, with a group for each variable."""
    parts = _PARTS.split(template)
    out = "".join(_variable(p) if p.startswith("{") else re.escape(p) for p in parts)
    return re.compile(out)


def _fill(template: str, values: tuple[str, ...]) -> str:
    """A URI template with the values of its variables, as they were written."""
    rest = iter(values)
    return "".join(next(rest) if p.startswith("{") else p for p in _PARTS.split(template))


def _variable(expression: str) -> str:
    if expression[1:2] in ("?", "&"):
        return r"((?:[?&].*)?)"
    wide = expression[1:2] in ("+", "/", "#") or expression.endswith("*}")
    return r"(.*)" if wide else r"([^/?#]*)"


def _description(offer: Offer) -> str:
    fields = jsonrpc.fields(offer.raw)
    parts = [jsonrpc.to_python(fields[k]) for k in ("title", "description") if k in fields]
    return " ".join(p for p in parts if isinstance(p, str))


def _note_capabilities(view: View, entry: Entry) -> None:
    """Extensions and tasks that any server has are the hub's too."""
    if entry.peer is None:
        return
    said = jsonrpc.to_python(entry.peer.capabilities)
    if isinstance(extensions := said.get("extensions"), dict):
        view.extensions |= extensions
    view.has_tasks = view.has_tasks or (isinstance(said.get("tasks"), dict))
