"""`instances`: what runs, where, for whom."""

from __future__ import annotations

import time
from typing import Any

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.terminal import clean

TITLES = ("server", "for", "status", "where", "since", "memory", "restarts", "note")
Row = dict[str, Any]


@click.command("instances")
@json_option
@click.pass_obj
def instances_command(context: CliContext) -> None:
    """Show every running server: where, since when, for whom."""
    found = context.need_hub().instances()
    context.terminal.answer(found, lambda: show_instances(context, found["instances"]))


def show_instances(context: CliContext, rows: list[Row]) -> None:
    """Show what runs, and what was wrong with it last."""
    if not rows:
        context.terminal.say("nothing runs; the next call starts what it needs")
        return
    context.terminal.table(TITLES, [_cells(row) for row in rows])
    for row in rows:
        if row["error"] is not None:
            context.terminal.note(f"note: {row['server']}: {clean(row['error']['text'])}")
            for line in row["stderr"]:
                context.terminal.note(f"  {clean(line)}")


def _cells(row: Row) -> list[str]:
    status = "leaving" if row["leaving"] else row["status"]
    memory = f"{row['memory'] / (1 << 20):.0f} MB" if row["memory"] else ""
    if row["memory"] is None and row["executor"] and row["where"]:
        memory = "unknown"
    since = time.strftime("%H:%M:%S", time.localtime(row["since"])) if row["since"] else ""
    note = row["note"]
    if row["unattributed"]:
        note = "; ".join(filter(None, [note, f"{row['unattributed']} messages went to nobody"]))
    return [
        row["server"],
        _whom(row),
        status,
        row["where"],
        since,
        memory,
        str(row["restarts"]),
        note,
    ]


def _whom(row: Row) -> str:
    if row["mode"] == "shared":
        return f"the profile {row['profile']}" if row.get("profile") else "all"
    who = row["client"] or "a client without a name"
    agent = f" ({row['agent']})" if row["agent"] else ""
    return f"{who} {row['owner']}{agent}"
