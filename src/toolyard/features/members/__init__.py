"""Members: people who come in by their own name, and see what their groups are admitted to."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import profiles

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "member",
            "Manage the people who log in, and what their groups may use.",
            Heading.TEAM,
            "commands:member_command",
        ),
    ),
    uses=(profiles.FEATURE,),
)
