"""All that is known of an app and its variants, as every door shows it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

VariantState = Literal["not_detected", "connecting", "connected", "reconnecting"]


class VariantStatus(Struct, frozen=True):
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
    """The program that has its port instead."""
    since: str | None
    """Since when it cannot be reached."""


class AppStatus(Struct, frozen=True):
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
    """True if the user defined it."""
