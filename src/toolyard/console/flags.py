"""The flags a hub was started with: kept, so that one that takes its place can have them too."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.records.directories import make_private
from toolyard.records.files import read_bounded, write_atomic
from toolyard.settings import SETTINGS

FILE: Final = "flags.json"
"""Its name in the run directory."""


def remember(run_dir: str, flags: Mapping[str, object]) -> None:
    """Keep flags, which hold no secret.

    Raises:
        StoreError: The run directory cannot be used.
    """
    make_private(run_dir)
    write_atomic(Path(run_dir, FILE), json.dumps(flags).encode())


def recall(run_dir: str) -> dict[str, object]:
    """Give the flags of the last start; none if they cannot be read."""
    try:
        flags = json.loads(read_bounded(Path(run_dir, FILE)))
    except (OSError, ValueError, StoreError):
        return {}
    names = {setting.name for setting in SETTINGS if setting.flag}
    pairs = flags.items() if isinstance(flags, dict) else ()
    return {name: value for name, value in pairs if name in names}


def as_words(flags: Mapping[str, object]) -> list[str]:
    """Write flags as another process must be given them."""
    spelling = {setting.name: setting.flag for setting in SETTINGS}
    words: list[str] = []
    for name, value in flags.items():
        for part in value if isinstance(value, list | tuple) else (value,):
            text = os.path.abspath(str(part)) if name == "config_file" else str(part)
            words.append(f"{spelling[name]}={text}")
    return words
