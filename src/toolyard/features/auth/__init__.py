"""Logins at remote servers: done once in the browser, renewed by the hub."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import authorization, catalog, members, secrets, servers

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    pages="source:pages",
    operations="operations",
    commands=(
        CliCommand(
            "auth",
            "Log in to remote servers, and show your logins and your team's.",
            Heading.ACCESS,
            "commands:auth_command",
        ),
    ),
    uses=(
        servers.FEATURE,
        catalog.FEATURE,
        secrets.FEATURE,
        members.FEATURE,
        authorization.FEATURE,
    ),
)
