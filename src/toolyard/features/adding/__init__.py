"""Adding a server: from a command, an address, an image, a link, pasted JSON or a bundle."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import secrets, servers

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "add",
            "Add a server: a command after --, an address, an image, a link or a bundle.",
            Heading.SERVERS,
            "commands:add_command",
        ),
    ),
    uses=(servers.FEATURE, secrets.FEATURE),
)
