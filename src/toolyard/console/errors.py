"""The error of a command that cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolyard.console.exits import Exit
from toolyard.core.errors import ToolyardError

if TYPE_CHECKING:
    from toolyard.operation import FaultRow


class CommandError(ToolyardError):
    """A command cannot do what it was asked for; `exit` is what it ends with."""

    def __init__(self, text: str, hint: str = "", exit_: Exit = Exit.FAILED) -> None:
        super().__init__(text, hint)
        self.exit = exit_
        self.errors: list[FaultRow] = []
        """All that is wrong with what was said, where that is several things."""
