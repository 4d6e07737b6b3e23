"""`agent`: which servers each agent gets, what a run gets, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.faults import noting_faults
from toolyard.features.agents.edit_commands import (
    add_server_command,
    disable_command,
    enable_command,
    remove_server_command,
    set_command,
)
from toolyard.features.agents.options import agent_argument, executor_option
from toolyard.features.agents.plan_commands import render_command, resolve_command, why_command
from toolyard.features.agents.run_commands import run_command

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.core.agentwords import AgentConfigRow, AgentServerBody, OverrideBody
    from toolyard.features.agents.rows import AgentRow

TITLES = ("agent", "given", "servers", "takes", "overrides")
SERVER_TITLES = ("server", "type", "mode", "what")


@click.group("agent")
@json_option
def agent_command() -> None:
    """Set which servers each agent gets, show why, and start one."""


agent_command.add_command(enable_command)
agent_command.add_command(disable_command)
agent_command.add_command(set_command)
agent_command.add_command(add_server_command)
agent_command.add_command(remove_server_command)
agent_command.add_command(resolve_command)
agent_command.add_command(why_command)
agent_command.add_command(render_command)
agent_command.add_command(run_command)


@agent_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the agents, their transports and their servers."""
    from toolyard.features.agents.operations import list_agents
    from toolyard.operation import NoInput

    answer = context.start_hub().run(list_agents, NoInput())
    rows = [_agent_cells(row) for row in answer.agents]
    context.terminal.answer(answer, lambda: context.terminal.table(TITLES, rows))


@agent_command.command("show")
@agent_argument
@executor_option
@json_option
@click.pass_obj
def show_command(context: CliContext, agent: str, executor: str) -> None:
    """Show the list of an agent, and its overrides for an executor."""
    from msgspec.structs import asdict

    from toolyard.features.agents.operations import get_agent, get_config
    from toolyard.features.agents.orders import AgentId
    from toolyard.features.agents.rows import ShownAgent

    hub = context.start_hub()
    row = hub.run(get_agent, AgentId(agent)).answer
    config = hub.run(get_config, AgentId(agent)).answer
    override = _read_override(hub, agent, executor) if executor else None
    answer = ShownAgent(**asdict(row), config=config, executor=executor, override=override)

    def show() -> None:
        _show(context, row, config)
        if executor:
            _show_override(context, executor, override)

    context.terminal.answer(answer, show)


@agent_command.command("unset")
@agent_argument
@click.option(
    "--executor", required=True, metavar="EXECUTOR", help="Where it runs without overrides."
)
@json_option
@click.pass_obj
def unset_command(context: CliContext, agent: str, executor: str) -> None:
    """Remove the overrides of an agent for an executor."""
    from toolyard.features.agents.operations import remove_override
    from toolyard.features.agents.orders import OverrideKey

    context.start_hub().run(remove_override, OverrideKey(agent, executor))
    answer = {"done": "taken back", "agent": agent, "executor": executor}
    text = f"removed the overrides of {agent} for {executor}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@agent_command.command("add")
@click.argument("agent")
@click.option("--transport", multiple=True, required=True, metavar="T", help="What it takes.")
@click.option("--title", default="", metavar="TEXT", help="Its display name.")
@json_option
@click.pass_obj
def add_command(context: CliContext, agent: str, transport: Sequence[str], title: str) -> None:
    """Define an agent and the transports it supports, best first.

    Transports are stdio, http, sse and streamable_http.

    \b
    toolyard agent add my-agent --transport stdio --transport sse
    """
    from toolyard.features.agents.operations import define_agent
    from toolyard.features.agents.orders import DefineAgent
    from toolyard.features.agents.rows import AgentBody

    with noting_faults(context):
        body = AgentBody(list(transport), title)
        context.start_hub().run(define_agent, DefineAgent(agent, body))
    answer = {"done": "defined", "agent": agent}
    context.terminal.answer(answer, lambda: context.terminal.say(f"defined {agent}"))


@agent_command.command("remove")
@agent_argument
@json_option
@click.pass_obj
def remove_command(context: CliContext, agent: str) -> None:
    """Delete an agent that you defined, with its list."""
    from toolyard.features.agents.operations import remove_agent
    from toolyard.features.agents.orders import AgentId

    context.start_hub().run(remove_agent, AgentId(agent))
    answer = {"done": "removed", "agent": agent}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed {agent}"))


def _read_override(hub: Control, agent: str, executor: str) -> OverrideBody | None:
    from toolyard.features.agents.operations import get_override
    from toolyard.features.agents.orders import OverrideKey

    try:
        return hub.run(get_override, OverrideKey(agent, executor)).answer
    except CommandError as error:
        # An executor that does not exist is refused with the same status.
        if error.exit is Exit.NOT_FOUND and "has no override" in str(error):
            return None
        raise


def _agent_cells(row: AgentRow) -> list[str]:
    given = "yes" if row.enabled else "no" if row.configured else "nothing yet"
    transports, overrides = ", ".join(row.transports), ", ".join(row.overrides)
    return [row.id, given, str(row.servers), transports, overrides]


def _show(context: CliContext, row: AgentRow, config: AgentConfigRow) -> None:
    say = context.terminal.say
    say(f"{row.title} ({row.id}) takes {', '.join(row.transports)}")
    if not config.servers:
        say(f"its list is empty; add a server: toolyard agent add-server {row.id} NAME …")
        return
    say("its list is in use" if row.enabled else "its list is switched off")
    cells = [_server_cells(name, server) for name, server in config.servers.items()]
    context.terminal.table(SERVER_TITLES, cells)


def _show_override(context: CliContext, executor: str, override: OverrideBody | None) -> None:
    if override is None:
        context.terminal.say(f"no overrides for {executor}")
        return
    states: dict[object, str] = {True: ", switched on", False: ", switched off"}
    context.terminal.say(f"with {executor}{states.get(override.enabled, '')}:")
    servers = override.servers or {}
    rows = [
        [name, "", "", "left out"] if server is None else _server_cells(name, server)
        for name, server in servers.items()
    ]
    context.terminal.table(SERVER_TITLES, rows)


def _server_cells(name: str, server: AgentServerBody) -> list[str]:
    """A server without secrets, for whoever looks over a shoulder."""
    import msgspec

    from toolyard.core.endpoint_fields import read_endpoint
    from toolyard.core.model import Url
    from toolyard.records.secrets.plain_secrets import without_secrets

    if server.server:
        return [name, "of the yard", str(server.mode), server.server]
    shown = without_secrets(read_endpoint(msgspec.to_builtins(server)))
    what = shown.url if isinstance(shown, Url) else " ".join(shown.argv)
    return [name, str(server.type), str(server.mode), what]
