"""Puts back a copy of what the hub keeps in its database."""

from __future__ import annotations

from toolyard.console.context import CliContext
from toolyard.features.hub.life_commands import (
    STOP_PATIENCE,
    find_service,
    recall_flags,
    stop_running,
)


def list_copies(context: CliContext) -> None:
    """Show the days of which there are copies."""
    from toolyard.records.backups import Backups, day_of

    days = [day_of(copy) for copy in Backups(context.settings.state_dir).list()]
    text = "\n".join(days) or "there is no copy yet"
    context.terminal.answer({"copies": days}, lambda: context.terminal.say(text))


def restore(context: CliContext, day: str | None) -> None:
    """Put back the copy of a day, or the newest if it is empty; if None, what is there counts.

    A hub that is running is restarted.
    """
    from toolyard.console.supervisor import start_supervised
    from toolyard.records.backups import Backups, day_of

    if not context.flags:
        context.flags.update(recall_flags())
    backups = Backups(context.settings.state_dir)
    copy = None if day is None else backups.get(day)
    service = find_service(context)
    was_running = stop_running(context, comes_back=True) is not None
    with context.run_dir.hold(STOP_PATIENCE):
        if copy is None:
            backups.accept()
        else:
            backups.restore(copy)
    if service is not None:
        start_supervised(service, context.run_dir.read)
    elif was_running:
        _start_again(context)
    text = f"put back the copy of {day_of(copy)}" if copy else "what is there now counts"
    answer = {"restored": day_of(copy) if copy else None, "restarted": was_running}
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _start_again(context: CliContext) -> None:
    from toolyard.console.background import start_until
    from toolyard.console.flags import as_words

    start_until(str(context.run_dir.path), as_words(context.flags), context.run_dir.read)
