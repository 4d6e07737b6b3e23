"""Follows a shared database: hears of changes, looks now and then, and comes back by itself."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from time import monotonic
from typing import Final

import psycopg
from psycopg import sql

from toolyard.core.errors import StoreError
from toolyard.core.model import Problem, Report
from toolyard.core.problems import ProblemCode
from toolyard.records.postgres.connections import first_line
from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

SOURCE: Final = "shared-database"
POLL_SECONDS: Final = 5.0
"""The pause between two looks, whatever the database tells."""
PAUSE_SECONDS: Final = 0.5
"""The pause before another try to connect, half of it by chance: a fleet must not come at once."""
PRUNE_SECONDS: Final = 3600.0


class SharedListener:
    """The one connection of a hub that hears of orders; a source, whose report has the trouble."""

    name = SOURCE

    def __init__(
        self,
        database: SharedDatabase,
        poll_seconds: float = POLL_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._database = database
        self._poll_seconds = poll_seconds
        self._pause_seconds = pause_seconds
        self._pruned_at = 0.0
        self.report = Report(SOURCE)
        """The latest report: the database is there, or it is away."""

    async def run(self, post: Callable[[Report], None]) -> None:
        """Follow the database until cancelled."""
        while True:
            try:
                await self._listen(post)
            except (psycopg.Error, OSError, StoreError) as error:
                self._tell(post, error)
            await asyncio.sleep(self._pause_seconds * random.uniform(0.5, 1))

    async def _listen(self, post: Callable[[Report], None]) -> None:
        """Hear of changes for as long as the connection holds."""
        address = self._database.connections.address
        connection = await psycopg.AsyncConnection.connect(address, autocommit=True)
        async with connection:
            # First listen, then look: what comes between the two is heard.
            await connection.execute(
                sql.SQL("LISTEN {}").format(sql.Identifier(self._database.channel))
            )
            while True:
                await asyncio.to_thread(self._look)
                self._tell(post, None)
                async for _ in connection.notifies(timeout=self._poll_seconds, stop_after=1):
                    pass

    def _look(self) -> None:
        self._database.refresh()
        now = monotonic()
        if now - self._pruned_at > PRUNE_SECONDS:
            self._pruned_at = now
            self._database.prune()

    def _tell(self, post: Callable[[Report], None], error: Exception | None) -> None:
        """Report that the database is away or there again; why, only the first time."""
        if (error is not None) == bool(self.report.problems):
            return
        problems = () if error is None else (_away(self._database.name, error),)
        log.warning("the shared database is %s", "away" if problems else "there")
        self.report = Report(SOURCE, problems=problems)
        post(self.report)


def _away(name: str, error: Exception) -> Problem:
    why = str(error) if isinstance(error, StoreError) else first_line(error)
    text = f"the database {name} is not followed: {why}"
    hint = "calls go on with what is known; orders are refused until it answers"
    return Problem(ProblemCode.DATABASE_AWAY, text, hint, SOURCE)
