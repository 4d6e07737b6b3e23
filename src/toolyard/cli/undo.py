"""`undo`: the files of your clients as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.clients import (
    as_refusal,
    ask,
    change_row,
    dry_option,
    failed_rows,
    name_failed,
    open_connecting,
    show_difference,
    yes_option,
)
from toolyard.console.context import CliContext, json_option
from toolyard.core.errors import ToolyardError

if TYPE_CHECKING:
    from toolyard.clients.change import Changes, Plan
    from toolyard.clients.journal import Record

TITLES = ("id", "client", "what", "file", "undone")


@click.command("undo")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--list", "listed", is_flag=True, help="List the changes, the newest first.")
@dry_option
@yes_option
@json_option
@click.pass_obj
def undo_command(
    context: CliContext, id_: str | None, listed: bool, dry_run: bool, yes: bool
) -> None:
    """Undo the last change of a client's file, or the one named.

    What one command changed in the files of several clients is undone together. A file that was
    changed since keeps these changes: only the hub's entry is put back.
    """
    connecting = open_connecting(context)
    changes = connecting.changes
    if listed:
        rows = [_listed(each) for each in changes.journal.records()]
        context.terminal.answer({"changes": rows}, lambda: _list(context, rows))
        return
    plans, failed = _plan(changes, [changes.journal.get(id_)] if id_ else changes.last())
    if not dry_run:
        ask(context, yes, [plan for _, plan in plans])
    rows = []
    for record, plan in plans:
        try:
            ended = "" if dry_run else connecting.undo(record, plan)
            rows.append(change_row(plan, record, ended))
        except ToolyardError as error:
            failed.append((record.client, error))
    if len(failed) == 1 and not rows:
        raise as_refusal(failed[0][1])
    answer = {"dry_run": dry_run, "changes": rows, "failed": failed_rows(failed)}
    context.terminal.answer(
        answer, lambda: _tell(context, rows, dry_run, shown=not dry_run and not yes)
    )
    name_failed(context, failed)


def _plan(
    changes: Changes, records: list[Record]
) -> tuple[list[tuple[Record, Plan]], list[tuple[str, ToolyardError]]]:
    """What undoing would do, and what cannot be undone."""
    plans: list[tuple[Record, Plan]] = []
    failed: list[tuple[str, ToolyardError]] = []
    for record in records:
        try:
            plans.append(changes.plan_undo(record.id))
        except ToolyardError as error:
            failed.append((record.client, error))
    return plans, failed


def _tell(context: CliContext, rows: list[dict[str, Any]], dry_run: bool, shown: bool) -> None:
    for row in rows:
        if not shown:
            show_difference(context, row["difference"])
        if dry_run:
            continue
        context.terminal.say(f"undid {row['id']}: {row['what']} {row['client']}")
        if row["token_ended"]:
            context.terminal.say(f"the token {row['token_ended']} works no more")


def _listed(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "at": record.at,
        "client": record.client,
        "what": record.what,
        "file": record.path,
        "undone": record.undone,
    }


def _list(context: CliContext, rows: list[dict[str, Any]]) -> None:
    if not rows:
        context.terminal.say("no client's file was changed")
        return
    context.terminal.table(TITLES, [[row[key] for key in TITLES] for row in rows])
