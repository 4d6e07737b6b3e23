"""The commands by name; the module of one is imported when it is asked for, not before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import click

from toolyard.feature import Feature, Heading, load

UNLISTED: Final = {"help": "helping:help_command", "completions": "shell:completions_command"}
"""Commands that people do not look for in a list, and where they are."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and sentences without importing any of them."""

    def __init__(self, *args: Any, features: Iterable[Feature] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        commands = [(command, feature) for feature in features for command in feature.commands]
        self._features = {command.name: feature for command, feature in commands}
        self._headings = {
            heading: [
                (command.name, command.summary)
                for command, _ in commands
                if command.heading is heading
            ]
            for heading in Heading
        }
        self.sentences = {name: text for rows in self._headings.values() for name, text in rows}
        """The first sentence of every command's help, in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which people need them."""
        return list(self.sentences)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name in self._features:
            return self._features[cmd_name].load_command(cmd_name)
        if cmd_name not in UNLISTED:
            return None
        command: click.Command = load("toolyard.doors.cli", UNLISTED[cmd_name])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below their headings, from the table alone."""
        for heading, rows in self._headings.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was perhaps meant."""
        name = args[0]
        if name in self.sentences or name in UNLISTED or name.startswith("-"):
            return super().resolve_command(ctx, args)
        if ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        raise click.exceptions.NoSuchCommand(name, possibilities=self.sentences, ctx=ctx)
