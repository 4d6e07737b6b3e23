"""Reports what is wrong with the file of agents' tokens, so that it is on the picture."""

from __future__ import annotations

from typing import Final

from toolyard.core.model import Report
from toolyard.records.protocol import Kept, Records
from toolyard.sources.followed import Followed
from toolyard.stores.tokens import AgentToken

SOURCE: Final = "tokens"


def follow_tokens(records: Records[AgentToken]) -> Followed[AgentToken]:
    """A source of the problems of the tokens' file."""
    return Followed(SOURCE, records, _report)


def _report(current: Kept[AgentToken], before: Report) -> Report:
    return Report(SOURCE, problems=current.problems[:1])
