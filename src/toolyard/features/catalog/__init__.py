"""The catalog: definitions of servers to choose from, and which of them are in the yard."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import servers

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    commands=(
        CliCommand(
            "catalog",
            "Choose servers from the catalog, add your own, check and import.",
            Heading.FIND,
            "commands:catalog_command",
        ),
    ),
    uses=(servers.FEATURE,),
)
