"""The servers of a setup while they start: each is told once, when it is ready or says why not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolyard.console.terminal import Terminal, clean
from toolyard.core.counting import counted

if TYPE_CHECKING:
    from toolyard.console.interrupts import Interrupts
    from toolyard.core.rows import ServerRow

PAUSE = 0.2
SOURCE = "configured"
_CLEAR = "\r\x1b[K"


def follow_starts(
    terminal: Terminal,
    interrupts: Interrupts,
    names: Sequence[str],
    look: Callable[[], Sequence[ServerRow]],
) -> list[ServerRow]:
    """Wait until every server is ready or says why not; return them as they then are.

    Raises:
        KeyboardInterrupt: Somebody does not want to wait, or all of this.
    """
    settled: dict[str, ServerRow] = {}
    waiting = list(names)
    width = max(map(len, names), default=0)
    while waiting:
        rows = {row.name: row for row in look() if row.source == SOURCE}
        for name in [name for name in waiting if name in rows and has_settled(rows[name])]:
            settled[name] = rows[name]
            waiting.remove(name)
            _clear(terminal)
            _say(terminal, f"  {name.ljust(width)}  {describe_start(terminal, rows[name])}")
        if waiting:
            _show_waiting(terminal, [_name_with_state(name, rows.get(name)) for name in waiting])
            interrupts.pause(PAUSE)
    _clear(terminal)
    return [settled[name] for name in names]


def has_settled(row: ServerRow) -> bool:
    """Return whether a server is ready, or can say why it is not."""
    if not row.enabled or row.status in ("ready", "idle", "failing"):
        return True
    return row.status == "known" and (row.problem is not None or row.tools > 0)


def is_good(row: ServerRow) -> bool:
    """Return whether a server can be used; one of its lists may have failed."""
    is_well = row.problem is None and row.status != "failing"
    return not row.enabled or is_well or row.status in ("ready", "idle")


def describe_start(terminal: Terminal, row: ServerRow) -> str:
    """Return how a server came out, on one line."""
    if not row.enabled:
        return terminal.word("disabled")
    trouble = f": {clean(row.problem.text)}" if row.problem else ""
    trouble += f" (hint: {clean(row.problem.hint)})" if row.problem and row.problem.hint else ""
    if not is_good(row):
        return terminal.paint("not ready", "red") + trouble
    return f"{terminal.word('ready')}, {counted(row.tools, 'tool')}{trouble}"


def _say(terminal: Terminal, text: str) -> None:
    if not terminal.as_json:
        terminal.say(text)
        sys.stdout.flush()


def _name_with_state(name: str, row: ServerRow | None) -> str:
    """A server that is waited for; one that installs its package says so."""
    return f"{name} (installing)" if row and row.status == "installing" else name


def _has_transient(terminal: Terminal) -> bool:
    """Return whether there can be a line that is written over."""
    is_plain = terminal.as_json or os.environ.get("TERM") == "dumb"
    return sys.stderr.isatty() and not is_plain


def _show_waiting(terminal: Terminal, waiting: Sequence[str]) -> None:
    """Name those that are waited for, on a line that the next one takes the place of."""
    if _has_transient(terminal):
        names = ", ".join(waiting[:4]) + (", ..." if len(waiting) > 4 else "")
        sys.stderr.write(f"{_CLEAR}  starting {len(waiting)}: {names}"[:78])
        sys.stderr.flush()


def _clear(terminal: Terminal) -> None:
    if _has_transient(terminal):
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()
