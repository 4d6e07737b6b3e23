"""Arguments and options that commands about agents share."""

from __future__ import annotations

from typing import Final

import click

from toolyard.console.context import CliContext

COMPLETION_SECONDS: Final = 2.0
"""A shell that waits for names waits no longer for the hub."""


def complete_agents(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of agents that begin like this: all the hub knows, if one is running."""
    return [name for name in _names() if name.startswith(incomplete)]


def _names() -> list[str]:
    from toolyard.core.agents import KNOWN_AGENTS
    from toolyard.core.errors import ToolyardError

    try:
        hub = CliContext().find_hub()
        if hub is None:
            return list(KNOWN_AGENTS)
        # Only now: with no hub to ask, nobody should wait for these to be imported.
        from toolyard.features.agents.operations import list_agents
        from toolyard.operation import NoInput

        answer = hub.run(list_agents, NoInput(), COMPLETION_SECONDS)
    except ToolyardError:  # nobody wants to read of it in the middle of a line
        return list(KNOWN_AGENTS)
    return [row.id for row in answer.agents]


agent_argument = click.argument("agent", shell_complete=complete_agents)
executor_option = click.option(
    "--executor", default="", metavar="EXECUTOR", help="Where it runs, if not on this machine."
)
