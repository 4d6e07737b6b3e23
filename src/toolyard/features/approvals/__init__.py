"""Approvals: what servers really offer, and which of it people have looked at."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import catalog, servers

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "verify",
            "Start or reach servers and see what they really offer.",
            Heading.SERVERS,
            "commands:verify_command",
        ),
        CliCommand(
            "approve",
            "Approve what a server offers, a part of it, or one waiting call.",
            Heading.SERVERS,
            "commands:approve_command",
        ),
    ),
    uses=(servers.FEATURE, catalog.FEATURE),
)
