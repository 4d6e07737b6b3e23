"""Addresses of resources inside what servers send: found where the protocol has them, and replaced.

What needs no change stays the bytes it was. Text is never looked at: an address in it is words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw

from toolyard.core.addresses import REFERENCES
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields

MOST: Final = 1000
"""Blocks of one result that are looked at; a result with more has none that anybody will read."""
mention: Final = re.compile(rb'ri"').search
"""Finds the end of `"uri"` and `"resourceUri"` in a result, without reading the result."""
_items: Final = msgspec.json.Decoder(list[Raw]).decode

Change = Callable[[str], str]
"""Gives the address that a client should see in place of another."""
Edit = Callable[[Fields], bool]
"""Changes the members of an object; true if it did."""


def in_result(raw: Raw, change: Change) -> Raw:
    """The result of a call, a prompt or a read, its references changed."""

    def block(fields: Fields) -> bool:
        linked = _in_uri(fields, ("uri",), change)
        return _in_uri(fields, ("resource", "uri"), change) or linked

    def message(fields: Fields) -> bool:
        return _in_objects(fields, "content", block)

    try:
        fields = jsonrpc.fields(raw)
        changed = [
            _in_objects(fields, "content", block),
            _in_objects(fields, "contents", block),
            _in_objects(fields, "messages", message),
            in_meta(fields, change),
        ]
    except jsonrpc.MalformedError:
        return raw
    return Raw(jsonrpc.encode(fields)) if any(changed) else raw


def in_meta(fields: Fields, change: Change) -> bool:
    """Change the pages that the `_meta` of a tool or a result names."""
    changed = [_in_uri(fields, ("_meta", *path), change) for path in REFERENCES]
    return any(changed)


def _in_uri(fields: Fields, path: tuple[str, ...], change: Change) -> bool:
    """Change the one address at a path."""
    key, *rest = path
    if rest:
        return _in_object(fields, key, lambda inner: _in_uri(inner, tuple(rest), change))
    if not _begins(fields.get(key), b'"'):
        return False
    uri: str = jsonrpc.to_python(fields[key])
    shown = change(uri)
    if shown != uri:
        fields[key] = Raw(jsonrpc.encode(shown))
    return shown != uri


def _in_objects(fields: Fields, key: str, edit: Edit) -> bool:
    """Edit the objects of a list, or the one that stands in its place."""
    if not _begins(fields.get(key), b"["):
        return _in_object(fields, key, edit)
    items = _items(fields[key])
    changed = False
    for place, raw in enumerate(items[:MOST]):
        holder = {key: raw}
        if _in_object(holder, key, edit):
            items[place], changed = holder[key], True
    if changed:
        fields[key] = Raw(jsonrpc.encode(items))
    return changed


def _in_object(fields: Fields, key: str, edit: Edit) -> bool:
    """Edit the object that is a member of another."""
    if not _begins(fields.get(key), b"{"):
        return False
    inner = jsonrpc.fields(fields[key])
    if not edit(inner):
        return False
    fields[key] = Raw(jsonrpc.encode(inner))
    return True


def _begins(raw: Raw | None, mark: bytes) -> bool:
    return raw is not None and memoryview(raw)[:1] == mark
