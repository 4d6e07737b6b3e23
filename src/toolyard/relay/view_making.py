"""Makes views: once for a picture, and only when somebody asks.

What did not change between two pictures is taken over, so one server's change costs one server's
work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

from toolyard.core.addresses import pages, wrap
from toolyard.core.model import Command, Entry, Offer, ServerId, Snapshot
from toolyard.core.names import exposed_names
from toolyard.core.plans import Plan
from toolyard.core.profiles import Profile, unknown_profile
from toolyard.core.roster import asking_of
from toolyard.core.shapes import shaped
from toolyard.core.tiers import narrower
from toolyard.links.owner import Apart, set_apart
from toolyard.relay.addressing import Addressing
from toolyard.relay.guards import CallGuard, GuardMaker, listed_behind, make_guards
from toolyard.relay.offers import CALL_NAMES, OwnOffers
from toolyard.relay.profile_filter import ProfileFilter, UnionFilter, ViewFilter
from toolyard.relay.routes import Item, Listing, Made, Route
from toolyard.relay.tool_search import ToolSearch
from toolyard.relay.uris import Template
from toolyard.relay.view import KINDS, View
from toolyard.relay.view_key import ViewKey

MEMBERS: Final = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resourceTemplates",
}
"""The member of a result that holds the list."""
Leads = tuple[ServerId, str, Apart | None]
"""Where a route leads: the server, its alias, and how else it runs."""
Guards = tuple[CallGuard, ...]


def make_view(
    snapshot: Snapshot,
    view_key: ViewKey,
    before: View | None,
    own: OwnOffers,
    plans: Iterable[Plan] = (),
    guard_makers: Sequence[GuardMaker] = (),
) -> View:
    """The view of a picture; `before` lends the bytes that did not change.

    `own` is what the hub itself offers; `plans` are those of the agent whose view it is;
    `guard_makers` say what stands in front of its tools.

    Raises:
        UnknownNameError: There is no such profile.
    """
    view = _begin(snapshot, view_key, before)
    old = before.made if before is not None else {}
    listed: dict[str, list[Item]] = {kind: [] for kind in KINDS}
    taken: dict[str, set[str]] = {kind: set() for kind in KINDS}
    if view.has_own_tools:
        _add_own(view, own, listed, taken)
    # Kept free for those who were given these names.
    taken["tools"].update(view.filter.given_names)
    makes = [make for maker in guard_makers if (make := maker.look_at(snapshot)) is not None]
    for entry in sorted(_shown(view, snapshot, plans), key=lambda e: e.alias):
        if not entry.server.enabled or view_key.server not in ("", entry.alias):
            continue
        if view.filter.shows(entry):
            view.entries[entry.alias] = entry
            view.aliases[entry.server.id] = entry.alias
            _set_apart_for_profile(view, entry)
            _set_apart_for_members(view, entry)
            if _can_read(entry):
                view.readable.add(entry.server.id)
            guard = partial(make_guards, makes, entry) if makes else None
            _add(view, entry, listed, taken, old, guard)
            view.extensions.note(entry)
    tools = _limit_tools(listed["tools"], view_key.most, _come_first(view))
    view.left_out, listed["tools"] = len(listed["tools"]) - len(tools), tools
    for kind in KINDS:
        digest = _digest(listed[kind])
        view.lists[kind] = Listing(digest, listed[kind], view_key.page, MEMBERS[kind])
    return view


def _digest(items: list[Item]) -> str:
    """Return a mark of a list, whichever era reads it."""
    texts = [modern if modern is legacy else modern + legacy for modern, legacy in items]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def _begin(snapshot: Snapshot, view_key: ViewKey, before: View | None) -> View:
    """An empty view with all that decides what will be in it."""
    profile = snapshot.profiles.get(view_key.profile) if view_key.profile else None
    if view_key.profile and profile is None:
        raise unknown_profile(view_key.profile, snapshot.profiles)
    judge = _make_filter(snapshot, view_key, profile)
    if isinstance(judge, ProfileFilter):
        profile = judge.profile
    return View(
        snapshot.revision,
        view_key,
        judge,
        Addressing(snapshot.owners, bool(view_key.server), judge.separator),
        (profile.expose if profile is not None else "") or view_key.expose,
        _tool_search(view_key, before),
    )


def _tool_search(view_key: ViewKey, before: View | None) -> ToolSearch:
    """The index of the view before; of another key, it would be of other tools."""
    if before is not None and before.key == view_key:
        return before.tool_search
    return ToolSearch()


def _make_filter(snapshot: Snapshot, view_key: ViewKey, profile: Profile | None) -> ViewFilter:
    """The judge of a view: the profile that was asked for, or all that a member is admitted to."""
    if profile is not None or view_key.admitted is None:
        return _filter_by(profile, view_key)
    names = view_key.admitted
    profiles = [snapshot.profiles[name] for name in names if name in snapshot.profiles]
    if len(profiles) == 1:
        return _filter_by(profiles[0], view_key)
    return UnionFilter(
        tuple(_filter_by(admitted, view_key) for admitted in profiles), view_key.separator
    )


def _filter_by(profile: Profile | None, view_key: ViewKey) -> ProfileFilter:
    own = profile.separator if profile is not None else None
    separator = view_key.separator if own is None or view_key.server else own
    written = own if own is not None else view_key.pattern_separator
    written = separator if written is None else written
    tier = view_key.tier
    if profile is not None and view_key.profile_tiers:
        tier = narrower(tier, dict(view_key.profile_tiers).get(profile.name, ""))
    return ProfileFilter(profile, view_key.only, separator, written, tier)


def _shown(view: View, snapshot: Snapshot, plans: Iterable[Plan]) -> list[Entry]:
    """The servers to show; in the view of an app, a variant is called as the app calls it."""
    view_key, entries = view.key, snapshot.entries.values()
    if view_key.agent:
        return _planned(view, snapshot, plans)
    _set_apart_for_folders(view, snapshot)
    if not view_key.app:
        return _near(view_key, [entry for entry in entries if not entry.server.agents])
    variants = [entry for entry in entries if entry.server.id.source == view_key.app]
    return [replace(entry, alias=entry.server.id.name) for entry in variants]


def _near(view_key: ViewKey, entries: list[Entry]) -> list[Entry]:
    """The servers of everybody and of the client's own projects, these by their names there.

    Whoever names a server is shown it, wherever it belongs.
    """
    if view_key.server:
        return entries
    ours = {"", *view_key.folders}
    visible = [entry for entry in entries if entry.server.project in ours]
    taken = {entry.alias for entry in visible}
    return [_called_locally(entry, taken) for entry in visible]


def _called_locally(entry: Entry, taken: set[str]) -> Entry:
    name = entry.server.local_name
    if not name or name in taken:
        return entry
    taken.add(name)
    return replace(entry, alias=name)


def _set_apart_for_folders(view: View, snapshot: Snapshot) -> None:
    """A server that asks for folders outside of calls can only have those of one client."""
    for id_ in snapshot.roster.asking:
        entry = next((e for e in snapshot.entries.values() if str(e.server.id) == id_), None)
        asking = asking_of(snapshot.roster, entry.server) if entry is not None else None
        if entry is not None and asking is not None and asking.roots:
            view.apart[entry.alias] = set_apart(
                entry.server.id, entry.server.endpoint, "", per_session=True, folders=True
            )


def _set_apart_for_profile(view: View, entry: Entry) -> None:
    """A program that a profile has variables for runs for its clients alone."""
    (profile, variables), apart = view.filter.environment(entry), view.apart.get(entry.alias)
    endpoint = apart.endpoint if apart is not None else entry.server.endpoint
    if not variables or not isinstance(endpoint, Command):
        return
    env = {**dict(endpoint.env), **dict(variables)}
    view.apart[entry.alias] = set_apart(
        entry.server.id,
        replace(endpoint, env=tuple(env.items())),
        apart.agent if apart is not None else "",
        per_session=apart is not None and apart.per_session,
        place=apart.place if apart is not None else "",
        profile=profile,
    )


def _set_apart_for_members(view: View, entry: Entry) -> None:
    """A server with credentials of members runs for one member alone, never for two."""
    if not entry.server.is_per_member:
        return
    apart = view.apart.get(entry.alias)
    # Whoever shares it by having no folders would share it with other members, too.
    is_each = apart is not None and apart.per_session and not apart.folders
    view.apart[entry.alias] = set_apart(
        entry.server.id,
        apart.endpoint if apart is not None else entry.server.endpoint,
        apart.agent if apart is not None else "",
        per_session=is_each,
        place=apart.place if apart is not None else "",
        profile=apart.profile if apart is not None else "",
        per_member=True,
    )


def _planned(view: View, snapshot: Snapshot, plans: Iterable[Plan]) -> list[Entry]:
    """The servers that an agent is given, by the names it gives them, and how they run for it."""
    planned = []
    for plan in plans:
        entry = snapshot.entries.get(plan.server) if plan.server is not None else None
        if entry is None:
            continue
        planned.append(replace(entry, alias=plan.name))
        per_session = plan.mode == "per_session"
        if per_session or plan.process != entry.server.endpoint:
            view.apart[plan.name] = set_apart(
                entry.server.id,
                plan.process,
                view.key.agent,
                per_session=per_session,
                place=plan.place,
            )
    return planned


def _add_own(
    view: View,
    own: OwnOffers,
    listed: dict[str, list[Item]],
    taken: dict[str, set[str]],
) -> None:
    for kind, offers in own.items():
        for offer in offers:
            if kind == "tools" and not _calls_something(view, offer.key):
                continue
            view.table(kind)[offer.key] = Route(None, offer.key, offer)
            listed[kind].append((offer.raw, offer.raw))
            taken[kind].add(offer.key)


def _calls_something(view: View, own_tool: str) -> bool:
    """Return whether a call tool can have something to call in a view; of others, True."""
    tier = CALL_NAMES.get(own_tool)
    return tier is None or any(part.admits_tier(tier) for part in view.filter.parts)


def _add(
    view: View,
    entry: Entry,
    listed: dict[str, list[Item]],
    taken: dict[str, set[str]],
    old: Mapping[tuple[Offer, str], Made],
    guard: Callable[[Offer], Guards] | None,
) -> None:
    leads = (entry.server.id, entry.alias, view.apart.get(entry.alias))
    withheld = entry.held.tools | entry.unfit
    for kind in KINDS:
        offers = view.filter.offers(entry, kind)
        names = _names(view, entry, kind, offers, taken[kind])
        for offered in offers:
            name = names.get(offered.key)
            if name is None:
                continue
            if kind == "tools" and offered.key in withheld:
                # It keeps its name, so that no other tool is called so meanwhile.
                view.withheld[name] = (entry, offered.key)
                continue
            offer = view.addressing.described(entry, kind, offered)
            guards = guard(offered) if guard is not None and kind == "tools" else ()
            offer = listed_behind(guards, offer) if guards else offer
            shown = old.get((offer, name))
            if shown is None or not _still_leads(shown[1], leads, guards):
                shown = _made(kind, offer, name, leads, guards)
            view.made[offer, name] = shown
            item, view.table(kind)[name] = shown
            if kind == "templates" and name == offer.key:
                view.patterns.append((Template(name), shown[1]))
            if kind != "tools" or _is_listed(view, entry, offer, name):
                listed[kind].append(item)
    _add_pages(view, entry)


def _still_leads(route: Route, leads: Leads, guards: Guards) -> bool:
    """Tell whether the route of an older view leads where this one's does, past the same guards."""
    return (route.server, route.alias, route.apart) == leads and route.guards == guards


def _made(kind: str, offer: Offer, name: str, leads: Leads, guards: Guards) -> Made:
    """An offer as clients read it, under the name they see, and its route."""
    shape = shaped(kind, offer, name)
    server, alias, apart = leads
    route = Route(server, offer.key, offer, alias, apart, wraps=shape.wraps, guards=guards)
    return (shape.modern, shape.legacy), route


def _add_pages(view: View, entry: Entry) -> None:
    """Let the pages of a server's tools be read, also those it does not list."""
    for uri in pages(entry.offers):
        if uri not in view.resources and view.addressing.resource(entry, uri) == uri:
            route = view.route_at(entry.alias, uri)
            if route is not None:
                view.pages[uri] = route


def _names(
    view: View, entry: Entry, kind: str, offers: tuple[Offer, ...], taken: set[str]
) -> dict[str, str]:
    separator = view.filter.separator
    if kind == "tools":
        renamed = {o.key: name for o in offers if (name := view.filter.renamed(entry, o))}
        rest = (offer.key for offer in offers if offer.key not in renamed)
        exposed = exposed_names(entry.alias, rest, separator, taken, view.key.longest)
        return exposed | _given(view, renamed, taken)
    if kind == "prompts":
        return exposed_names(entry.alias, (o.key for o in offers), separator, taken)
    named = view.addressing.resources if kind == "resources" else view.addressing.templates
    names = named(entry, (offer.key for offer in offers))
    # An agent may have one server under two names: the second goes by wrapped addresses.
    names |= {key: wrap(entry.alias, key) for key, name in names.items() if name in taken}
    taken.update(names.values())
    return names


def _given(view: View, renamed: dict[str, str], taken: set[str]) -> dict[str, str]:
    """The names a profile gives; of two tools that would share one, the first has it."""
    names: dict[str, str] = {}
    for key, name in renamed.items():
        longest = view.key.longest
        is_free = name not in view.tools and name not in names.values()
        if is_free and len(name) <= longest:
            names[key] = name
        else:
            names[key] = exposed_names("", [name], "", taken, longest)[name]
    return names


def _is_listed(view: View, entry: Entry, tool: Offer, name: str) -> bool:
    return view.expose == "all" or _is_always_listed(view, entry, tool, name)


def _is_always_listed(view: View, entry: Entry, tool: Offer, name: str) -> bool:
    return name in view.key.always_listed or view.filter.pins(entry, tool)


def _come_first(view: View) -> Iterator[bool]:
    """Tell of each tool on the list whether it stays on one that must be shorter."""
    for name, route in view.tools.items():
        if view.expose != "all":
            yield True  # nothing else is on the list
        elif route.server is None:
            yield True
        else:
            yield _is_always_listed(view, view.entries[route.alias], route.offer, name)


def _limit_tools(items: list[Item], most: int, come_first: Iterable[bool]) -> list[Item]:
    """Return at most so many tools, 0 for all: those that come first, then the others, in order.

    What is left out can be called all the same.
    """
    if not most or len(items) <= most:
        return items
    first = list(islice(come_first, len(items)))
    order = sorted(range(len(items)), key=lambda index: not first[index])
    return [items[index] for index in order[:most]]


def _can_read(entry: Entry) -> bool:
    return entry.peer is not None and b'"resources"' in entry.peer.capabilities
