"""Arguments and options that commands about agents share."""

from __future__ import annotations

from typing import Final

import click

from toolyard.console.context import CliContext

COMPLETION_SECONDS: Final = 2.0
"""A shell that waits for names waits no longer for the hub."""


def complete_agents(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of agents that begin like this: all the hub knows, if one is running."""
    from toolyard.console.errors import CommandError
    from toolyard.core.agents import KNOWN_AGENTS
    from toolyard.features.agents.operations import list_agents
    from toolyard.operation import NoInput

    hub = CliContext().find_hub()
    names = list(KNOWN_AGENTS)
    if hub is not None:
        try:
            answer = hub.run(list_agents, NoInput(), COMPLETION_SECONDS)
            names = [row.id for row in answer.agents]
        except CommandError:
            pass  # nobody wants an error in the middle of a line
    return [name for name in names if name.startswith(incomplete)]


agent_argument = click.argument("agent", shell_complete=complete_agents)
executor_option = click.option(
    "--executor", default="", metavar="EXECUTOR", help="Where it runs, if not on this machine."
)
