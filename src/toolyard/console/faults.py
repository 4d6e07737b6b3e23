"""Everything that is wrong with what a user gave, told line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolyard.console.context import CliContext
from toolyard.console.errors import CommandError

if TYPE_CHECKING:
    from toolyard.operation import FaultRow


@contextmanager
def noting_faults(context: CliContext) -> Iterator[None]:
    """Note every fault, where the hub refuses for several."""
    try:
        yield
    except CommandError as error:
        if len(error.errors) > 1 and not context.terminal.as_json:
            note_faults(context, "wrong", error.errors)
        raise


def note_faults(context: CliContext, word: str, faults: Iterable[FaultRow]) -> None:
    """Note faults or warnings beside the answer."""
    for fault in faults:
        where = f"server '{fault.server}': " if fault.server else ""
        hint = f"; {fault.hint}" if fault.hint else ""
        context.terminal.note(f"{word}: {where}{fault.text}{hint}")
