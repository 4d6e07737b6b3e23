"""`completions`."""

from __future__ import annotations

import click

from toolyard.console.context import CliContext, json_option


@click.command("completions")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def completions_command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in a shell.

    For bash, add to ~/.bashrc: eval "$(toolyard completions bash)"
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # the three are click's own
    completer = found(ctx.find_root().command, {}, "toolyard", "_TOOLYARD_COMPLETE")
    # Not `source()`, which starts a bash only to see its version.
    script = completer.source_template % completer.source_vars()
    context: CliContext = ctx.obj
    context.terminal.answer(
        {"shell": shell, "script": script}, lambda: context.terminal.say(script)
    )
