"""Puts the service in place of whatever ran before, and takes it away again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from toolyard.console.context import CliContext
from toolyard.console.supervisor import Supervisor, start_supervised
from toolyard.core.errors import StoreError, ToolyardError
from toolyard.features.hub.life_commands import stop_running
from toolyard.records.directories import make_private
from toolyard.records.files import read_bounded, write_atomic

_MODE = 0o644
"""As systemd and launchd have it; no secret is in it."""


def read_service(file: Path) -> bytes | None:
    """Return the file of the service; None if there is none.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        return read_bounded(file)
    except FileNotFoundError:
        return None


def install(context: CliContext, supervisor: Supervisor, text: str, present: bytes | None) -> str:
    """Write the service and have it start the hub; return its address.

    If the supervisor does not take it, the file is as it was before.

    Raises:
        StoreError: It cannot be written.
        StartError: It does not start.
    """
    make_private(str(context.run_dir.path))  # launchd opens the log in it
    write_atomic(supervisor.file, text.encode(), _MODE)
    try:
        supervisor.enable()
    except ToolyardError:
        _put_back(supervisor.file, present)
        raise
    stop_running(context, comes_back=True)
    supervisor.stop()
    return start_supervised(supervisor, context.run_dir.read).address


def remove(supervisor: Supervisor) -> None:
    """Stop the hub of the service, and delete the service.

    Raises:
        StoreError: The file cannot be deleted.
        StartError: The supervisor refuses.
    """
    supervisor.stop()
    supervisor.disable()
    try:
        supervisor.file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot delete '{supervisor.file}': {error.strerror}") from error
    supervisor.forget()


def _put_back(file: Path, present: bytes | None) -> None:
    if present is not None:
        write_atomic(file, present, _MODE)
        return
    with suppress(OSError):
        file.unlink()
