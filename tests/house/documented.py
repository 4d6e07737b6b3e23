"""The commands on the pages for people who use Toolyard, read as the command line reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from tests.house.tree import ROOT, pages
from toolyard.command_line import root
from toolyard.console.context import CliContext

BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:TOOLYARD_\w+=\S+ )?toolyard(?: [^`]*)?)`")
PARTS = re.compile(r"\s+(?:\||&&|;)\s+")
PREFIXES = ("docker exec toolyard ", "uvx --from . ", ".venv/bin/")
ELSEWHERE = ("CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md")
GENERATED = ROOT / "docs" / "reference" / "cli.md"


def readers_pages() -> list[Path]:
    """The pages for people who use Toolyard; decisions tell what was true once."""
    return [
        page
        for page in pages()
        if page.parent.name != "decisions" and page.name not in ELSEWHERE and page != GENERATED
    ]


def typed(text: str) -> Iterator[str]:
    """Every command line of ours that a page gives in full."""
    for block in BLOCK.findall(text):
        for line in block.splitlines():
            yield from (part for part in map(plain, PARTS.split(line)) if is_ours(part))


def mentioned(text: str) -> Iterator[str]:
    """Every command of ours that a page speaks of, perhaps without its arguments."""
    for part in map(plain, INLINE.findall(" ".join(BLOCK.sub("", text).split()))):
        if is_ours(part) and "…" not in part:
            yield part


def plain(line: str) -> str:
    """A command line without what stands before our program."""
    line = re.sub(r"^(?:\w+=\S* )+", "", line.strip())
    for prefix in PREFIXES:
        line = line.removeprefix(prefix)
    return line


def is_ours(line: str) -> bool:
    """Tell whether a command line starts our program."""
    return line.startswith("toolyard ")


def parse(line: str) -> None:
    """Read a command line as `toolyard` would, and carry nothing out.

    Raises:
        click.ClickException: It cannot be read.
    """
    words = shlex.split(line, comments=True)[1:]
    settings = root.context_settings  # or commands would keep other names of --help
    context = click.Context(root, info_name="toolyard", obj=CliContext(), **settings)
    command: click.Command = root
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        _, inner, words = command.resolve_command(context, words)
        assert inner is not None  # or it would have been refused
        command = inner
    if not words and isinstance(command, click.Group):
        return  # shows what is below it
    command.make_context(command.name, words, parent=context)


def refusal(line: str, *, whole: bool = False) -> str:
    """The reason why a command line is refused; empty if it is not."""
    try:
        parse(line)
    except click.exceptions.Exit:
        return ""  # --help and --version end at once
    except (click.MissingParameter, click.BadOptionUsage) as error:
        return str(error) if whole else ""
    except (click.ClickException, ValueError) as error:
        return str(error)
    return ""
