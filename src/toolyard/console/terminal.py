"""The output of a command: for people, or as JSON for programs; colour only where it helps."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

import click

from toolyard.console.exits import Exit
from toolyard.console.spelling import Spelling

COLOURS = {
    "ready": "green",
    "ok": "green",
    "starting": "yellow",
    "installing": "yellow",
    "known": "cyan",
    "failing": "red",
    "disabled": "bright_black",
}
"""The colour of each word of a status."""
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)"
"""All that moves the cursor, changes the terminal or cannot be written; not tabs and line ends."""
_UNSEEN = (
    r"[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
"""Characters without a width, and those that turn the direction of what follows."""
_COLOUR = r"\x1b\[\d{1,3}m"
_IN_PIPES = re.compile(_CONTROL)
_ON_TERMINALS = re.compile(f"{_CONTROL}|{_UNSEEN}")
_BESIDE_COLOURS = re.compile(f"{_COLOUR}|{_CONTROL}|{_UNSEEN}")


class Terminal:
    """Writes answers to stdout and everything else to stderr."""

    def __init__(self, *, as_json: bool = False, spelling: Spelling | None = None) -> None:
        self.as_json = as_json
        self.spelling = spelling or Spelling()

    def answer(self, value: object, show: Callable[[], None]) -> None:
        """Write the answer of a command: `value` as JSON, or shown to a person.

        The answer of an operation is given as it came, alone or with other facts around it.
        """
        if self.as_json:
            print(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))
        else:
            show()

    def say(self, text: str = "") -> None:
        """Write a line of the answer."""
        print(_harmless(text, sys.stdout))

    def note(self, text: str) -> None:
        """Write a line beside the answer, to stderr."""
        print(_harmless(self.spelling.fit(text), sys.stderr), file=sys.stderr, flush=True)

    def progress(self, text: str) -> None:
        """Show on a terminal what goes on, in place of what was shown before; "" removes it."""
        if not self.as_json and sys.stderr.isatty():
            most = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[2K{clean(text)[:most]}")
            sys.stderr.flush()

    def fail(self, text: str, hint: str, exit_: Exit) -> None:
        """Write in one sentence what went wrong, and what to do next."""
        if self.as_json:
            print(json.dumps({"error": {"code": exit_.code, "text": text, "hint": hint}}))
            return
        text, hint = visible(text, sys.stderr), visible(hint, sys.stderr)
        self.note(f"{self.paint('toolyard:', 'red', sys.stderr)} {text}")
        if hint:
            self.note(f"{self.paint('hint:', 'cyan', sys.stderr)} {hint}")

    def problem(self, text: str, hint: str = "", subject: str = "") -> None:
        """Show a problem, its subject and what to do about it."""
        self.say()
        self.say(f"{self.paint('problem:', 'red')} {clean(text)}")
        if subject:
            self.say(f"  where: {clean(subject)}")
        if hint:
            self.say(f"  hint:  {self.spelling.fit(clean(hint))}")

    def paint(self, text: str, colour: str, stream: TextIO | None = None) -> str:
        """Return the text in a colour, if it goes to a terminal that wants colours."""
        return click.style(text, fg=colour) if is_colourful(stream or sys.stdout) else text

    def word(self, text: str) -> str:
        """Return a word such as `ready` in its colour."""
        return self.paint(text, COLOURS[text]) if text in COLOURS else text

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Show rows in columns: drawn on a terminal, plain and stable elsewhere."""
        cleaned = [[clean(cell) for cell in row] for row in rows]
        if sys.stdout.isatty():
            _draw(titles, cleaned)
            return
        widths = [max(map(len, column)) for column in zip(titles, *cleaned, strict=True)]
        for row in [[title.upper() for title in titles], *cleaned]:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())


def _plain(value: object) -> object:
    # Slow to import, and there already wherever an operation has answered.
    import msgspec

    return json.loads(msgspec.json.encode(value))


def is_colourful(stream: TextIO) -> bool:
    """Return whether a stream wants colours: a terminal, and the user does not say no."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


def clean(text: str) -> str:
    """Return the text on one line and without control characters: a server chose it, not we."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def visible(text: str, stream: TextIO | None = None) -> str:
    """Return a text that a server chose, with whatever controls a terminal escaped.

    On a terminal, invisible characters are escaped too; a pipe gets them as they are.
    """
    pattern = _ON_TERMINALS if (stream or sys.stdout).isatty() else _IN_PIPES
    return pattern.sub(lambda match: _escaped(match[0]), text)


def _harmless(text: str, stream: TextIO) -> str:
    """Keep our own colours, and escape the rest: a server may have chosen it."""
    if not is_colourful(stream):
        return visible(text, stream)
    return _BESIDE_COLOURS.sub(
        lambda match: match[0] if len(match[0]) > 1 else _escaped(match[0]), text
    )


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _draw(titles: Sequence[str], rows: list[list[str]]) -> None:
    # Slow to import, and of use on a terminal only.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*titles, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        # A long word goes on in the next line: the end of a package's name is what tells it apart.
        cells = (Text(cell, style=_style(cell), overflow="fold") for cell in row)
        table.add_row(*cells)
    # Not `no_color`, which would leave the titles bold.
    Console(color_system="auto" if is_colourful(sys.stdout) else None).print(table)


def _style(cell: str) -> str:
    """The colour of a cell that begins with the word of a status: `installing, 34 s`."""
    return COLOURS.get(cell.partition(",")[0], "")
