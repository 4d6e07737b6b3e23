"""The lock: the servers and tools that a team agreed on, in a file beside its code."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import approvals, catalog, servers

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "lock",
            "Write the lock file of a team, or check it.",
            Heading.TEAM,
            "commands:lock_command",
        ),
    ),
    uses=(servers.FEATURE, catalog.FEATURE, approvals.FEATURE),
)
