"""Starts a hub in this process; what a hub consists of is loaded only then."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolyard.settings import Settings


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Run the hub until it is told to stop."""
    from toolyard.app import serving

    serving.serve(settings, ready)


def serve_stdio(flags: Mapping[str, object], view: Mapping[str, str]) -> None:
    """Run a hub for one client on stdin and stdout, until it leaves."""
    from toolyard.app import serving

    serving.serve_stdio(flags, view)
