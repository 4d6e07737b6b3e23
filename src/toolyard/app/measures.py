"""The settings, translated for the rooms that go by them."""

from __future__ import annotations

from toolyard.features.approvals.judging import Rules
from toolyard.features.history.call_log import Bounds
from toolyard.features.lock.store import read_lock
from toolyard.links.budget import RunningLimits
from toolyard.relay.view_key import ViewKey
from toolyard.settings import Settings


def bounds(settings: Settings) -> Bounds:
    """The bounds of the past calls that are kept."""
    bodies = settings.history_bodies == "on"
    return Bounds(settings.history_rows, settings.history_days, bodies)


def rules(settings: Settings, trusts_first: bool) -> Rules:
    """The rules of approval; with `trusts_first`, a server is trusted as it is first seen."""
    return Rules(
        new=settings.pins_new,
        found=settings.pins_found == "on",
        launches=settings.pins_launch,
        trusts_first=trusts_first,
        lock=read_lock(settings.lock_file) if settings.frozen == "on" else None,
    )


def limits(settings: Settings) -> RunningLimits:
    """The limits of what running servers may take."""
    evict = settings.budget == "evict"
    memory = settings.memory_limit << 20
    return RunningLimits(settings.running_limit, memory, settings.instance_limit, evict)


def view_key(settings: Settings) -> ViewKey:
    """The view of clients that ask for no other."""
    return ViewKey(
        separator=settings.separator,
        expose=settings.expose,
        always_listed=frozenset(settings.pinned),
        page=settings.page_size,
    )
