"""The history: calls that are over, searched, counted, looked at, repeated."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="store:parts",
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "history",
            "Show the calls that were made, newest first.",
            Heading.TOOLS,
            "commands:history_command",
        ),
    ),
)
