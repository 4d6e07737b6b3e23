"""Servers: those a user wrote down, and the picture of all of them."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import packages, sharing

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    tools="own_tools:TOOLS",
    commands=(
        CliCommand(
            "edit",
            "Edit a server's entry in your editor.",
            Heading.SERVERS,
            "edit_commands:edit_command",
        ),
        CliCommand(
            "remove", "Take a server out of the file.", Heading.SERVERS, "commands:remove_command"
        ),
        CliCommand("list", "List the servers.", Heading.SERVERS, "commands:list_command"),
        CliCommand(
            "server",
            "Show one server, enable or disable it, start or stop it.",
            Heading.SERVERS,
            "commands:server_command",
        ),
    ),
    uses=(packages.FEATURE, sharing.FEATURE),
)
