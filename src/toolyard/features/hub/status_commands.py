"""`status`: how the yard is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.rows import YardStatus
    from toolyard.features.hub.operations import ReplicaRow
    from toolyard.features.servers.instances import InstanceRow


@click.command("status")
@click.option(
    "--instances", is_flag=True, help="Show every running server: where, since when, for whom."
)
@json_option
@click.pass_obj
def status_command(context: CliContext, instances: bool) -> None:
    """Show the hub, its servers and their problems."""
    import msgspec

    from toolyard.features.hub.life_commands import find_link
    from toolyard.features.hub.operations import list_replicas
    from toolyard.features.servers.operations import list_instances
    from toolyard.features.servers.showing import show_instances
    from toolyard.operation import NoInput

    hub = context.need_hub()
    if instances:
        rows = hub.run(list_instances, NoInput())
        context.terminal.answer(rows, lambda: show_instances(context, rows.instances))
        return
    status, rows = hub.status(), hub.run(list_instances, NoInput())
    fleet = hub.run(list_replicas, NoInput())
    context.terminal.answer(
        {
            **msgspec.to_builtins(status),
            **msgspec.to_builtins(rows),
            **msgspec.to_builtins(fleet),
        },
        lambda: _show(context, status, rows.instances, fleet.replicas, find_link(hub)),
    )


def _show(
    context: CliContext,
    status: YardStatus,
    instances: list[InstanceRow],
    replicas: list[ReplicaRow],
    link: str,
) -> None:
    from toolyard.features.servers.showing import show_instances, show_servers

    say = context.terminal.say
    minutes, seconds = divmod(int(status.uptime_s), 60)
    hours, minutes = divmod(minutes, 60)
    url = context.terminal.paint(status.url, "green")
    say(f"toolyard {status.version} at {url}, pid {status.pid}")
    say(f"up for {hours}:{minutes:02}:{seconds:02}")
    if any(replica.schema for replica in replicas):
        say(f"replicas: {', '.join(map(_describe_replica, replicas))}")
    if link:
        say(f"open it in a browser: {link}")
    say()
    show_servers(context, status.servers)
    for server in status.servers:
        for text in server.asks:
            context.terminal.note(f"note: {server.alias}: {clean(text)}")
    own = [row for row in instances if row.mode != "shared" or row.profile or row.note]
    if own:
        context.terminal.say()
        show_instances(context, own)
    for problem in status.problems:
        context.terminal.problem(problem.text, problem.hint, problem.subject)


def _describe_replica(replica: ReplicaRow) -> str:
    notes = ["this hub"] * replica.own + ["draining"] * replica.draining
    if replica.runs:
        notes.append(f"runs {', '.join(name.partition('@')[0] for name in replica.runs)}")
    return clean(f"{replica.id} ({', '.join(notes)})" if notes else replica.id)
