"""Reports what is wrong with the file of agents' tokens, so that it is on the picture."""

from __future__ import annotations

from typing import Final

from toolyard.core.model import Problem, Report
from toolyard.sources.followed import Followed
from toolyard.stores.tokens import TokensFile

SOURCE: Final = "tokens"
LOOK_SECONDS: Final = 1.0
"""How often the file is looked at; one call of the system."""


def follow_tokens(file: TokensFile) -> Followed[tuple[Problem, ...]]:
    """A source of the problems of the tokens' file."""
    return Followed(SOURCE, file, _report, LOOK_SECONDS)


def _report(problems: tuple[Problem, ...], before: Report) -> Report:
    return Report(SOURCE, problems=problems)
