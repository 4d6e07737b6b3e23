"""The records of marks: by the full name of a server, the tier of each tool that has one."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.marks import EVERY
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.tiers import Tier
from toolyard.records.protocol import RecordKind

FILE: Final = "marks.json"
MOST: Final = 1000
"""Marks of one server."""
LONGEST: Final = 255
ToolWord = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
ServerMarks = dict[str, Tier]
"""The tiers of a server's tools, by name."""


def check_marks(plain: Any) -> ServerMarks:
    """Read the marks of a server.

    Raises:
        ConfigError: They cannot be used.
    """
    try:
        marks = msgspec.convert(plain, dict[ToolWord, Tier])
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), "a tool is marked read, write or destroy") from error
    if EVERY in marks or len(marks) > MOST:
        raise ConfigError(f"marks are for single tools, and for {MOST} of a server at most")
    return marks


class MarksCodec:
    """Reads and writes the marks of a server; its key is the server's full name."""

    def read(self, key: str, plain: Any) -> ServerMarks:
        """Make marks of plain data; raises like `check_marks`."""
        return check_marks(plain)

    def write(self, value: ServerMarks) -> object:
        """Make plain data of marks."""
        return {tool: tier.value for tool, tier in sorted(value.items())}

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that marks cannot be read."""
        about = f"'{where}' cannot be used" if key is None else f"{key!r} in '{where}' is damaged"
        text = f"{about} ({error}); whoever is limited to a tier sees none of these tools"
        return Problem(ProblemCode.MARKS_FILE, text, error.hint or "correct it", where)


class MarkRecords(RecordKind[ServerMarks]):
    """The marks of all servers."""
