"""`server`: look after one server."""

from __future__ import annotations

import click

from toolyard.console.context import json_option
from toolyard.features.sharing.commands import probe_command


@click.group("server")
@json_option
def server_command() -> None:
    """Look after one server."""


server_command.add_command(probe_command)
