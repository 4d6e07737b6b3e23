"""A feature that the tests bring along: notes on the wall of the yard."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="wall:parts",
    sources="wall:sources",
    operations="operations",
    commands=(
        CliCommand("note", "Pin a note to the wall.", Heading.TEAM, "commands:note_command"),
    ),
)
