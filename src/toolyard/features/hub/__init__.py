"""The hub itself: how it is doing, what it tells, how it starts and stops."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import apps, clients, history, servers

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    tools="own_tools:TOOLS",
    sources="source:sources",
    commands=(
        CliCommand("up", "Start the hub.", Heading.HUB, "life_commands:up_command"),
        CliCommand(
            "down",
            "Stop the hub and everything it started.",
            Heading.HUB,
            "life_commands:down_command",
        ),
        CliCommand(
            "restart",
            "Stop the hub and start it again in the background.",
            Heading.HUB,
            "life_commands:restart_command",
        ),
        CliCommand(
            "status",
            "Show the hub, its servers and their problems.",
            Heading.HUB,
            "status_commands:status_command",
        ),
        CliCommand(
            "doctor",
            "Say what is wrong and what to do.",
            Heading.HUB,
            "doctor_commands:doctor_command",
        ),
        CliCommand(
            "logs",
            "Show what the hub or a server wrote.",
            Heading.HUB,
            "log_commands:logs_command",
        ),
    ),
    uses=(apps.FEATURE, servers.FEATURE, history.FEATURE, clients.FEATURE),
)
