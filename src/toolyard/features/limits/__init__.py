"""Limits: how much callers may use of tools, and how many servers may run for them."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import members

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    guards="source:guards",
    operations="operations",
    commands=(
        CliCommand(
            "limit",
            "Limit calls, bytes and running servers.",
            Heading.ACCESS,
            "commands:limit_command",
        ),
    ),
    uses=(members.FEATURE,),
)
