"""`undo`: the files of your clients as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.clients import (
    ask,
    change_row,
    dry_option,
    open_connecting,
    show_difference,
    yes_option,
)
from toolyard.cli.desk import Desk, json_option

if TYPE_CHECKING:
    from toolyard.clients.journal import Record

TITLES = ("id", "client", "what", "file", "undone")


@click.command("undo")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--list", "listed", is_flag=True, help="List the changes, the newest first.")
@dry_option
@yes_option
@json_option
@click.pass_obj
def undo_command(desk: Desk, id_: str | None, listed: bool, dry_run: bool, yes: bool) -> None:
    """Undo the last change of a client's file, or the one named.

    A file that was changed since keeps these changes: only the hub's entry is put back.
    """
    connecting = open_connecting(desk)
    changes = connecting.changes
    if listed:
        rows = [_listed(each) for each in changes.journal.records()]
        desk.terminal.answer({"changes": rows}, lambda: _list(desk, rows))
        return
    record, plan = changes.plan_undo(id_ or "")
    ended = ""
    if not dry_run:
        ask(desk, yes, [plan])
        ended = connecting.undo(record, plan)
    answer = {"dry_run": dry_run, "id": record.id, **change_row(plan, record, ended)}
    desk.terminal.answer(answer, lambda: _undone(desk, answer, shown=not dry_run and not yes))


def _undone(desk: Desk, answer: dict[str, Any], shown: bool) -> None:
    if not shown:
        show_difference(desk, answer["difference"])
    if not answer["dry_run"]:
        desk.terminal.say(f"undid {answer['id']}: {answer['what']} {answer['client']}")
        if answer["token_ended"]:
            desk.terminal.say(f"the token {answer['token_ended']} works no more")


def _listed(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "at": record.at,
        "client": record.client,
        "what": record.what,
        "file": record.path,
        "undone": record.undone,
    }


def _list(desk: Desk, rows: list[dict[str, Any]]) -> None:
    if not rows:
        desk.terminal.say("no client's file was changed")
        return
    desk.terminal.table(TITLES, [[row[key] for key in TITLES] for row in rows])
