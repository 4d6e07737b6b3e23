"""One entry of a servers file: an endpoint in any spelling of clients, and what is beside it.

Read here, beside what `toolyard.core.endpoint_fields` reads; unknown keys are left alone:

    enabled | disabled      true or false
    timeout                 seconds per call; 1000 and more are milliseconds
    title | description     what people see
    found                   executable and name of an adopted server
    executor                where a command runs: a name, or an object with bounds
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolyard.core.endpoint import Endpoint
from toolyard.core.endpoint_fields import ENDPOINT_KEYS, read_endpoint, read_timeout
from toolyard.core.errors import ConfigError
from toolyard.core.fields import FaultsError, Fields
from toolyard.core.model import Identity
from toolyard.core.sites import ANYWHERE, Placement, read_placement
from toolyard.records.jsonc import Document, Node

LAUNCH_KEYS = (*ENDPOINT_KEYS, "found", "executor")
"""All that is about starting or reaching a server."""
SWITCH_KEYS = ("enabled", "disabled")
TITLE_KEYS = ("title", "description")
_TEXTS = ("command", "args", "env", "environment", "headers")


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says."""

    endpoint: Endpoint
    title: str
    enabled: bool
    timeout: float | None
    identity: Identity | None = None
    placement: Placement = ANYWHERE


def read_entry(said: Any) -> Entry:
    """Read one entry.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    fields = Fields(said, 'write it as {"command": ...}')
    fields.finish()
    placement = _placement(fields)
    titles = [fields.text(key) for key in TITLE_KEYS]
    enabled = fields.flag("enabled", True) and not fields.flag("disabled", False)
    identity = _identity(fields)
    fields.finish()
    return Entry(
        endpoint=read_endpoint(fields.value, has_image=bool(placement.image)),
        title=next(filter(None, titles), ""),
        enabled=enabled,
        timeout=read_timeout(fields.get("timeout")),
        identity=identity,
        placement=placement,
    )


def as_written(document: Document, node: Node) -> object:
    """Return the value of an entry; numbers among texts stay as they are written: 1.10, not 1.1."""
    if node.kind != "object":
        return node.plain()
    said: dict[str, object] = {member.key: member.node.plain() for member in node.members}
    for member in node.members:
        if member.key in _TEXTS and member.node.kind in ("array", "object"):
            said[member.key] = _written(document, member.node)
    return said


def find_fault(node: Node, error: FaultsError) -> int:
    """Return the offset of the field that is wrong, or of the entry that lacks it."""
    member = node.member(error.faults[0].field)
    return member.start if member else node.start


def _written(document: Document, node: Node) -> object:
    if node.kind == "array":
        return [_written(document, item) for item in node.items]
    if node.kind == "object":
        return {member.key: _written(document, member.node) for member in node.members}
    return document.text[node.start : node.end] if node.kind == "number" else node.scalar


def _placement(fields: Fields) -> Placement:
    if fields.get("executor") is None:
        return ANYWHERE
    try:
        return read_placement(fields.get("executor"))
    except ConfigError as error:
        fields.fault("executor", str(error), error.hint)
        return ANYWHERE


def _identity(fields: Fields) -> Identity | None:
    if fields.get("found") is None:
        return None
    hint = 'write {"found": {"executable": "...", "name": "..."}}'
    found = Fields(fields.get("found"), hint, within=fields)
    return Identity(found.text("executable"), found.text("name"))
