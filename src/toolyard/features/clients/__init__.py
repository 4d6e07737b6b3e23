"""Clients: their servers taken in, the hub put into their files, and that undone."""

from __future__ import annotations

from typing import Final

from toolyard.feature import CliCommand, Feature, Heading
from toolyard.features import quirks, secrets, servers, tokens

FEATURE: Final = Feature(
    __name__,
    operations="operations",
    commands=(
        CliCommand(
            "import",
            "Import the servers of your clients.",
            Heading.CLIENTS,
            "import_command:import_command",
        ),
        CliCommand(
            "connect",
            "Add the hub to the configuration of your clients.",
            Heading.CLIENTS,
            "commands:connect_command",
        ),
        CliCommand(
            "disconnect",
            "Remove the hub from the configuration of your clients.",
            Heading.CLIENTS,
            "commands:disconnect_command",
        ),
        CliCommand(
            "undo",
            "Undo the last change to a client's file, or the one you name.",
            Heading.CLIENTS,
            "commands:undo_command",
        ),
        CliCommand(
            "clients",
            "List the clients on this machine, and which of them use the hub.",
            Heading.CLIENTS,
            "commands:clients_command",
        ),
    ),
    uses=(tokens.FEATURE, quirks.FEATURE, servers.FEATURE, secrets.FEATURE),
)
