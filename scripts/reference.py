"""Writes the reference pages that are made from the code, or says which have drifted.

    python scripts/reference.py            write them
    python scripts/reference.py --check    end with 1 if one is not what it should be

The page of the commands is made as a whole; in the others, what stands between the two marks is.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.promises import promises_part, read_figures, read_table
from toolyard.command_line import root
from toolyard.console.exits import MEANINGS
from toolyard.core.known_clients import KNOWN_CLIENTS
from toolyard.core.problems import ProblemCode
from toolyard.doors.cli.group import LazyGroup
from toolyard.settings import HOME, SETTINGS, Settings

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = DOCS / "reference"
BEGIN = "<!-- made by scripts/reference.py: begin -->"
END = "<!-- made by scripts/reference.py: end -->"
HEAD = """# Commands

Every command answers in JSON with `--json`, before or after its name. What commands end with is
in [exit codes](exit-codes.md); what their flags may hold is in [settings](settings.md). This page
is generated from the commands themselves.
"""

MAN_FILES = """
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


def commands_page(root: LazyGroup = root) -> str:
    """The whole page on the command line."""
    context = click.Context(root, info_name="toolyard", help_option_names=["-h", "--help"])
    parts = [HEAD, _help(root, context)]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        parts += [f"## {name}\n", _help(command, inner)]
        parts += _members(command, inner)
    return "\n".join(parts)


def _members(command: click.Command, context: click.Context) -> list[str]:
    """The commands of a group and those below them, each with a heading of its own."""
    if not isinstance(command, click.Group):
        return []
    parts = []
    for name, member in command.commands.items():
        inner = click.Context(member, info_name=name, parent=context)
        words = inner.command_path.removeprefix("toolyard ")
        parts += [f"### {words}\n", _help(member, inner), *_members(member, inner)]
    return parts


def _help(command: click.Command, context: click.Context) -> str:
    formatter = click.HelpFormatter(width=96)
    command.format_help(context, formatter)
    return f"```\n{formatter.getvalue().rstrip()}\n```\n"


def man_page(root: LazyGroup) -> str:
    """The page as roff, for `man toolyard`."""
    context = click.Context(root, info_name="toolyard", help_option_names=["-h", "--help"])
    lines = [
        '.TH TOOLYARD 1 "" "Toolyard" "User Commands"',
        ".SH NAME",
        "toolyard \\- " + _roff(_in_a_sentence(root.help or "")),
        ".SH SYNOPSIS",
        ".B toolyard",
        "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH COMMANDS",
    ]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        lines += _man_command(command, click.Context(command, info_name=name, parent=context))
    return "\n".join(lines) + MAN_FILES


def _man_command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_roff(context.command_path)}"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".B {_roff(context.command_path)}"
    yield _roff(usage)
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", f".B {_roff(record[0])}", _roff(record[1]))
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            yield from _man_command(member, click.Context(member, info_name=name, parent=context))


def _paragraphs(help_: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", help_.replace("\f", "").strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        yield ".PP"
        if lines and lines[0] == "\b":  # stands as it is written
            yield from (".nf", *map(_roff, lines[1:]), ".fi")
        else:
            yield _roff(" ".join(lines))


def _in_a_sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _roff(words: str) -> str:
    """Words in which roff finds nothing to carry out."""
    plain = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def settings_table() -> str:
    """The table of all settings."""
    rows = ["| Setting | Flag | Variable | Default | Meaning |", "|---|---|---|---|---|"]
    defaults = {each.name: each.default for each in dataclasses.fields(Settings)}
    for each in SETTINGS:
        flag = f"`{each.flag}`" if each.flag else ""
        default = _default(defaults[each.name], each.unit)
        rows.append(f"| {each.name} | {flag} | `{each.variable}` | {default} | {each.text} |")
    return "\n".join([*rows, f"\n`{HOME}` puts every path below one directory."])


def _default(value: object, unit: str) -> str:
    if value is dataclasses.MISSING:
        return "see below"
    if value in (None, (), "", 0):
        return ""  # nothing, or no such limit
    if unit == "bytes" and isinstance(value, int):
        return f"{value // (1024 * 1024)} MiB"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{shown} {unit}" if unit in ("s", "bytes") else f"`{shown}`"


def exits_table() -> str:
    """The table of all exit codes."""
    rows = ["| Code | In JSON | Meaning | Example |", "|---:|---|---|---|"]
    rows += [
        f"| {each.value} | `{each.code}` | {text} | {example} |"
        for each, (text, example) in MEANINGS.items()
    ]
    return "\n".join(rows)


def quirks_table() -> str:
    """The table of all known clients, and where each entry comes from."""
    limits = "Name | Tools | Result | Instructions"
    rows = [
        f"| Client | Calls itself | Lists again | {limits} | Revision | Transports |",
        "|---|---|---|---:|---:|---:|---:|---|---|",
    ]
    for each in KNOWN_CLIENTS:
        calls = ", ".join(f"`{pattern}`" for pattern in each.matches)
        relists = {True: "yes", False: "no", None: ""}[each.relists]
        cells = [
            f"{value:,}" if value else ""
            for value in (
                each.longest_name,
                each.most_tools,
                each.largest_result,
                each.longest_instructions,
            )
        ]
        cells = [f"`{each.name}`", calls, relists, *cells, each.era, ", ".join(each.transports)]
        rows.append(f"| {' | '.join(cells)} |")
    rows += ["", "| Client | Entry | Known | From |", "|---|---|---|---|"]
    rows += [
        f"| `{each.name}` | {fact.field} | {fact.proof} | {fact.text} |"
        for each in KNOWN_CLIENTS
        for fact in each.facts
    ]
    return "\n".join(rows)


def problems_table() -> str:
    """The table of all problems."""
    rows = ["| Code | Meaning | What to do |", "|---|---|---|"]
    rows += [f"| `{code}` | {code.meaning} | {code.remedy} |" for code in sorted(ProblemCode)]
    return "\n".join(rows)


def with_part(page: str, part: str) -> str:
    """A page with what is between its marks replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("a page has lost its marks; put them back where the table belongs")
    return f"{before}{BEGIN}\n\n{part}\n\n{END}{after}"


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    settings, exits = PAGES / "settings.md", PAGES / "exit-codes.md"
    quirks, problems = PAGES / "quirks.md", PAGES / "problems.md"
    promises = DOCS / "explanation" / "promises.md"
    promised = promises_part(read_table(), read_figures())
    return {
        PAGES / "cli.md": commands_page(),
        PAGES / "toolyard.1": man_page(root),
        settings: with_part(settings.read_text("utf-8"), settings_table()),
        exits: with_part(exits.read_text("utf-8"), exits_table()),
        quirks: with_part(quirks.read_text("utf-8"), quirks_table()),
        problems: with_part(problems.read_text("utf-8"), problems_table()),
        promises: with_part(promises.read_text("utf-8"), promised),
    }


def main() -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    drifted = [
        (page, text)
        for page, text in pages().items()
        if not page.exists() or page.read_text("utf-8") != text
    ]
    for page, text in drifted:
        print(f"{page.name} {'has drifted; run: scripts/reference.py' if check else 'written'}")
        if not check:
            page.write_text(text, "utf-8")
    return 1 if check and drifted else 0


if __name__ == "__main__":
    sys.exit(main())
