"""Executors as they are written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct

from toolyard.core.agentfiles import NAME
from toolyard.core.errors import ConfigError
from toolyard.core.sites import SITE_TYPES, Site, SiteType

LIMITS: Final = ("running_limit", "memory_limit")


class SiteFields(Struct, frozen=True, omit_defaults=True):
    """An executor as it is written down; a limit only where it has one of its own."""

    type: SiteType
    host: str
    options: dict[str, str]
    running_limit: int | None = None
    memory_limit: int | None = None


def write_site(site: Site) -> SiteFields:
    """Return the fields of an executor."""
    limits = site.running_limit, site.memory_limit
    return SiteFields(site.type, site.host, dict(site.options), *limits)


def read_site(name: str, fields: Any) -> Site:
    """Make an executor of its fields: `{type, host, options}`, with limits or without.

    Raises:
        ConfigError: It cannot be used.
    """
    if not NAME.fullmatch(name) or not isinstance(fields, Mapping):
        raise ConfigError(f"{name[:80]!r} is no executor", "write it as {type, host, options}")
    type_, host, options = fields.get("type"), fields.get("host", ""), fields.get("options") or {}
    if type_ not in SITE_TYPES:
        raise ConfigError("there is no such type", f"use one of {', '.join(SITE_TYPES)}")
    plain = isinstance(options, Mapping) and all(isinstance(v, str) for v in options.values())
    if not isinstance(host, str) or not plain:
        raise ConfigError("'host' or 'options' is not text", "put values in double quotes")
    pairs = tuple((str(key), str(value)) for key, value in options.items())
    limits = (_limit(fields, key) for key in LIMITS)
    return Site(name, cast("SiteType", type_), host, pairs, *limits)


def _limit(fields: Mapping[str, Any], key: str) -> int | None:
    limit = fields.get(key)
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 1 << 31:
        raise ConfigError(f"{key!r} is not a whole number", "write it as 8, or 0 for no limit")
    return limit
