"""The tool by which a model looks at the yard."""

from __future__ import annotations

from typing import Final

from toolyard.operation import NoInput
from toolyard.relay.offers import LOOKS, OwnTool

_STATUS: Final = OwnTool(
    "toolyard_status",
    "Status of the yard",
    "Which servers the hub has, their state, number of tools and problems with hints.",
    LOOKS,
)

TOOLS: Final = (_STATUS.offer(NoInput),)
