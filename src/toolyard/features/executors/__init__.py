"""Executors: the places where servers run, as people name them."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import agents, packages

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "executor",
            "Name the places where servers run, and try them.",
            Heading.AGENTS,
            "commands:executor_command",
        ),
    ),
    uses=(agents.FEATURE, packages.FEATURE),
)
