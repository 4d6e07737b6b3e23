"""`setup`: from many files to one yard."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean
from toolyard.features.clients.confirming import CANNOT_ASK, dry_option, yes_option
from toolyard.features.clients.import_table import amount

if TYPE_CHECKING:
    from toolyard.console.interrupts import Interrupts
    from toolyard.core.rows import ServerRow
    from toolyard.features.setup.model import SetupDone, SetupPlan


@click.command("setup")
@click.option("--no-wait", is_flag=True, help="Do not start the hub and wait for the servers.")
@dry_option
@yes_option
@config_option
@json_option
@click.pass_obj
def setup_command(context: CliContext, no_wait: bool, dry_run: bool, yes: bool) -> None:
    """Move the servers of all your clients into the hub, and connect the clients.

    Shows every server and every change of a file, and asks once. Then it adds the servers to the
    hub, moves tokens and passwords into your keyring (or into private files if there is none),
    keeps what a client had restricted as a profile, replaces the servers in the clients' files
    with the hub, and shows how each server starts.

    Servers in the files of a project stay where they are. So does a server with a restriction that
    the hub cannot keep.

    Ctrl-C undoes everything, at any moment. Afterwards, `toolyard undo` restores every byte of the
    clients' files; the servers stay in the hub.
    """
    from toolyard.features.setup.operations import SetupQuestion, get_setup_plan
    from toolyard.features.setup.showing import show_plan

    project = _find_project()
    plan = context.run_here(get_setup_plan, SetupQuestion(project))
    if not context.terminal.as_json:
        show_plan(context, plan)
    if dry_run or not plan.changes:
        _end_early(context, plan)
        return
    _ask(context, yes, plan)
    _set_up(context, plan, project, no_wait)


def _find_project() -> str:
    """The current folder, whose files are looked into too."""
    folder = os.getcwd()
    return "" if folder == os.path.expanduser("~") else folder


def _end_early(context: CliContext, plan: SetupPlan) -> None:
    import msgspec

    def show() -> None:
        if not plan.changes:
            context.terminal.say(_describe_nothing(plan))

    context.terminal.answer({"plan": msgspec.to_builtins(plan), "done": None}, show)


def _describe_nothing(plan: SetupPlan) -> str:
    is_empty = not plan.servers and all(client.action == "skip" for client in plan.clients)
    if is_empty and not plan.problems:
        return "No client on this machine has servers to move. Add one with: toolyard add"
    return "There is nothing to do."


def _ask(context: CliContext, yes: bool, plan: SetupPlan) -> None:
    """Have the plan confirmed.

    Raises:
        click.UsageError: There is no terminal to ask at.
    """
    from toolyard.features.setup.showing import count_of

    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or context.terminal.as_json:
        raise click.UsageError(CANNOT_ASK)
    servers, clients = count_of(plan)
    question = f"Add {amount(servers)} to the hub and change {amount(clients, 'client')}?"
    click.confirm(question, abort=True)


def _set_up(context: CliContext, plan: SetupPlan, project: str, no_wait: bool) -> None:
    """Carry the plan out; an interrupt is heard between two steps, and undoes all of them."""
    from toolyard.console.interrupts import Interrupts
    from toolyard.features.setup.operations import SetupId, SetupOrder, carry_out_setup, undo_setup

    with Interrupts() as interrupts:
        starts_hub = not no_wait and context.find_hub() is None
        try:
            if starts_hub:
                context.start_hub()
            interrupts.check()
            done = context.run_here(carry_out_setup, SetupOrder(plan=plan.id, project=project))
        except BaseException:
            _leave(context, starts_hub)
            raise
        try:
            _say_done(context, done)
            interrupts.check()
            rows = [] if no_wait else _follow(context, interrupts, plan, done)
            interrupts.check()
        except KeyboardInterrupt:
            context.run_here(undo_setup, SetupId(done.id))
            _leave(context, starts_hub)
            raise
        interrupts.finish()
    _conclude(context, plan, done, rows)


def _leave(context: CliContext, stops_hub: bool) -> None:
    """Stop the hub that was started for this, and say that nothing is left."""
    from toolyard.features.hub.life_commands import stop_running

    if stops_hub:
        stop_running(context)
    context.terminal.note("undone: everything is as it was")


def _say_done(context: CliContext, done: SetupDone) -> None:
    if context.terminal.as_json:
        return
    say = context.terminal.say
    if done.secrets:
        say(f"stored {amount(done.secrets, 'secret')}")
    if done.servers:
        say(f"added {amount(done.servers)} to the hub")
    if done.connected:
        say(f"connected {', '.join(done.connected)}")
    sys.stdout.flush()


def _follow(
    context: CliContext, interrupts: Interrupts, plan: SetupPlan, done: SetupDone
) -> list[ServerRow]:
    """Show how the servers start."""
    from toolyard.features.setup.progress import follow_starts

    hub = context.need_hub()
    present = [server.name for server in plan.servers if server.action == "present"]
    names = [*done.servers, *present]
    if names and not context.terminal.as_json:
        context.terminal.say(f"starting {amount(names)}; Ctrl-C undoes everything")
        sys.stdout.flush()
    return follow_starts(context.terminal, interrupts, names, lambda: hub.status().servers)


def _conclude(context: CliContext, plan: SetupPlan, done: SetupDone, rows: list[ServerRow]) -> None:
    import msgspec

    from toolyard.features.setup.progress import is_good

    good = [row for row in rows if is_good(row)]
    answer = {
        "plan": msgspec.to_builtins(plan),
        "done": msgspec.to_builtins(done),
        "servers": [
            {
                "name": row.name,
                "status": row.status,
                "tools": row.tools,
                "problem": msgspec.to_builtins(row.problem),
            }
            for row in rows
        ],
    }

    def show() -> None:
        if rows:
            context.terminal.say(f"{len(good)} of {amount(rows)} can be used")
        context.terminal.note(
            "restart the clients to apply this; restore their files with: toolyard undo"
        )

    context.terminal.answer(answer, show)
    for failure in done.failed if not context.terminal.as_json else ():
        context.terminal.note(f"{failure.client}: {clean(failure.text)}")
        context.terminal.note(f"hint: {clean(failure.hint)}")
    if done.failed:
        raise click.exceptions.Exit(Exit.FAILED)
