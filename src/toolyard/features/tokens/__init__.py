"""Tokens: agents come in with one each, and see what it is for."""

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
            "token",
            "Create tokens for agents, each limited to what its agent may use.",
            Heading.ACCESS,
            "commands:token_command",
        ),
    ),
    uses=(profiles.FEATURE,),
)
