"""The file of tokens, and on the picture what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolyard.core.model import Report
from toolyard.features.tokens.model import AgentToken
from toolyard.features.tokens.store import TokensFile
from toolyard.records.follow import Follower
from toolyard.records.followed import Followed
from toolyard.records.protocol import Kept
from toolyard.relay.dismissals import Dismissals
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "tokens"


def parts(yard: Yard) -> Iterable[object]:
    """The file of tokens; without a hub there is no door that could hold a session."""
    yield TokensFile(yard.part(Settings).state_dir / "tokens.json", yard.part(Follower))
    if Dismissals not in yard.parts:
        yield Dismissals()


def sources(yard: Yard) -> Sequence[Followed[AgentToken]]:
    """The source of the problems of the file."""
    return [Followed(SOURCE, yard.part(TokensFile).records, _report)]


def _report(kept: Kept[AgentToken], before: Report) -> Report:
    return Report(SOURCE, problems=kept.problems[:1])
