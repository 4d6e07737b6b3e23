"""The hub's own resources for a client of one app: its variants, and all that they offer."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from toolyard.core.apps import App
from toolyard.core.appstatus import AppStatus, VariantStatus
from toolyard.core.jsontypes import JsonObject
from toolyard.features.apps.offers import CallShape, call_shape
from toolyard.relay.view import View
from toolyard.wire import jsonrpc


class VariantNote(Struct, frozen=True):
    """One variant, and the names of its tools in our list."""

    port: int
    status: str
    tools: list[str] | UnsetType = UNSET
    """Left out for a variant that was not found."""
    conflict: str | UnsetType = UNSET


class StatusResource(Struct, frozen=True, rename="camel"):
    """The variants of an app, and what is installed of it."""

    variants: dict[str, VariantNote]
    installed_variants: list[str]
    scan_interval: int
    last_scan: str | None


class OfferingVariant(Struct, frozen=True):
    """One variant with all that it offers, in its own words."""

    port: int
    status: str
    tools: list[JsonObject]
    resources: list[JsonObject]
    prompts: list[JsonObject]


class ToolsResource(Struct, frozen=True, rename="camel"):
    """All that the variants of an app offer, and how to call it."""

    call_tool: str
    call_shape: CallShape
    variants: dict[str, OfferingVariant]


def describe_status(status: AppStatus, labels: list[str], view: View) -> StatusResource:
    """Return the variants of an app; `labels` are those of the programs that are installed."""
    variants = {variant.name: _note(variant, view) for variant in status.variants}
    return StatusResource(variants, labels, status.interval_ms, status.last_scan)


def describe_tools(app: App, status: AppStatus, view: View) -> ToolsResource:
    """Return all that the variants of an app offer."""
    variants = {variant.name: _offering(variant, view) for variant in status.variants}
    return ToolsResource(f"{app.name}_call", call_shape(app), variants)


def _note(variant: VariantStatus, view: View) -> VariantNote:
    tools = [name for name, route in view.tools.items() if route.alias == variant.name]
    return VariantNote(
        variant.port,
        variant.status,
        UNSET if variant.status == "not_detected" else tools,
        variant.conflict or UNSET,
    )


def _offering(variant: VariantStatus, view: View) -> OfferingVariant:
    return OfferingVariant(
        variant.port,
        variant.status,
        _listed(view, "tools", variant.name, "dynamicToolName"),
        _listed(view, "resources", variant.name, "dynamicResourceUri"),
        _listed(view, "prompts", variant.name, "dynamicPromptName"),
    )


def _listed(view: View, kind: str, variant: str, key: str) -> list[JsonObject]:
    """Return what a variant offers, in its own words, with the name it has in our list."""
    entry = view.entries.get(variant)
    raw = {offer.key: offer.raw for offer in getattr(entry.offers, kind)} if entry else {}
    return [
        {**jsonrpc.fields(raw[route.key]), key: name}
        for name, route in view.table(kind).items()
        if route.alias == variant and route.key in raw
    ]
