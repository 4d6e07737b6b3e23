"""The manual page, made from the commands themselves as the reference is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from toolyard.cli.group import LazyGroup

FILES = """
.SH FILES
.TP
.I ~/.config/toolyard/servers.json
The servers you wrote down.
.TP
.I ~/.local/state/toolyard
What the hub keeps: approvals, agents, tokens, the history of calls and logs.
.SH SEE ALSO
.B toolyard help
\\fICOMMAND\\fR
"""


def man_page(root: LazyGroup) -> str:
    """The page as roff, for `man toolyard`."""
    context = click.Context(root, info_name="toolyard", help_option_names=["-h", "--help"])
    lines = [
        '.TH TOOLYARD 1 "" "Toolyard" "User Commands"',
        ".SH NAME",
        "toolyard \\- " + _text(_in_a_sentence(root.help or "")),
        ".SH SYNOPSIS",
        ".B toolyard",
        "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH COMMANDS",
    ]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        lines += _command(command, click.Context(command, info_name=name, parent=context))
    return "\n".join(lines) + FILES


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_text(context.command_path)}"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".B {_text(context.command_path)}"
    yield _text(usage)
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]))
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            yield from _command(member, click.Context(member, info_name=name, parent=context))


def _paragraphs(help_: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", help_.replace("\f", "").strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        yield ".PP"
        if lines and lines[0] == "\b":  # stands as it is written
            yield from (".nf", *map(_text, lines[1:]), ".fi")
        else:
            yield _text(" ".join(lines))


def _in_a_sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _text(words: str) -> str:
    """Words in which roff finds nothing to carry out."""
    plain = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
