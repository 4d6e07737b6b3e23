"""`note`: pins notes and shows them."""

from __future__ import annotations

import click
import msgspec

from toolyard.console.context import CliContext, json_option


@click.command("note")
@click.argument("text", required=False)
@json_option
@click.pass_obj
def note_command(context: CliContext, text: str | None) -> None:
    """Pin a note to the wall.

    Without TEXT, show what hangs there.
    """
    from tests.house.notes.operations import Note, list_notes, pin_note
    from toolyard.operation import NoInput

    if text is not None:
        context.run(pin_note, Note(text))
    answer = context.run(list_notes, NoInput())
    shown = "\n".join(answer.notes)
    context.terminal.answer(msgspec.to_builtins(answer), lambda: context.terminal.say(shown))
