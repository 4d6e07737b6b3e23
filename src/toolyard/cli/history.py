"""`history` and `replay`: what was called, how it went, and once more."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click

from toolyard.cli.tools import MARGIN, finish_call
from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.terminal import visible

SHOWN = 20
WIDTH = 60


@click.group("history", invoke_without_command=True)
@click.option(
    "--server", default="", metavar="NAME", shell_complete=complete_servers, help="Of this server."
)
@click.option("--tool", default="", metavar="NAME", help="Of this tool.")
@click.option("--agent", default="", metavar="NAME", help="Of the client that calls itself so.")
@click.option("--caller", default="", metavar="NAME", help="Made with the token of this name.")
@click.option("--text", default="", metavar="TEXT", help="With this text in it.")
@click.option("--failed", is_flag=True, help="Only calls that ended with an error.")
@click.option("--since", default="", metavar="AGO", help="Since 30m, 1h, 2d ago, or a time.")
@click.option("--before", type=click.IntRange(1), metavar="ID", help="Older than this call.")
@click.option("--limit", type=click.IntRange(1, 1000), metavar="N", help="At most so many.")
@click.option("--stats", is_flag=True, help="Counts and durations instead of single calls.")
@json_option
@click.pass_context
def history_command(ctx: click.Context, /, **wanted: Any) -> None:
    """Show the calls that were made, newest first."""
    if ctx.invoked_subcommand is not None:
        return
    context: CliContext = ctx.obj
    wanted["outcome"] = "failed" if wanted.pop("failed") else ""
    if wanted.pop("stats"):
        _stats(
            context, {key: wanted[key] for key in ("server", "tool", "agent", "caller", "since")}
        )
        return
    wanted["limit"] = wanted["limit"] or SHOWN
    found = context.need_hub().history(wanted)
    context.terminal.answer(found, lambda: _show(context, found))


@history_command.command("show")
@click.argument("id_", metavar="ID", type=click.IntRange(0))
@json_option
@click.pass_obj
def show_command(context: CliContext, id_: int) -> None:
    """Show one call with all that was kept of it."""
    found = context.need_hub().recorded(id_)
    context.terminal.answer(found, lambda: _show_one(context, found))


@click.command("replay")
@click.argument("id_", metavar="ID", type=click.IntRange(0))
@json_option
@click.pass_obj
def replay_command(context: CliContext, id_: int) -> None:
    """Repeat a call of the history and print its answer.

    The hub must have kept the arguments of calls: TOOLYARD_HISTORY_BODIES=on.
    """
    hub = context.need_hub()
    call = hub.recorded(id_)["call"]
    patience = context.settings.call_timeout + context.settings.start_timeout + MARGIN
    finish_call(context, call["server"], call["tool"], hub.replay(id_, patience))


def _show(context: CliContext, found: dict[str, Any]) -> None:
    calls = found["calls"]
    if not calls:
        context.terminal.note("no call was found")
        return
    titles = ("id", "time", "agent", "caller", "server", "tool", "ms", "outcome", "error")
    context.terminal.table(titles, [_row(each) for each in calls])
    if found["next"] is not None:
        context.terminal.note(f"for older ones: --before {found['next']}")


def _row(call: dict[str, Any]) -> list[str]:
    error = call["error"] if len(call["error"]) <= WIDTH else call["error"][: WIDTH - 1] + "…"
    names = [call[key] for key in ("agent", "caller", "server", "tool")]
    return [str(call["id"]), _time(call["at"]), *names, f"{call['ms']:.1f}", call["outcome"], error]


def _time(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _show_one(context: CliContext, found: dict[str, Any]) -> None:
    call = dict(found["call"])
    call["at"] = _time(call["at"])
    for key, value in call.items():
        context.terminal.say(f"{key:10}{value}")
    for key in ("arguments", "result"):
        if found[key] is not None:
            context.terminal.say(f"{key}:")
            context.terminal.say(visible(json.dumps(found[key], ensure_ascii=False, indent=2)))
    if found["arguments"] is None:
        context.terminal.note("arguments and results are kept with TOOLYARD_HISTORY_BODIES=on")


def _stats(context: CliContext, wanted: dict[str, Any]) -> None:
    found = context.need_hub().history_stats(wanted)
    titles = ("server", "tool", "calls", "errors", "rate", "p50 ms", "p95 ms")
    rows = [
        [
            each["server"],
            each["tool"] or "(all)",
            str(each["calls"]),
            str(each["errors"]),
            f"{each['error_rate']:.1%}",
            f"{each['p50_ms']:.1f}",
            f"{each['p95_ms']:.1f}",
        ]
        for each in found["stats"]
    ]
    context.terminal.answer(found, lambda: context.terminal.table(titles, rows))
