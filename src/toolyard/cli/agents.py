"""`agent`: which servers each agent is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from toolyard.cli.roster import Said, agent_path, executor_option
from toolyard.console.context import CliContext, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.faults import note_faults, noting_faults
from toolyard.console.jsonfile import read_object

TITLES = ("agent", "given", "servers", "takes", "differs with")
SERVER_TITLES = ("server", "type", "mode", "what")


@click.group("agent")
@json_option
def agent_command() -> None:
    """Say which servers each agent is given."""


@agent_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the agents, with what they take and are given."""
    found, _ = context.start_hub().record("GET", "/api/v1/agents")
    rows = [
        [
            row["id"],
            _given(row),
            str(row["servers"]),
            ", ".join(row["transports"]),
            ", ".join(row["overrides"]),
        ]
        for row in found["agents"]
    ]
    context.terminal.answer(found, lambda: context.terminal.table(TITLES, rows))


@agent_command.command("show")
@click.argument("agent")
@executor_option
@json_option
@click.pass_obj
def show_command(context: CliContext, agent: str, executor: str) -> None:
    """Show the list of an agent, and what differs with an executor."""
    hub = context.start_hub()
    row, _ = hub.record("GET", agent_path(agent))
    config, _ = hub.record("GET", agent_path(agent, "config"))
    override = _override(hub, agent, executor) if executor else None
    answer = {**row, "config": config, "executor": executor, "override": override}
    context.terminal.answer(answer, lambda: _show(context, answer))


@agent_command.command("enable")
@click.argument("agent")
@json_option
@click.pass_obj
def enable_command(context: CliContext, agent: str) -> None:
    """Give an agent the servers on its list."""
    _change(context, agent, lambda said: {**said, "enabled": True}, "enabled")


@agent_command.command("disable")
@click.argument("agent")
@json_option
@click.pass_obj
def disable_command(context: CliContext, agent: str) -> None:
    """Give an agent nothing, and keep its list."""
    _change(context, agent, lambda said: {**said, "enabled": False}, "disabled")


@agent_command.command("set")
@click.argument("agent")
@click.argument("file")
@executor_option
@json_option
@click.pass_obj
def set_command(context: CliContext, agent: str, file: str, executor: str) -> None:
    """Write the whole list of an agent from a file, or from stdin with -.

    The file holds {"enabled": true, "servers": {…}}, or mcpServers as in a client's own file. With
    --executor it holds what differs there: servers that are added or replaced, null for one that
    is left out.

    \b
    toolyard agent set codex codex.json
    echo '{"servers": {"git": null}}' | toolyard agent set codex - --executor docker
    """
    said = read_object(file)
    if executor:
        hub, path = context.start_hub(), agent_path(agent, "overrides", executor)
        with noting_faults(context):
            hub.record("PUT", path, said)
        _done(context, {"done": "written", "agent": agent, "executor": executor})
        return

    def write(before: Said) -> Said:
        # A client's own file does not say; whoever writes a list wants it used.
        return {"enabled": True, **said}

    _change(context, agent, write, "written")


@agent_command.command("unset")
@click.argument("agent")
@click.option("--executor", required=True, metavar="EXECUTOR", help="Where nothing is to differ.")
@json_option
@click.pass_obj
def unset_command(context: CliContext, agent: str, executor: str) -> None:
    """Take back what differs for an agent with an executor."""
    context.start_hub().record("DELETE", agent_path(agent, "overrides", executor))
    _done(context, {"done": "taken back", "agent": agent, "executor": executor})


@agent_command.command("add-server")
@click.argument("agent")
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
    context: CliContext, /, agent: str, name: str, force: bool, **told: Any
) -> None:
    """Put a server on an agent's list: a command after --, an address, or one of the yard.

    The first server of an agent also switches its list on.

    \b
    toolyard agent add-server codex git --server git
    toolyard agent add-server codex files -- npx -y @modelcontextprotocol/server-filesystem .
    toolyard agent add-server cursor docs --url https://example.com/mcp --mode shared
    """
    entry = _entry(**told)

    def add(said: Said) -> Said:
        if name in said["servers"] and not force:
            text = f"{agent!r} has a server '{name}' already"
            raise CommandError(text, "use --force to replace it", Exit.REFUSED)
        enabled = said["enabled"] or not said["servers"]
        return {**said, "enabled": enabled, "servers": {**said["servers"], name: entry}}

    _change(context, agent, add, "added", server=name)


@agent_command.command("remove-server")
@click.argument("agent")
@click.argument("name")
@json_option
@click.pass_obj
def remove_server_command(context: CliContext, agent: str, name: str) -> None:
    """Take a server off an agent's list."""

    def remove(said: Said) -> Said:
        if name not in said["servers"]:
            known = ", ".join(said["servers"]) or "none"
            text = f"there is no server '{name}' on the list of {agent!r}"
            raise CommandError(text, f"there are: {known}", Exit.NOT_FOUND)
        kept = {
            part: {key: value for key, value in said[part].items() if key != name}
            for part in ("servers", "meta")
        }
        return {**said, **kept}

    _change(context, agent, remove, "removed", server=name)


@agent_command.command("add")
@click.argument("agent")
@click.option("--transport", multiple=True, required=True, metavar="T", help="What it takes.")
@click.option("--title", default="", metavar="TEXT", help="What people call it.")
@json_option
@click.pass_obj
def add_command(context: CliContext, agent: str, transport: Sequence[str], title: str) -> None:
    """Define an agent: the transports it takes, the best first.

    Transports are stdio, http, sse and streamable_http.
    """
    body = {"transports": list(transport), "title": title}
    with noting_faults(context):
        context.start_hub().record("PUT", agent_path(agent), body)
    _done(context, {"done": "defined", "agent": agent})


@agent_command.command("remove")
@click.argument("agent")
@json_option
@click.pass_obj
def remove_command(context: CliContext, agent: str) -> None:
    """Forget an agent that you defined, with its list."""
    context.start_hub().record("DELETE", agent_path(agent))
    _done(context, {"done": "removed", "agent": agent})


def _change(
    context: CliContext, agent: str, edit: Callable[[Said], Said], done: str, **more: str
) -> None:
    """Change a list as it is now; whoever changed it meanwhile is not undone."""
    hub, path = context.start_hub(), agent_path(agent, "config")
    config, tag = hub.record("GET", path)
    said = edit({key: config[key] for key in ("enabled", "servers", "meta")})
    with noting_faults(context):
        saved, _ = hub.record("PUT", path, said, tag)
    answer = {"done": done, "agent": saved["agent_id"], **more, "noticed": saved["noticed"]}
    _done(context, {**answer, "enabled": saved["enabled"], "warnings": saved["warnings"]})
    if not context.terminal.as_json:
        import msgspec

        from toolyard.operation import FaultRow

        warnings = msgspec.convert(saved["warnings"], list[FaultRow])
        touched = [fault for fault in warnings if more.get("server") == fault.server]
        note_faults(context, "note", warnings if done == "written" else touched)
        if not saved["enabled"] and done in ("added", "written"):
            hint = f"toolyard agent enable {saved['agent_id']}"
            context.terminal.note(f"note: the list is switched off; give it with: {hint}")


def _done(context: CliContext, answer: Said) -> None:
    what = f"'{answer['server']}' for {answer['agent']}" if "server" in answer else answer["agent"]
    where = f" with {answer['executor']}" if "executor" in answer else ""
    context.terminal.answer(answer, lambda: context.terminal.say(f"{answer['done']} {what}{where}"))


def _override(hub: Control, agent: str, executor: str) -> Said | None:
    try:
        return hub.record("GET", agent_path(agent, "overrides", executor))[0]
    except CommandError as error:
        if error.exit is Exit.NOT_FOUND and "nothing differs" in str(error):
            return None
        raise


def _entry(
    command: Sequence[str],
    url: str | None,
    server: str | None,
    type_: str | None,
    mode: str | None,
    env: Sequence[str],
    header: Sequence[str],
) -> Said:
    if sum(map(bool, (command, url, server))) != 1:
        raise click.UsageError("give one of: a command after --, --url, --server")
    from toolyard.cli.servers import read_pairs

    if not command and env:
        raise click.UsageError("-e is for commands")
    if not url and (header or type_):
        raise click.UsageError("-H and -t are for addresses")
    said: Said = {"mode": mode} if mode else {}
    if server:
        return {"server": server, **said}
    if url:
        return {
            "type": type_ or "http",
            "url": url,
            "headers": read_pairs(header, ":", "-H"),
            **said,
        }
    env_ = read_pairs(env, "=", "-e")
    return {"command": command[0], "args": list(command[1:]), "env": env_, **said}


def _given(row: Said) -> str:
    if row["enabled"]:
        return "yes"
    return "no" if row["configured"] else "nothing yet"


def _show(context: CliContext, answer: Said) -> None:
    say = context.terminal.say
    say(f"{answer['title']} ({answer['id']}) takes {', '.join(answer['transports'])}")
    servers = answer["config"]["servers"]
    if not servers:
        say(f"nothing is on its list; add: toolyard agent add-server {answer['id']} NAME …")
    else:
        say("its list is in use" if answer["enabled"] else "its list is switched off")
        context.terminal.table(SERVER_TITLES, [_row(name, servers[name]) for name in servers])
    if answer["executor"]:
        _show_override(context, answer["executor"], answer["override"])


def _show_override(context: CliContext, executor: str, override: Said | None) -> None:
    if override is None:
        context.terminal.say(f"nothing differs with {executor}")
        return
    enabled = {None: "", True: ", where it is switched on", False: ", where it is switched off"}
    context.terminal.say(f"with {executor}{enabled[override['enabled']]}:")
    servers = override["servers"]
    left_out = ["", "", "left out"]
    rows = [_row(name, entry) if entry else [name, *left_out] for name, entry in servers.items()]
    context.terminal.table(SERVER_TITLES, rows)


def _row(name: str, entry: Said) -> list[str]:
    """A server as it may be seen by who looks over a shoulder."""
    from toolyard.core.model import Command, Url
    from toolyard.stores.plain_secrets import without_secrets

    if "server" in entry:
        return [name, "of the yard", entry["mode"], entry["server"]]
    if "url" in entry:
        shown = without_secrets(Url(entry["url"]))
    else:
        shown = without_secrets(Command((entry["command"], *entry.get("args", ()))))
    what = shown.url if isinstance(shown, Url) else " ".join(shown.argv)
    return [name, entry["type"], entry["mode"], what]
