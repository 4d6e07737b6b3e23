"""Puts together all that is known of an app: its definition, its scan, its links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from toolyard.core.appstatus import AppStatus, VariantState, VariantStatus
from toolyard.core.model import ServerId, Snapshot, Status
from toolyard.features.apps.scanner import Scan, Sight
from toolyard.features.apps.source import Apps
from toolyard.links.keeper import Keeper

Keepers = Mapping[ServerId, Keeper]


def describe_apps(apps: Apps, snapshot: Snapshot, keepers: Keepers) -> list[AppStatus]:
    """Return all that is known of every app."""
    return [describe_app(apps, name, snapshot, keepers) for name in apps.scans]


def describe_app(apps: Apps, name: str, snapshot: Snapshot, keepers: Keepers) -> AppStatus:
    """Return all that is known of one app.

    Raises:
        UnknownNameError: There is no such app.
    """
    failing = {
        id_: keeper.reporter.failing_since
        for id_, keeper in keepers.items()
        if keeper.reporter.failing_since
    }
    return _describe(apps.scan(name), snapshot, failing, own=name in apps.own)


def _describe(
    scan: Scan, snapshot: Snapshot, failing: Mapping[ServerId, float], *, own: bool
) -> AppStatus:
    """Describe an app; `failing` says which servers fail, and since when."""
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
            _describe_variant(sight, ServerId(sight.variant.name, app.name), snapshot, failing)
            for sight in scan.states()
        ],
        own=own,
    )


def _describe_variant(
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
        conflict=owner or sight.conflict or None,
        since=_moment(failing.get(id_)) if status == "reconnecting" else None,
    )


def _moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
