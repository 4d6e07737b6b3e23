"""Edits of a client's file: our entry, and those that it takes the place of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolyard.core.fields import FaultsError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Endpoint, Url
from toolyard.core.server_entries import LAUNCH_KEYS, SWITCH_KEYS
from toolyard.features.clients.formats import put, raw_entry, remove
from toolyard.features.clients.journal import hash_of
from toolyard.features.clients.ours import is_ours
from toolyard.features.clients.places import Place
from toolyard.features.clients.plan import Way
from toolyard.features.clients.shapes import BY_VARIABLE
from toolyard.installation import NAME


def own_raw(place: Place, data: bytes | None) -> Any:
    """Our entry in plain values; None if there is none."""
    return None if data is None else raw_entry(place.client.shape, data, NAME)


def put_own(place: Place, data: bytes, raw: Any) -> bytes:
    """The file with our entry in it."""
    return put(place.client.shape, data, NAME, raw)


def remove_own(place: Place, data: bytes) -> bytes:
    """The file without our entry."""
    return remove(place.client.shape, data, NAME)


def put_back(place: Place, data: bytes, was: bytes | None, ways: Sequence[Way]) -> bytes:
    """The file with the entries that another version of it had; what it has itself stays."""
    shape = place.client.shape
    for way in ways:
        raw = raw_entry(shape, was or b"", way[-1], way[:-1])
        if raw is not None and raw_entry(shape, data, way[-1], way[:-1]) is None:
            data = put(shape, data, way[-1], raw, way[:-1])
    return data


def holds_ours(place: Place, raw: Any) -> bool:
    """Return whether an entry of our name leads to a hub of ours."""
    try:
        entry = place.client.shape.read(NAME, raw)
    except FaultsError:
        return False
    return is_ours(NAME, entry.endpoint)


def added_keys(raw: JsonObject) -> JsonObject:
    """The keys that somebody added to our entry, beside those that start, reach or switch it."""
    ours = (*LAUNCH_KEYS, *SWITCH_KEYS, *BY_VARIABLE)
    return {key: value for key, value in raw.items() if key not in ours}


def hash_raw(raw: Any) -> str:
    """The mark that tells one entry from another; empty for none."""
    if raw is None:
        return ""
    return hash_of(json.dumps(raw, sort_keys=True, default=str).encode())


def holds_secret(endpoint: Endpoint) -> bool:
    """Return whether an entry for this endpoint holds a token."""
    return isinstance(endpoint, Url) and bool(endpoint.headers)


def drop(place: Place, data: bytes | None, ways: Sequence[Way]) -> bytes | None:
    """The file without the entries that these ways lead to."""
    for way in ways:
        data = remove(place.client.shape, data or b"", way[-1], way[:-1])
    return data
