"""A stream of events of the control door, read one event at a time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.doors.doors import PATIENCE, Raw


class Watching:
    """A call that is watched, or the events of the yard."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._chunks = raw.chunks()
        self._text = ""

    async def next(self) -> tuple[str, Any] | None:
        """The next event; None after the last."""
        async with asyncio.timeout(PATIENCE):
            while "\n\n" not in self._text:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    return None
                self._text += chunk.decode()
        event, _, self._text = self._text.partition("\n\n")
        if event.startswith(":"):
            return await self.next()
        fields = dict(line.split(": ", 1) for line in event.split("\n"))
        return fields["event"], json.loads(fields["data"])

    async def wait(self, kind: str) -> Any:
        """What the next event of that kind says."""
        while (found := await self.next()) is not None:
            if found[0] == kind:
                return found[1]
        raise AssertionError(f"the stream ended without {kind!r}")
