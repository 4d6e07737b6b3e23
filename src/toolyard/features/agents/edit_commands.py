"""Commands that change the list of an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.faults import note_faults, noting_faults
from toolyard.console.jsonfile import read_object
from toolyard.console.pairs import read_pairs
from toolyard.features.agents.options import agent_argument, executor_option

if TYPE_CHECKING:
    from toolyard.core.agentwords import AgentConfigRow, AgentServerBody
    from toolyard.features.agents.rows import SavedConfig


@click.command("enable")
@agent_argument
@json_option
@click.pass_obj
def enable_command(context: CliContext, agent: str) -> None:
    """Give an agent the servers on its list."""
    import msgspec

    saved = _edit(context, agent, lambda config: msgspec.structs.replace(config, enabled=True))
    _tell(context, "enabled", saved)


@click.command("disable")
@agent_argument
@json_option
@click.pass_obj
def disable_command(context: CliContext, agent: str) -> None:
    """Stop giving an agent servers, and keep its list."""
    import msgspec

    saved = _edit(context, agent, lambda config: msgspec.structs.replace(config, enabled=False))
    _tell(context, "disabled", saved)


@click.command("set")
@agent_argument
@click.argument("file")
@executor_option
@json_option
@click.pass_obj
def set_command(context: CliContext, agent: str, file: str, executor: str) -> None:
    """Write the whole list of an agent from a file, or from stdin with -.

    The file holds {"enabled": true, "servers": {…}}, or mcpServers as in a client's own file. With
    --executor it holds only the differences there: servers to add or replace, and null for each one
    to leave out.

    \b
    toolyard agent set codex codex.json
    echo '{"servers": {"git": null}}' | toolyard agent set codex - --executor docker
    """
    body = read_object(file)
    if executor:
        _write_override(context, agent, executor, body)
        return
    # A client's own file does not say; whoever writes a list wants it used.
    saved = _save(context, agent, {"enabled": True, **body})
    _tell(context, "written", saved)
    if not context.terminal.as_json:
        note_faults(context, "note", saved.warnings)
        _note_disabled(context, saved)


@click.command("add-server")
@agent_argument
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARG]...]")
@click.option("--url", metavar="URL", help="The server's address, instead of a command.")
@click.option("--server", metavar="SERVER", help="A server that the yard knows, instead.")
@click.option("-t", "--type", "type_", metavar="TYPE", help="http, sse or streamable_http.")
@click.option("--mode", type=click.Choice(["auto", "shared", "per_session"]), help="For whom.")
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A variable for the command.")
@click.option("-H", "--header", multiple=True, metavar="'K: V'", help="A header for the address.")
@click.option("--force", is_flag=True, help="Replace the server of that name.")
@json_option
@click.pass_obj
def add_server_command(
    context: CliContext, /, agent: str, name: str, force: bool, **flags: Any
) -> None:
    """Put a server on an agent's list.

    Give a command after --, an address with --url, or a server of the yard with --server. The first
    server of an agent also turns its list on.

    \b
    toolyard agent add-server codex git --server git
    toolyard agent add-server codex files -- npx -y @modelcontextprotocol/server-filesystem .
    toolyard agent add-server cursor docs --url https://example.com/mcp --mode shared
    """
    import msgspec

    entry = _read_entry(**flags)

    def add(config: AgentConfigRow) -> AgentConfigRow:
        if name in config.servers and not force:
            text = f"{agent!r} has a server '{name}' already"
            raise CommandError(text, "use --force to replace it", Exit.REFUSED)
        enabled = config.enabled or not config.servers
        servers = {**config.servers, name: entry}
        return msgspec.structs.replace(config, enabled=enabled, servers=servers)

    saved = _edit(context, agent, add)
    _tell(context, "added", saved, name)
    if not context.terminal.as_json:
        note_faults(context, "note", [fault for fault in saved.warnings if fault.server == name])
        _note_disabled(context, saved)


@click.command("remove-server")
@agent_argument
@click.argument("name")
@json_option
@click.pass_obj
def remove_server_command(context: CliContext, agent: str, name: str) -> None:
    """Take a server off an agent's list."""
    import msgspec

    def remove(config: AgentConfigRow) -> AgentConfigRow:
        if name not in config.servers:
            names = ", ".join(config.servers) or "none"
            text = f"there is no server '{name}' on the list of {agent!r}"
            raise CommandError(text, f"there are: {names}", Exit.NOT_FOUND)
        servers = {key: server for key, server in config.servers.items() if key != name}
        meta = {key: words for key, words in config.meta.items() if key != name}
        return msgspec.structs.replace(config, servers=servers, meta=meta)

    _tell(context, "removed", _edit(context, agent, remove), name)


def _edit(
    context: CliContext, agent: str, change: Callable[[AgentConfigRow], AgentConfigRow]
) -> SavedConfig:
    """Change a list as it is now; whoever changed it meanwhile is not undone."""
    from toolyard.features.agents.operations import get_config
    from toolyard.features.agents.orders import AgentId
    from toolyard.features.agents.rows import AgentConfigBody

    before = context.start_hub().run(get_config, AgentId(agent))
    config = change(before.answer)
    body = AgentConfigBody(config.enabled, config.servers, meta=config.meta)
    return _save(context, agent, body, before.version)


def _save(context: CliContext, agent: str, body: object, version: str = "") -> SavedConfig:
    from toolyard.features.agents.operations import put_config
    from toolyard.features.agents.orders import PutConfig

    with noting_faults(context):
        order = PutConfig(agent, body)
        return context.start_hub().run(put_config, order, version=version).answer


def _write_override(context: CliContext, agent: str, executor: str, body: object) -> None:
    from toolyard.features.agents.operations import put_override
    from toolyard.features.agents.orders import PutOverride

    with noting_faults(context):
        context.start_hub().run(put_override, PutOverride(agent, executor, body))
    answer = {"done": "written", "agent": agent, "executor": executor}
    context.terminal.answer(
        answer, lambda: context.terminal.say(f"written {agent} with {executor}")
    )


def _tell(context: CliContext, done: str, saved: SavedConfig, server: str = "") -> None:
    from toolyard.features.agents.rows import ChangedList

    facts = saved.noticed, saved.enabled, saved.warnings
    answer = ChangedList(done, saved.agent_id, *facts, server=server)
    what = f"'{server}' for {saved.agent_id}" if server else saved.agent_id
    context.terminal.answer(answer, lambda: context.terminal.say(f"{done} {what}"))


def _note_disabled(context: CliContext, saved: SavedConfig) -> None:
    if not saved.enabled:
        hint = f"toolyard agent enable {saved.agent_id}"
        context.terminal.note(f"note: the list is switched off; switch it on with: {hint}")


def _read_entry(
    command: Sequence[str],
    url: str | None,
    server: str | None,
    type_: str | None,
    mode: str | None,
    env: Sequence[str],
    header: Sequence[str],
) -> AgentServerBody:
    """The server that flags describe."""
    from msgspec import UNSET

    from toolyard.core.agentwords import AgentServerBody

    if sum(map(bool, (command, url, server))) != 1:
        raise click.UsageError("give one of: a command after --, --url, --server")
    if not command and env:
        raise click.UsageError("-e is for commands")
    if not url and (header or type_):
        raise click.UsageError("-H and -t are for addresses")
    for_whom = mode or UNSET
    if server:
        return AgentServerBody(server=server, mode=for_whom)
    if url:
        return AgentServerBody(
            type=type_ or "http",
            url=url,
            headers={**read_pairs(header, ":", "-H")},
            mode=for_whom,
        )
    return AgentServerBody(
        command=command[0],
        args=list(command[1:]),
        env={**read_pairs(env, "=", "-e")},
        mode=for_whom,
    )
