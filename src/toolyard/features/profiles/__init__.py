"""Profiles: named selections of servers and tools, and how these are shown."""

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
            "profile",
            "Select servers and tools for some clients, and reword them.",
            Heading.AGENTS,
            "commands:profile_command",
        ),
    ),
)
