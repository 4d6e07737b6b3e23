"""Clients: their servers taken in, the hub put into their files, and that undone."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Command, Feature, Heading
from toolyard.features import quirks, servers, tokens

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        Command(
            "import",
            "Take the servers of your clients into the yard.",
            Heading.CLIENTS,
            "import_command:import_command",
        ),
        Command(
            "connect",
            "Put the hub into the files of clients.",
            Heading.CLIENTS,
            "commands:connect_command",
        ),
        Command(
            "disconnect",
            "Take the hub out of the files of clients.",
            Heading.CLIENTS,
            "commands:disconnect_command",
        ),
        Command(
            "undo",
            "Undo the last change of a client's file, or the one named.",
            Heading.CLIENTS,
            "commands:undo_command",
        ),
        Command(
            "clients",
            "Show which clients are here, and which of them use the hub.",
            Heading.CLIENTS,
            "commands:clients_command",
        ),
    ),
    uses=(tokens.FEATURE, quirks.FEATURE, servers.FEATURE),
)
