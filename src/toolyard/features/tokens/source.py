"""The tokens, and on the picture what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolyard.core.model import Report
from toolyard.features.tokens.model import AgentToken
from toolyard.features.tokens.store import TokensFile, open_tokens
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.relay.dismissals import Dismissals
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "tokens"


def parts(yard: Yard) -> Iterable[object]:
    """The tokens; without a hub there is no door that could hold a session."""
    path = yard.part(Settings).state_dir / "tokens.json"
    yield TokensFile(open_tokens(yard.part(RecordPlaces), path))
    if Dismissals not in yard.parts:
        yield Dismissals()


def sources(yard: Yard) -> Sequence[Followed[AgentToken]]:
    """The source of the problems of tokens."""
    return [Followed(SOURCE, yard.part(TokensFile).records, _report)]


def _report(kept: Kept[AgentToken], before: Report) -> Report:
    return Report(SOURCE, problems=kept.problems[:1])
