"""Looks things up on the picture by the names that people use."""

from __future__ import annotations

from collections.abc import Iterator

from toolyard.core.agents import spelled
from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.core.names import closest, quoted
from toolyard.core.sites import Site


def find_entry(snapshot: Snapshot, alias: str) -> Entry:
    """Return a server of the picture, by its alias or its full name.

    Raises:
        UnknownNameError: There is no such server.
    """
    for entry in snapshot.entries.values():
        if alias in (entry.alias, str(entry.server.id)):
            return entry
    aliases = [entry.alias for entry in snapshot.entries.values()]
    near = ", ".join(closest(alias, aliases) or aliases[:20]) or "none yet"
    raise UnknownNameError(f"unknown server {quoted(alias)}", f"there are: {near}")


def find_tools(name: str, prefixes: tuple[str, ...], entry: Entry) -> Iterator[Offer]:
    """The tools of a server that a name may mean: its own name, or the one clients see."""
    for offer in entry.offers.tools:
        spellings = {f"{prefix}{mark}{offer.key}" for prefix in prefixes for mark in ("__", "/")}
        if name == offer.key or name in spellings:
            yield offer


def not_in_use(name: str, entry: Entry | None) -> UnknownNameError:
    """Return the error for a server that cannot be called: gone, disabled, or with a problem."""
    text = f"server {name!r} is not in use"
    if entry is None:
        return UnknownNameError(text, "see which there are: toolyard list")
    if entry.server.problem is not None:
        problem = entry.server.problem
        return UnknownNameError(f"{text}: {problem.text}", problem.hint)
    return UnknownNameError(text, f"switch it on with: toolyard server enable {entry.alias}")


def find_executor(snapshot: Snapshot, name: str) -> Site:
    """Return an executor that somebody named.

    Raises:
        UnknownNameError: Nobody named it.
    """
    sites = snapshot.roster.sites
    site = sites.get(spelled(name))
    if site is None:
        near = ", ".join(closest(name, sites) or sorted(sites)) or "none yet"
        raise UnknownNameError(f"unknown executor {name[:80]!r}", f"there are: {near}")
    return site
