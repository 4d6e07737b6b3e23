"""The service: the system starts the hub at login and keeps it running.

It has no operations. It concerns the login of whoever types the command, and the hub that would
answer comes and goes with it.
"""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    commands=(
        CliCommand(
            "service",
            "Start the hub at login, and keep it running.",
            Heading.HUB,
            "commands:service_command",
        ),
    ),
)
