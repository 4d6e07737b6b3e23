"""Shows people the page of a login: its address, and the page itself where there is a screen."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from toolyard.console.terminal import Terminal


def page_shower(terminal: Terminal, place: str, *, opens: bool) -> Callable[[str], None]:
    """Return what shows the page of a login at `place`; without `opens`, its address alone."""

    def show(page: str) -> None:
        terminal.note(f"open this page to log in to '{place}':\n\n  {page}\n")
        if opens and _has_browser():
            _open(page)

    return show


def _has_browser() -> bool:
    """Tell whether there is a screen; a browser inside the terminal would take it away from us."""
    if sys.platform == "darwin":
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _open(page: str) -> None:
    """Hand an address to the browser, as one argument and without a shell."""
    import webbrowser

    from toolyard.links.addresses import check_link

    # In a thread: some browsers come back when their window is closed, and until then the login
    # could not hear of it. A daemon, since nobody has to close the window to go on.
    page = check_link(page)
    threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
