"""Secrets: kept where only their owner can read them, and used by name."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import catalog, members, servers

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    operations="operations",
    commands=(
        CliCommand(
            "secret",
            "Store secrets in the system's keyring, and refer to them by name.",
            Heading.ACCESS,
            "commands:secret_command",
        ),
    ),
    uses=(servers.FEATURE, catalog.FEATURE, members.FEATURE),
)
