"""The tool by which a model has all servers asked again."""

from __future__ import annotations

from typing import Final

from toolyard.operation import NoInput
from toolyard.relay.offers import REPEATS, OwnTool

_REFRESH: Final = OwnTool(
    "toolyard_refresh",
    "Ask all servers again",
    "Ask every server again for its tools, prompts and resources, and wake those that failed.",
    REPEATS,
)

TOOLS: Final = (_REFRESH.offer(NoInput),)
