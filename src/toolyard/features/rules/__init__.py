"""Rules: calls that wait for a person's yes, or are refused."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    guards="source:guards",
    operations="operations",
    commands=(
        CliCommand(
            "rule",
            "Have calls wait for your yes, and answer those that do.",
            Heading.TOOLS,
            "commands:rule_command",
        ),
    ),
)
