"""Agents: which servers each is given, what a run of one gets, and why."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import clients, sharing, tokens

FEATURE: Final = Feature(
    __name__,
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "agent",
            "Set which servers each agent gets, show why, and start one.",
            Heading.AGENTS,
            "commands:agent_command",
        ),
    ),
    uses=(tokens.FEATURE, clients.FEATURE, sharing.FEATURE),
)
