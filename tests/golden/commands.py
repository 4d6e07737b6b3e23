"""The help of every command, as it is printed."""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.testing import CliRunner

from toolyard.command_line import root

COLUMNS = 90


def help_pages() -> str:
    """The help of every command, each under the words that ask for it."""
    pages = (
        f"$ toolyard {' '.join([*words, '--help'])}\n{_help(words)}"
        for words in sorted(_walk((), root))
    )
    return "\n".join(pages)


def _walk(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    """The words of a command and of all commands below it."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None, name
            yield from _walk((*words, name), member)


def _help(words: tuple[str, ...]) -> str:
    result = CliRunner().invoke(
        root, [*words, "--help"], prog_name="toolyard", terminal_width=COLUMNS
    )
    assert result.exit_code == 0, result.output
    return result.output
