"""Setup: from the files of many clients to one yard, in one step that can be undone."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import clients, profiles, secrets, servers

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "setup",
            "Move the servers of all your clients into the hub, and connect the clients.",
            Heading.CLIENTS,
            "commands:setup_command",
        ),
    ),
    uses=(servers.FEATURE, profiles.FEATURE, secrets.FEATURE, clients.FEATURE),
)
