"""A view of the picture: everything a client may list, read or call, and where it leads."""

from __future__ import annotations

from itertools import chain
from typing import Final, NamedTuple

from toolyard.core.addresses import is_ours, unwrap, wrap
from toolyard.core.model import Entry, Offer, ServerId
from toolyard.core.search import check_query
from toolyard.links.owner import Apart
from toolyard.relay.addressing import Addressing
from toolyard.relay.extensions import Extensions, is_foreign
from toolyard.relay.profile_filter import ViewFilter
from toolyard.relay.routes import NO_OFFER, Listing, Made, Route
from toolyard.relay.tool_search import ToolSearch
from toolyard.relay.uris import Spread, Template
from toolyard.relay.view_key import ViewKey

KINDS: Final = ("tools", "prompts", "resources", "templates")


class FoundTools(NamedTuple):
    """The exposed names of tools, best first, and the number of all that match."""

    names: list[str]
    total: int


class View:
    """Tables of names, and lists as ready-made bytes; see `make_view`."""

    def __init__(
        self,
        revision: int,
        key: ViewKey,
        profile_filter: ViewFilter,
        addressing: Addressing,
        expose: str,
        tool_search: ToolSearch,
    ) -> None:
        self.revision = revision
        self.key = key
        self.filter = profile_filter
        self.addressing = addressing
        self.expose = expose
        """`all`, or `search`: as the profile says, or else the key."""
        self.tools: dict[str, Route] = {}
        self.prompts: dict[str, Route] = {}
        self.resources: dict[str, Route] = {}
        self.templates: dict[str, Route] = {}
        self.withheld: dict[str, tuple[Entry, str]] = {}
        """Tools that are known and cannot be called: the server, and the tool's name there."""
        self.pages: dict[str, Route] = {}
        """Pages that tools refer to and their servers do not list, by URI."""
        self.patterns: list[tuple[Template, Route]] = []
        """The templates that go by their own name."""
        self.lists: dict[str, Listing] = {}
        self.entries: dict[str, Entry] = {}
        """By alias."""
        self.aliases: dict[ServerId, str] = {}
        self.readable: set[ServerId] = set()
        """The servers that have resources to be read."""
        self.apart: dict[str, Apart] = {}
        """By alias, the servers that run otherwise than in the picture."""
        self.extensions = Extensions()
        self.left_out = 0
        """Tools that are not in the list because it would be too long."""
        self.made: dict[tuple[Offer, str], Made] = {}
        """The offers that the next view can take over."""
        self.tool_search = tool_search
        self._names_of: dict[str, list[str]] | None = None
        """By alias, the exposed names of tools; made when somebody asks."""
        self._names: list[str] | None = None

    @property
    def has_own_tools(self) -> bool:
        """True if the hub's own tools are in it: not where only certain servers are wanted."""
        return not self.key.server and not self.key.agent

    def table(self, kind: str) -> dict[str, Route]:
        """The table of one kind of offer."""
        return getattr(self, kind)  # type: ignore[no-any-return]

    def tool_names(self, alias: str = "") -> list[str]:
        """The exposed names of the tools of all servers, or of one, in order."""
        return list(self._by_alias().get(alias, ()) if alias else self._every_name())

    async def find_tools(self, query: str, alias: str = "", most: int | None = None) -> FoundTools:
        """Find the tools that match, best first; all in order without a query.

        Args:
            query: Words to look for.
            alias: Only tools of this server; of all if empty.
            most: How many are wanted; all without.

        Raises:
            ConfigError: The query is too long.
        """
        check_query(query)
        if not query.strip():
            names = self.tool_names(alias)
            return FoundTools(names[:most], len(names))
        names_of = self._by_alias()
        matches = await self.tool_search.find(
            self.revision, self.tools, names_of, query, alias, most
        )
        names = self._every_name()
        return FoundTools([names[place] for place in matches.places], matches.total)

    def _every_name(self) -> list[str]:
        if self._names is None:
            self._names = list(chain.from_iterable(self._by_alias().values()))
        return self._names

    def _by_alias(self) -> dict[str, list[str]]:
        if self._names_of is None:
            self._names_of = {}
            for name, route in self.tools.items():
                if route.server is not None:
                    self._names_of.setdefault(route.alias, []).append(name)
        return self._names_of

    def tools_of(self, alias: str) -> dict[str, Route]:
        """The tools of one server, by their own names there."""
        return {route.key: route for route in self.tools.values() if route.alias == alias}

    def route_uri(self, uri: str, giver: ServerId | None = None) -> Route | None:
        """Find who has a resource: by its exact URI, by a wrapped one, by the template it fits.

        A server may read more than it lists. There is no doubt whom to ask for that if a server
        gave the client this URI (`giver`), or is the only one that can read at all.
        """
        route = self.resources.get(uri) or self.pages.get(uri)
        if route is not None:
            return route
        wrapped = unwrap(uri)
        if wrapped is not None:
            return self.route_at(*wrapped)
        if not uri or is_ours(uri):
            return None
        if giver in self.aliases:
            return self.route_at(self.aliases[giver], uri)
        return self._route_template(uri) or self._route_sole(uri)

    def route_at(self, alias: str, uri: str) -> Route | None:
        """Return the route of a server's own URI, listed or not; None if nobody may read it."""
        entry = self.entries.get(alias)
        if entry is None or not self.filter.admits(entry, uri):
            return None
        return Route(entry.server.id, uri, NO_OFFER, alias, self.apart.get(alias))

    def _route_template(self, uri: str) -> Route | None:
        spread = Spread(uri)
        for template, route in self.patterns:
            if template.gives(spread) and self.addressing.lets(route.server, uri):
                return self.route_at(route.alias, uri)
        return None

    def shows(self, server: ServerId | None) -> bool:
        """Tell whether a server is part of this view."""
        return server in self.aliases

    def route_to(self, alias: str) -> Route:
        """The way to a server of this view, whatever it is asked for."""
        return Route(self.entries[alias].server.id, "", NO_OFFER, alias, self.apart.get(alias))

    def route_method(self, method: str) -> Route | None:
        """The one server that a method unknown to the hub can be meant for, if there is one."""
        if not is_foreign(method) or not self.filter.is_whole:
            return None  # a profile says all that may be done, and knows nothing of this
        alias = self.key.server or self.extensions.owner(method)
        return self.route_to(alias) if alias in self.entries else None

    def _route_sole(self, uri: str) -> Route | None:
        if len(self.readable) != 1:
            return None
        alias = self.aliases[next(iter(self.readable))]
        may_have = self.addressing.may_have(self.entries[alias], uri)
        return self.route_at(alias, uri) if may_have else None

    def shown(self, server: ServerId, uri: str) -> str:
        """The address by which a client knows what a server calls so; empty if nobody has it.

        Servers refer to more than they list, and also to what another has.
        """
        entry = self.entries.get(self.aliases.get(server, ""))
        if entry is None or self.key.server:
            return uri
        route = self.resources.get(uri) or self.pages.get(uri)
        if route is not None and route.server == server:
            return uri
        if route is None and self.addressing.may_have(entry, uri):
            return ""
        return self.wrapped(server, uri)

    def wrapped(self, server: ServerId, uri: str) -> str:
        """The address that leads to a server's resource in any case."""
        return wrap(self.aliases[server], uri)
