"""The command line of Toolyard: its door, with all features."""

from __future__ import annotations

from toolyard.doors.cli import entry
from toolyard.doors.cli.group import LazyGroup
from toolyard.features import FEATURES
from toolyard.launching import serve, serve_remote, serve_stdio

root = entry.make_root(FEATURES)


def run(words: list[str], root: LazyGroup = root) -> int:
    """Run one command line; return the exit code."""
    return entry.run(words, root, serve, serve_stdio, serve_remote)
