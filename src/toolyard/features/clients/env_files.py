"""Files of variables that an entry names beside its own: `envFile` of VS Code."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from toolyard.core.endpoint import Command, Pairs
from toolyard.core.errors import StoreError
from toolyard.features.clients.places import Place
from toolyard.features.clients.shapes import ClientEntry, literal
from toolyard.records.files import read_bounded

KEY = "envFile"
LARGEST = 256 * 1024


def with_env_file(entry: ClientEntry, place: Place) -> ClientEntry:
    """The entry with the variables of its file; as it is if that cannot be read."""
    if not entry.env_file or not isinstance(entry.endpoint, Command):
        return entry
    path = _path(entry.env_file, place)
    if path is None:
        return entry
    try:
        text = read_bounded(path, LARGEST).decode("utf-8-sig")
    except (OSError, StoreError, UnicodeDecodeError):
        return entry
    env = dict(read_env(text)) | dict(entry.endpoint.env)
    endpoint = replace(entry.endpoint, env=tuple(env.items()))
    untaken = tuple(part for part in entry.untaken if part.key != KEY)
    return replace(entry, endpoint=endpoint, untaken=untaken, env_file="")


def read_env(text: str) -> Pairs:
    """The variables of a text with a `NAME=value` on each line; quotes around a value go."""
    pairs = []
    for line in text.splitlines():
        name, mark, value = line.strip().removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if mark and name and not name.startswith("#"):
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            pairs.append((name, literal(value[1:-1] if is_quoted else value)))
    return tuple(pairs)


def _path(text: str, place: Place) -> Path | None:
    """The file that is meant; None if it is not known, or not the project's own."""
    text = text.replace("${workspaceFolder}", place.project or "${workspaceFolder}")
    text = text.replace("${userHome}", "~")
    if "${" in text:
        return None
    path = Path(os.path.normpath(os.path.join(place.project, os.path.expanduser(text))))
    # Others may have written a project's file; it must not name what is none of its business.
    is_outside = place.is_shared and not path.resolve().is_relative_to(place.project)
    return path if path.is_absolute() and not is_outside else None
