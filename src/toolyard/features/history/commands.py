"""`history`: the calls that were made, how they went, and one of them once more."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.terminal import visible

if TYPE_CHECKING:
    from toolyard.features.history.model import Call, Statistic
    from toolyard.features.history.operations import (
        CallPage,
        HistoryCheck,
        OrdersPage,
        StatsPage,
        WholeCall,
    )

SHOWN = 20
CHECK_SECONDS = 600.0
WIDTH = 60
TITLES = ("id", "time", "agent", "caller", "server", "tool", "ms", "outcome", "error")
ORDER_TITLES = ("id", "time", "by", "address", "verb", "kind", "key")
STATS_TITLES = ("server", "tool", "calls", "errors", "rate", "p50 ms", "p95 ms")


@click.group("history", invoke_without_command=True)
@click.option(
    "--server",
    default="",
    metavar="NAME",
    shell_complete=complete_servers,
    help="Only calls of this server.",
)
@click.option("--tool", default="", metavar="NAME", help="Only calls of this tool.")
@click.option(
    "--agent", default="", metavar="NAME", help="Only calls of the client that gives this name."
)
@click.option(
    "--caller", default="", metavar="NAME", help="Only calls made with the token of this name."
)
@click.option("--text", default="", metavar="TEXT", help="Only calls that contain this text.")
@click.option("--failed", is_flag=True, help="Only calls that ended with an error.")
@click.option("--since", default="", metavar="AGO", help="Since 30m, 1h, 2d ago, or a time.")
@click.option("--before", type=click.IntRange(1), metavar="ID", help="Only calls before this one.")
@click.option("--limit", type=click.IntRange(1, 1000), metavar="N", help="Show at most N.")
@click.option("--stats", is_flag=True, help="Counts and durations instead of single calls.")
@json_option
@click.pass_context
def history_command(ctx: click.Context, /, stats: bool, **filters: Any) -> None:
    """Show the calls that were made, newest first.

    \b
    toolyard history --server files --failed --since 2h
    toolyard history --stats --since 1d
    """
    if ctx.invoked_subcommand is not None:
        return
    show = _show_stats if stats else _show_calls
    show(ctx.obj, **filters)


@history_command.command("show")
@click.argument("id_", metavar="ID", type=click.IntRange(0))
@json_option
@click.pass_obj
def show_command(context: CliContext, id_: int) -> None:
    """Show everything that was kept of one call."""
    whole = _get(context, id_)
    context.terminal.answer(whole, lambda: _describe(context, whole))


@history_command.command("replay")
@click.argument("id_", metavar="ID", type=click.IntRange(0))
@json_option
@click.pass_obj
def replay_command(context: CliContext, id_: int) -> None:
    """Repeat a call and print its answer.

    The hub must have kept the arguments of calls: TOOLYARD_HISTORY_BODIES=on.
    """
    from toolyard.console.results import call_patience, finish_call
    from toolyard.features.history.operations import CallId, replay_call

    call = _get(context, id_).call
    hub, patience = context.need_hub(), call_patience(context)
    result = json.loads(bytes(hub.run(replay_call, CallId(str(id_)), patience)))
    finish_call(context, call.server, call.tool, result)


@history_command.command("orders")
@click.option(
    "--by", default="", metavar="NAME", help="Only orders given with the token of this name."
)
@click.option("--kind", default="", metavar="KIND", help="Only orders about this kind of record.")
@click.option(
    "--key", default="", metavar="NAME", help="Only orders about the record of this name."
)
@click.option("--since", default="", metavar="AGO", help="Since 30m, 1h, 2d ago, or a time.")
@click.option("--before", type=click.IntRange(1), metavar="ID", help="Only orders before this one.")
@click.option("--limit", type=click.IntRange(1, 1000), metavar="N", help="Show at most N.")
@json_option
@click.pass_obj
def orders_command(
    context: CliContext, /, before: int | None, limit: int | None, **names: str
) -> None:
    """Show who changed what, newest first.

    With --json, each order has the record before and after, without secrets.

    \b
    toolyard history orders --kind server --since 1d
    """
    from toolyard.features.history.operations import OrdersQuery, search_orders

    query = OrdersQuery(**names, before=before or 0, limit=limit or SHOWN)
    page = context.run(search_orders, query)
    context.terminal.answer(page, lambda: _show_orders(context, page))


@history_command.command("check")
@json_option
@click.pass_obj
def check_command(context: CliContext) -> None:
    """Prove that no call and no order was altered, removed or inserted.

    Names each one that was, and exits with 1.
    """
    from toolyard.features.history.operations import check_history
    from toolyard.operation import NoInput

    check = context.run(check_history, NoInput(), CHECK_SECONDS)
    context.terminal.answer(check, lambda: _show_check(context, check))
    if not check.whole:
        raise SystemExit(1)


@history_command.command("export")
@click.option(
    "--to",
    default="-",
    metavar="ADDRESS",
    help="A path, file:///PATH, syslog+udp://HOST, syslog+tcp://HOST, syslog+unix:///PATH, an http "
    "or https address, or - for the terminal.",
)
@click.option("--since", default="", metavar="AGO", help="Since 30m, 1h, 2d ago, or a time.")
@click.option("--calls", "only", flag_value="calls", help="Only calls.")
@click.option("--orders", "only", flag_value="orders", help="Only orders.")
@click.pass_obj
def export_command(context: CliContext, to: str, since: str, only: str | None) -> None:
    """Write calls and orders as lines of JSON, newest first.

    \b
    toolyard history export --since 1d --to history.jsonl
    toolyard history export --to https://logs.example.com/toolyard
    """
    from toolyard.features.history.export.once import export_once

    count = export_once(context, to, since, only or "")
    if to != "-":
        context.terminal.note(f"{count} calls and orders exported")


def _show_check(context: CliContext, check: HistoryCheck) -> None:
    for log in check.logs:
        parts = [f"{log.rows} {log.log} are as they were written"]
        if log.unsealed:
            parts.append(f"{log.unsealed} are older than the seals")
        if log.unknown:
            parts.append(f"{log.unknown} seals were made with a key that is not here")
        context.terminal.say("; ".join(parts))
        for fault in log.faults:
            context.terminal.say(f"{fault.fault}: {fault.text}")
        if log.more:
            context.terminal.say(f"and {log.more} more")


def _show_orders(context: CliContext, page: OrdersPage) -> None:
    if not page.orders:
        context.terminal.note("no orders match")
        return
    rows = [
        [str(row.id), _time(row.at), row.by, row.address, row.verb, row.kind, row.key]
        for row in page.orders
    ]
    context.terminal.table(ORDER_TITLES, rows)
    if page.next is not None:
        context.terminal.note(f"for older ones: --before {page.next}")


def _show_calls(
    context: CliContext, failed: bool, before: int | None, limit: int | None, **names: str
) -> None:
    from toolyard.features.history.operations import HistoryQuery, search_calls

    query = HistoryQuery(
        **names, outcome="failed" if failed else "", before=before or 0, limit=limit or SHOWN
    )
    page = context.run(search_calls, query)
    context.terminal.answer(page, lambda: _show_page(context, page))


def _show_stats(
    context: CliContext, failed: bool, before: int | None, limit: int | None, **names: str
) -> None:
    from toolyard.features.history.operations import StatsQuery, count_calls

    if limit:
        raise click.UsageError("--limit is for single calls, not for --stats")
    query = StatsQuery(**names, outcome="failed" if failed else "", before=before or 0)
    page = context.run(count_calls, query)
    context.terminal.answer(page, lambda: _show_counts(context, page))


def _get(context: CliContext, id_: int) -> WholeCall:
    from toolyard.features.history.operations import CallId, get_call

    return context.run(get_call, CallId(str(id_)))


def _show_counts(context: CliContext, page: StatsPage) -> None:
    context.terminal.table(STATS_TITLES, [_stats_row(statistic) for statistic in page.stats])
    if page.next is not None:
        context.terminal.note(
            f"counted back to call {page.next}; to count older ones: --before {page.next}"
        )


def _show_page(context: CliContext, page: CallPage) -> None:
    if page.calls:
        context.terminal.table(TITLES, [_row(call) for call in page.calls])
    elif not page.stopped:
        context.terminal.note("no calls match")
    if page.stopped:
        count = f"{len(page.calls) or 'no'} calls match"
        context.terminal.note(
            f"searched back to call {page.next}, {count} so far; to search on: --before {page.next}"
        )
    elif page.next is not None:
        context.terminal.note(f"for older ones: --before {page.next}")


def _row(call: Call) -> list[str]:
    error = call.error if len(call.error) <= WIDTH else call.error[: WIDTH - 1] + "…"
    names = [call.agent, call.caller, call.server, call.tool]
    return [str(call.id), _time(call.at), *names, f"{call.ms:.1f}", call.outcome, error]


def _stats_row(statistic: Statistic) -> list[str]:
    return [
        statistic.server,
        statistic.tool or "(all)",
        str(statistic.calls),
        str(statistic.errors),
        f"{statistic.error_rate:.1%}",
        f"{statistic.p50_ms:.1f}",
        f"{statistic.p95_ms:.1f}",
    ]


def _time(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _describe(context: CliContext, whole: WholeCall) -> None:
    import msgspec

    fields = msgspec.to_builtins(whole.call) | {"at": _time(whole.call.at)}
    for key, value in fields.items():
        context.terminal.say(f"{key:10}{value}")
    for key, body in (("arguments", whole.arguments), ("result", whole.result)):
        if body is not None:
            context.terminal.say(f"{key}:")
            context.terminal.say(visible(json.dumps(body, ensure_ascii=False, indent=2)))
    if whole.arguments is None:
        context.terminal.note("arguments and results are kept with TOOLYARD_HISTORY_BODIES=on")
