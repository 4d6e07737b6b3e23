"""A hub whose servers had time to say what they offer."""

from __future__ import annotations

import threading
import time

from toolyard.console.context import CliContext
from toolyard.console.control import Control
from toolyard.core.rows import ServerRow

SETTLE = 10.0
"""Seconds that servers which are just starting get to say what they offer."""
PAUSE = 0.05


def find_settled(context: CliContext) -> Control:
    """Give the control door of the hub, once its servers had time; start one if there is none."""
    hub = context.start_hub()
    # Later than that, a server that is still starting is one that hangs.
    if hub.status().uptime_s < SETTLE:
        _settle(hub)
    return hub


def _settle(hub: Control) -> None:
    """Wait until every server of a young hub has said what it offers, or cannot."""
    pause, deadline = threading.Event(), time.monotonic() + SETTLE
    while time.monotonic() < deadline:
        servers = [server for server in hub.status().servers if server.enabled]
        if servers and all(_has_settled(server) for server in servers):
            return
        pause.wait(PAUSE)


def _has_settled(server: ServerRow) -> bool:
    """Return whether its offers are known, from itself or from the last time."""
    return server.status not in ("known", "starting") or bool(server.tools)
