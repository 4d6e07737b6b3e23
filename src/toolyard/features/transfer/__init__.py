"""Transfer: the yard as one document, to be kept in Git, reviewed, and applied to any yard."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import (
    agents,
    apps,
    catalog,
    interceptors,
    limits,
    marks,
    members,
    profiles,
    quirks,
    rules,
    servers,
)

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    operations="operations",
    commands=(
        CliCommand(
            "export",
            "Write the yard as one YAML document.",
            Heading.TEAM,
            "commands:export_command",
        ),
        CliCommand(
            "apply",
            "Make the yard what a document says.",
            Heading.TEAM,
            "commands:apply_command",
        ),
    ),
    uses=(
        servers.FEATURE,
        catalog.FEATURE,
        marks.FEATURE,
        rules.FEATURE,
        limits.FEATURE,
        interceptors.FEATURE,
        profiles.FEATURE,
        quirks.FEATURE,
        apps.FEATURE,
        agents.FEATURE,
        members.FEATURE,
    ),
)
