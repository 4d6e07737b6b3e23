"""An application that is loaded when somebody first comes to it.

Most hubs serve clients for hours before anybody opens the page or asks for the status, and many
never do anything else. What the control API and the page need is a quarter of all code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolyard.core.errors import ToolyardError
from toolyard.installation import GONE_HINT, why_not_loadable

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class UnloadableError(ToolyardError):
    """The code of the application cannot be loaded any more."""


class LateApp:
    """Stands in for an application until there is one."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        """Serve what `make` loads and builds; it runs in a thread, so that calls flow meanwhile."""
        self._make = make
        self._app: ASGIApp | None = None
        self._loading = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request.

        Raises:
            UnloadableError: Our files are gone, or are those of another Toolyard now.
        """
        app = self._app or await self._load()
        await app(scope, receive, send)

    async def _load(self) -> ASGIApp:
        async with self._loading:
            if self._app is None:
                if why := why_not_loadable():
                    raise UnloadableError(why, GONE_HINT)
                self._app = await asyncio.to_thread(self._make)
        return self._app
