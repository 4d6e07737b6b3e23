"""Tokens: agents come in with one each, and see what it is for."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import members, profiles

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "token",
            "Create tokens for agents and members, each limited to what it is for.",
            Heading.ACCESS,
            "commands:token_command",
        ),
    ),
    uses=(members.FEATURE, profiles.FEATURE),
)
