"""Policies: what executors allow and change."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import agents

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "policy",
            "Set what executors allow, and what they change.",
            Heading.AGENTS,
            "commands:policy_command",
        ),
    ),
    uses=(agents.FEATURE,),
)
