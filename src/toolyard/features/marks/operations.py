"""Questions and orders about marks."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from toolyard.core.errors import UnknownNameError
from toolyard.core.lookup import find_entry
from toolyard.core.marks import ToolMark
from toolyard.core.names import closest
from toolyard.core.tiers import Tier
from toolyard.features.marks.store import MarkRecords, ServerMarks, ToolWord, check_marks
from toolyard.operation import Needs, NoInput, Ordered, operation
from toolyard.records.protocol import amend
from toolyard.yard import Yard

MARKS = "/api/v1/marks"
SERVER_MARKS = "/api/v1/marks/{server:path}"
ServerWord = Annotated[str, Meta(min_length=1, max_length=500)]


class MarkRow(Struct, frozen=True):
    """The tier that the user says a tool has."""

    server: str
    """The full name of its server, `name@source`."""
    tool: str
    tier: Tier


class MarkList(Struct, frozen=True):
    """Every mark."""

    marks: list[MarkRow]


class MarkTool(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool, and the tier that it has; without one, it is again what its server says."""

    server: ServerWord
    """The server, by the name it is shown under or its full name."""
    tool: ToolWord
    tier: Tier | None = None


class PutMarks(Struct, frozen=True, forbid_unknown_fields=True):
    """All marks of a server, by its full name; none removes them."""

    server: ServerWord
    tools: dict[str, Tier]


@operation("GET", MARKS, needs=Needs.FILES)
async def list_marks(yard: Yard, order: NoInput) -> MarkList:
    """All marks: what the user says of tools."""
    kept = await asyncio.to_thread(yard.part(MarkRecords).read)
    rows = [MarkRow(s, t, tier) for s, tools in kept.values.items() for t, tier in tools.items()]
    return MarkList(sorted(rows, key=lambda row: (row.server, row.tool)))


@operation("POST", MARKS, errors=(404,))
async def mark_tool(yard: Yard, order: MarkTool) -> Ordered:
    """Say whether a tool reads, writes or destroys; that counts, whatever its server says."""
    entry = find_entry(yard.snapshot, order.server)
    names = [tool.key for tool in entry.offers.tools]
    if order.tier is not None and order.tool not in names:
        near = ", ".join(closest(order.tool, names) or names[:20]) or "none"
        text = f"{entry.alias!r} has no tool {order.tool[:80]!r}"
        raise UnknownNameError(text, f"there are: {near}")
    server = str(entry.server.id)

    def change(before: ServerMarks | None) -> ServerMarks:
        rest = {tool: tier for tool, tier in (before or {}).items() if tool != order.tool}
        return check_marks({**rest, **({order.tool: order.tier} if order.tier else {})})

    await asyncio.to_thread(amend, yard.part(MarkRecords), server, change, by=yard.caller)
    expected = ToolMark(server, order.tool, order.tier.value) if order.tier is not None else None
    return Ordered(order.tool, await _noticed(yard, server, order.tool, expected))


@operation("PUT", SERVER_MARKS, needs=Needs.FILES)
async def put_marks(yard: Yard, order: PutMarks) -> Ordered:
    """Mark the tools of a server, in place of all its marks; it need not be there."""
    marks = check_marks(order.tools)
    write = yard.part(MarkRecords).write
    await asyncio.to_thread(write, order.server, marks or None, by=yard.caller)
    return Ordered(order.server, yard.is_live)


async def _noticed(yard: Yard, server: str, tool: str, expected: ToolMark | None) -> bool:
    return await yard.seen(
        lambda picture: (
            next((m for m in picture.marks if (m.server, m.tool) == (server, tool)), None)
            == expected
        )
    )
