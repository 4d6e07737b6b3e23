"""`limit`: how much callers may use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from toolyard.console.context import CliContext, complete_servers, json_option

if TYPE_CHECKING:
    from toolyard.features.limits.operations import LimitList, LimitRow

TITLES: Final = ("limit", "about", "allows")
USE_TITLES: Final = ("limit", "subject", "used", "allowed", "resets in")
UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
SIZES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


class SpanType(click.ParamType[float]):
    """A time, as `90`, `90s`, `15m`, `1h` or `1d`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        if isinstance(value, int | float):
            return float(value)
        match = _SPAN.fullmatch(value)
        if match is None:
            self.fail(f"{value!r} is no time; write it as 90s, 15m, 1h or 1d", param, ctx)
        return float(match[1]) * UNITS[match[2]]


class SizeType(click.ParamType[int]):
    """A number of bytes, as `5000`, `64kB`, `10MB` or `1GB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value)
        if match is None:
            self.fail(f"{value!r} is no size; write it as 5000, 64kB, 10MB or 1GB", param, ctx)
        return int(match[1]) * SIZES[match[2].lower()]


@click.group("limit")
@json_option
def limit_command() -> None:
    """Limit calls, bytes and running servers.

    A limit counts everything that matches it together. With '*' for a member, token, agent, server
    or tool, each one has a count of its own.
    """


@limit_command.command("set")
@click.argument("name")
@click.option("--member", default="", metavar="MEMBER", help="A member, or '*' for each.")
@click.option("--token", default="", metavar="TOKEN", help="An agent's token, or '*' for each.")
@click.option("--agent", default="", metavar="AGENT", help="An agent, or '*' for each.")
@click.option(
    "--server",
    default="",
    metavar="SERVER",
    help="A server, or '*' for each.",
    shell_complete=complete_servers,
)
@click.option("--tool", default="", metavar="TOOL", help="A tool of it, or '*' for each.")
@click.option("--calls", default=0, help="Calls in the time that --per names.")
@click.option("--bytes", "size", default=0, type=SizeType(), help="Bytes in that time, e.g. 10MB.")
@click.option("--per", default=60.0, type=SpanType(), help="The time, e.g. 30s, 15m, 1h, 1d.")
@click.option("--concurrent", default=0, help="Calls under way at a time.")
@click.option("--instances", default=0, help="Servers that run for the caller's sessions.")
@json_option
@click.pass_obj
def set_command(context: CliContext, /, name: str, size: int, per: float, **said: Any) -> None:
    """Set a limit, replacing any of that name.

    \b
    toolyard limit set fair --member '*' --calls 600 --per 1h
    toolyard limit set ci --token ci --server github --calls 100 --concurrent 4
    toolyard limit set big --tool '*' --bytes 50MB --per 1d
    """
    from toolyard.features.limits.operations import PutLimit, set_limit

    answer = context.run(set_limit, PutLimit(name=name, bytes=size, seconds=per, **said))
    context.terminal.answer(answer, lambda: context.terminal.say(f"set the limit '{name}'"))


@limit_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove a limit."""
    from toolyard.features.limits.operations import LimitName, remove_limit

    answer = context.run(remove_limit, LimitName(name))
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed the limit '{name}'"))


@limit_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the limits, and how much of each is used now."""
    from toolyard.features.limits.operations import list_limits
    from toolyard.operation import NoInput

    limits = context.run(list_limits, NoInput())
    context.terminal.answer(limits, lambda: _show(context, limits))


def _show(context: CliContext, limits: LimitList) -> None:
    if not limits.limits:
        context.terminal.say("no limits yet; set one with: toolyard limit set NAME --calls 100")
        return
    rows = [[row.name, _about(row), _allows(row)] for row in limits.limits]
    context.terminal.table(TITLES, rows)
    uses = [
        [
            use.limit,
            use.subject or "everybody",
            f"{use.used}",
            f"{use.allowed} {use.figure.value}",
            f"{use.resets_in:g} s" if use.resets_in else "",
        ]
        for use in limits.uses
    ]
    if uses:
        context.terminal.say("")
        context.terminal.table(USE_TITLES, uses)


def _about(row: LimitRow) -> str:
    parts = {
        "member": row.member_label or row.member,
        "token": row.token,
        "agent": row.agent,
        "server": row.server,
        "tool": row.tool,
    }
    said = [
        f"each {kind}" if name == "*" else f"{kind} {name}" for kind, name in parts.items() if name
    ]
    return ", ".join(said) or "all calls"


def _allows(row: LimitRow) -> str:
    if row.fault:
        return f"nothing: {row.fault}"
    figures = {
        f"calls in {row.seconds:g} s": row.calls,
        f"bytes in {row.seconds:g} s": row.bytes,
        "calls at a time": row.concurrent,
        "running servers": row.instances,
    }
    return ", ".join(f"{figure} {name}" for name, figure in figures.items() if figure)
