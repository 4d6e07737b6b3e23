"""Tools: found, looked at, called and watched."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    operations="operations",
    tools="own_tools:TOOLS",
    commands=(
        CliCommand(
            "tools",
            "List or search the tools of all servers, or show one.",
            Heading.TOOLS,
            "commands:tools_command",
        ),
        CliCommand(
            "call",
            "Call a tool and print its answer.",
            Heading.TOOLS,
            "commands:call_command",
        ),
    ),
)
