"""Servers that nobody wrote down: those that run on this machine, and those announced."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import servers

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "scan",
            "Find MCP servers that run on this machine, and take them into the list.",
            Heading.FIND,
            "commands:scan_command",
        ),
    ),
    uses=(servers.FEATURE,),
)
