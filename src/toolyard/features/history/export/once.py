"""The whole history, or its newest part, exported by a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from toolyard.console.context import CliContext
from toolyard.console.errors import CommandError
from toolyard.features.history.export.lines import call_line, order_line
from toolyard.features.history.export.sinks import LogSink, open_sink
from toolyard.features.history.operations import (
    HistoryQuery,
    OrdersQuery,
    search_calls,
    search_orders,
)

PAGE: Final = 1000


class StdoutSink:
    """Lines on standard output."""

    def send(self, lines: Sequence[bytes]) -> None:
        """Print lines."""
        sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines))
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Nothing is held."""


def export_once(context: CliContext, to: str, since: str, only: str) -> int:
    """Hand over calls and orders, or `only` one of them; return how many.

    Raises:
        CommandError: The place does not take them.
    """
    sink, count = _open(to), 0
    rest = _lines(context, since, only)
    try:
        while lines := list(islice(rest, PAGE)):
            sink.send(lines)
            count += len(lines)
    except OSError as error:
        text = f"{to} does not take calls and orders ({error}); {count} are there"
        raise CommandError(text, "see whether it runs, then export again") from error
    finally:
        sink.close()
    return count


def _open(to: str) -> LogSink:
    if to == "-":
        return StdoutSink()
    address = to if "://" in to else f"file://{os.path.abspath(to)}"
    return open_sink(address)


def _lines(context: CliContext, since: str, only: str) -> Iterator[bytes]:
    if only != "orders":
        before: int | None = 0
        while before is not None:
            page = context.run(search_calls, HistoryQuery(since=since, before=before, limit=PAGE))
            yield from map(call_line, page.calls)
            before = page.next
    if only != "calls":
        before = 0
        while before is not None:
            orders = context.run(search_orders, OrdersQuery(since=since, before=before, limit=PAGE))
            yield from map(order_line, orders.orders)
            before = orders.next
