"""Secrets: kept where only their owner can read them, and used by name."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Command, Feature, Heading
from toolyard.features import catalog

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    commands=(
        Command(
            "secret",
            "Keep secrets in the system's keyring, and use them by name.",
            Heading.ACCESS,
            "commands:secret_command",
        ),
    ),
    uses=(catalog.FEATURE,),
)
