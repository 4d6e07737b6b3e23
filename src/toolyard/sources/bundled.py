"""The source of the bundled example server, offered until there is any other."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

from toolyard.core.model import Command, Report, Server, ServerId

SOURCE = "bundled"


def example() -> Server:
    """Give the bundled example server."""
    return Server(
        id=ServerId("example", SOURCE),
        endpoint=Command((sys.executable, "-m", "toolyard.example")),
        title="Example: time zones and units",
    )


class Bundled:
    """Offers the example as long as no other source has a server.

    `wait_change` says whether others have any: at its first call as soon as that is known, later
    each time the answer may have changed. It must not return at once for ever.
    """

    def __init__(self, wait_change: Callable[[], Awaitable[bool]]) -> None:
        self._wait_change = wait_change

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post a report with the example or without any server, whenever that changes."""
        posted: Report | None = None
        while True:
            others = await self._wait_change()
            report = Report(SOURCE, () if others else (example(),))
            if report != posted:
                posted = report
                post(report)
