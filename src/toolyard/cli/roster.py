"""What the commands about agents share: records of the hub, files, and what is told of faults."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from toolyard.console.context import CliContext
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

Said = dict[str, Any]

executor_option = click.option(
    "--executor", default="", metavar="EXECUTOR", help="Where it runs, if not on this machine."
)
agent_option = click.option("--agent", required=True, metavar="AGENT", help="Whose run it is.")


def agent_path(agent: str, *more: str) -> str:
    """Where the API has an agent, or what belongs to it."""
    return "/".join(("/api/v1/agents", *(quote(each, safe="") for each in (agent, *more))))


def policy_path(executor: str) -> str:
    """Where the API has a policy."""
    return f"/api/v1/policies/{quote(executor, safe='')}"


def read_object(file: str) -> Said:
    """The JSON object in a file, which may have comments; `-` is stdin.

    Raises:
        CommandError: It cannot be read, or is none.
    """
    from toolyard.core.errors import ConfigError
    from toolyard.records.jsonc import parse

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
        root = parse(data).root
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"cannot read '{file}': {why}", "", Exit.CONFIG) from error
    except ConfigError as error:
        raise CommandError(f"'{file}' is not JSON: {error}", error.hint, Exit.CONFIG) from error
    plain = root.plain() if root is not None else None
    if not isinstance(plain, dict):
        raise CommandError(f"'{file}' is not a JSON object", "write it as {…}", Exit.CONFIG)
    return plain


@contextmanager
def telling(context: CliContext) -> Iterator[None]:
    """Tell every fault, where the hub refuses for several."""
    try:
        yield
    except CommandError as error:
        if len(error.errors) > 1 and not context.terminal.as_json:
            note_faults(context, "wrong", error.errors)
        raise


def note_faults(context: CliContext, word: str, faults: Iterable[Mapping[str, str]]) -> None:
    """Tell faults or warnings beside the answer."""
    for each in faults:
        where = f"server '{each['server']}': " if each["server"] else ""
        hint = f"; {each['hint']}" if each["hint"] else ""
        context.terminal.note(f"{word}: {where}{each['text']}{hint}")
