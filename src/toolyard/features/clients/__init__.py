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
            "Import the servers of your clients.",
            Heading.CLIENTS,
            "import_command:import_command",
        ),
        Command(
            "connect",
            "Add the hub to the configuration of your clients.",
            Heading.CLIENTS,
            "commands:connect_command",
        ),
        Command(
            "disconnect",
            "Remove the hub from the configuration of your clients.",
            Heading.CLIENTS,
            "commands:disconnect_command",
        ),
        Command(
            "undo",
            "Undo the last change to a client's file, or the one you name.",
            Heading.CLIENTS,
            "commands:undo_command",
        ),
        Command(
            "clients",
            "List the clients on this machine, and which of them use the hub.",
            Heading.CLIENTS,
            "commands:clients_command",
        ),
    ),
    uses=(tokens.FEATURE, quirks.FEATURE, servers.FEATURE),
)
