"""Runs the hub inside this process."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from toolyard.app.allocator import share_one_heap
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.holder import find_holder
from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.records.secrets.mask import install as install_mask
from toolyard.settings import Settings, read_settings

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from toolyard.core.opened_hub import OpenedHub


def serve(settings: Settings, ready: Callable[[OpenedHub], None]) -> None:
    """Run the hub until it is told to stop; `ready` gets it once its doors are open.

    Raises:
        AlreadyRunningError: A hub of this user is running.
        CommandError: The port is in use.
        ConfigError: The address cannot be used.
    """
    from toolyard import app

    _prepare(settings)
    try:
        _run(app.run(settings, ready=ready))
    except ConfigError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno != errno.EADDRINUSE:
            raise
        raise _port_taken(settings.host, settings.port) from error


def serve_stdio(flags: Mapping[str, object], view: Mapping[str, str]) -> None:
    """Run a hub for one client on stdin and stdout, until it leaves.

    Raises:
        ConfigError: A setting cannot be used.
    """
    from toolyard import app

    settings = read_settings(flags, os.environ)
    _prepare(settings)
    _run(app.run(settings, stdio=view))


def _port_taken(host: str, port: int) -> CommandError:
    holder = find_holder(port)
    text = f"port {port} on {host} is in use" + (f" by {holder}" if holder else "")
    hint = "choose another with --port, or leave it out to get a free one"
    return CommandError(text, hint, Exit.PORT_IN_USE)


def _prepare(settings: Settings) -> None:
    share_one_heap()
    os.umask(0o077)  # what the hub makes is for its owner alone
    logging.basicConfig(
        level=settings.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    install_mask()
    # It logs every change to every file, ours among them.
    logging.getLogger("watchfiles").setLevel(logging.WARNING)


def _run(job: Coroutine[None, None, None]) -> None:
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(job)
    except BaseExceptionGroup as group:
        # An error of ours is one sentence; anything else is a bug, and keeps its traceback.
        ours = group.subgroup(ToolyardError)
        if ours is None:
            raise
        first: BaseException = ours
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from group


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
