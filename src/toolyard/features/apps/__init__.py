"""Apps: programs that run in several variants on known ports, and are found by themselves."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "app",
            "Define apps that run in variants on known ports.",
            Heading.FIND,
            "commands:app_command",
        ),
    ),
)
