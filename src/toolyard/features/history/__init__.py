"""The history: calls that are over, searched, counted, looked at, repeated."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Command, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="store:parts",
    operations="operations",
    commands=(
        Command(
            "history",
            "Show the calls that were made, newest first.",
            Heading.TOOLS,
            "commands:history_command",
        ),
    ),
)
