"""The tokens, and on the picture what is wrong with them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from toolyard.core.caller import AGENT_ACCOUNT
from toolyard.core.errors import StoreError
from toolyard.core.model import Report
from toolyard.features.tokens.model import AgentToken
from toolyard.features.tokens.store import TokensFile, open_tokens
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.relay.dismissals import Dismissals
from toolyard.settings import Settings
from toolyard.yard import Yard

log = logging.getLogger(__name__)

SOURCE: Final = "tokens"


def parts(yard: Yard) -> Iterable[object]:
    """The tokens; without a hub there is no door that could hold a session."""
    path = yard.part(Settings).state_dir / "tokens.json"
    yield TokensFile(open_tokens(yard.part(RecordPlaces), path))
    if Dismissals not in yard.parts:
        yield Dismissals()


def sources(yard: Yard) -> Sequence[TokenSource]:
    """The source of the problems of tokens."""
    return [TokenSource(yard.part(TokensFile), yard.part(Dismissals))]


class TokenSource(Followed[AgentToken]):
    """Reports what is wrong with tokens, ends what a revoked one opened, and writes down uses."""

    def __init__(self, tokens: TokensFile, dismissals: Dismissals) -> None:
        self._tokens = tokens
        self._dismissals = dismissals
        super().__init__(SOURCE, tokens.records, self._report)

    async def run(self, post: Callable[[Report], None]) -> None:
        """Do all of it until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(post))
            group.create_task(self._write_uses())

    def _report(self, kept: Kept[AgentToken], before: Report) -> Report:
        # Another replica, or a person with an editor, may have revoked some.
        callers = self._tokens.callers()
        marks = {caller.token for caller in callers}
        self._dismissals.dismiss_all(
            lambda c: c.token not in marks if c.token else c.is_agent and c not in callers
        )
        accounts = {caller.account for caller in callers}
        self._dismissals.end_accounts(lambda a: a.startswith(AGENT_ACCOUNT) and a not in accounts)
        return Report(SOURCE, problems=kept.problems[:1])

    async def _write_uses(self) -> None:
        while True:
            await self._tokens.news.wait()
            self._tokens.news.clear()
            try:
                await asyncio.to_thread(self._tokens.write_uses)
            except StoreError as error:
                log.warning("the last use of tokens is not kept", extra={"why": str(error)})
