"""`help`: the same as `--help`, for whoever tries that first."""

from __future__ import annotations

import click

from toolyard.console.context import CliContext, json_option


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@json_option
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command."""
    assert ctx.parent is not None
    inner, command = ctx.parent, ctx.parent.command
    for word in words:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{inner.command_path} has no commands below it", inner)
        _, member, _ = command.resolve_command(inner, [word])
        assert member is not None  # or it would have been refused
        inner, command = click.Context(member, info_name=word, parent=inner), member
    context: CliContext = ctx.obj
    text = command.get_help(inner)
    context.terminal.answer({"help": text}, lambda: context.terminal.say(text))
