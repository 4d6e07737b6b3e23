"""Interceptors: the user has calls of tools checked or changed on their way, by rule or program."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    guards="source:guards",
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "interceptor",
            "Check or change tool calls on their way.",
            Heading.TOOLS,
            "commands:interceptor_command",
        ),
    ),
)
