"""JSON files that a user names on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.jsontypes import JsonObject


def read_object(file: str) -> JsonObject:
    """Return the JSON object in a file, which may have comments; `-` is stdin.

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
