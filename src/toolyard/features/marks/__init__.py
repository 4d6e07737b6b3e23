"""Marks: the user says how much harm a tool can do, where its server says nothing or the wrong."""

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
            "mark",
            "Say whether a tool reads, writes or destroys.",
            Heading.TOOLS,
            "commands:mark_command",
        ),
    ),
)
