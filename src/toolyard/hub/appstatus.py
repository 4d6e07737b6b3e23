"""All that is known of an app and its variants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec

from toolyard.core.model import ServerId, Snapshot, Status
from toolyard.sources.scan import Scan, Sight

VariantState = Literal["not_detected", "connecting", "connected", "reconnecting"]


class VariantStatus(msgspec.Struct, frozen=True):
    """One variant of an app, and whether it is there."""

    name: str
    port: int
    url: str
    status: VariantState
    tools: int
    listening: bool
    misses: int
    """Scans in a row that did not find it."""
    conflict: str | None
    """Who has its port instead."""
    since: str | None
    """Since when it cannot be reached."""


class AppStatus(msgspec.Struct, frozen=True):
    """An app, the way it is looked for, and its variants."""

    name: str
    title: str
    match: str
    path: str
    enabled: bool
    interval_ms: int
    leaves_after: int
    last_scan: str | None
    variants: list[VariantStatus]
    own: bool
    """Whether the user defined it."""


def describe_app(
    scan: Scan, snapshot: Snapshot, failing: Mapping[ServerId, float], *, own: bool
) -> AppStatus:
    """Return all that is known of an app; `failing` says which servers fail, and since when."""
    app = scan.watch.app
    return AppStatus(
        name=app.name,
        title=app.title,
        match=app.match,
        path=app.path,
        enabled=scan.watch.enabled,
        interval_ms=scan.watch.interval_ms,
        leaves_after=scan.watch.misses,
        last_scan=_moment(scan.scanned_at),
        variants=[
            _describe(sight, ServerId(sight.variant.name, app.name), snapshot, failing)
            for sight in scan.states()
        ],
        own=own,
    )


def _describe(
    sight: Sight, id_: ServerId, snapshot: Snapshot, failing: Mapping[ServerId, float]
) -> VariantStatus:
    entry = snapshot.entries.get(id_)
    status: VariantState = "not_detected"
    if sight.offered and entry is not None:
        ready = entry.status is Status.READY and sight.listening
        waits = entry.status in (Status.KNOWN, Status.STARTING) and id_ not in failing
        status = "connected" if ready else "connecting" if waits else "reconnecting"
    owner = f"it belongs to another user (uid {sight.owner})" if sight.owner is not None else ""
    return VariantStatus(
        name=sight.variant.name,
        port=sight.variant.port,
        url=sight.variant.url,
        status=status,
        tools=len(entry.offers.tools) if entry is not None else 0,
        listening=sight.listening,
        misses=sight.misses,
        conflict=owner or sight.said or None,
        since=_moment(failing.get(id_)) if status == "reconnecting" else None,
    )


def _moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
