"""A team's hub, used from a member's own machine: log in to it once, and out again."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading

FEATURE: Final = Feature(
    __name__,
    commands=(
        CliCommand(
            "login",
            "Log in to the hub of your team.",
            Heading.TEAM,
            "commands:login_command",
        ),
        CliCommand(
            "logout",
            "Log out of the hub of your team.",
            Heading.TEAM,
            "commands:logout_command",
        ),
    ),
)
