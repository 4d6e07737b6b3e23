"""The cookie by which the browser that began a login at a server is known again when it is back.

It lets nobody in: it is one of two secrets that have to come together, and the other one is in the
`state` of the login. So it is no harm that browsers send it to other ports of the host, too.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

SECONDS: Final = 1800
"""The time for all steps: the link, the login at the issuer, and the one at the server."""
_NAME: Final = "toolyard-tie"


class BrowserTies:
    """Reads and writes that cookie."""

    def __init__(self, home: str) -> None:
        """Write it for the hub at `home`: over https, no other host can put one in its place."""
        self._is_https = home.startswith("https:")
        self._name = f"__Host-{_NAME}" if self._is_https else _NAME

    def read(self, request: Request) -> str:
        """Return the tie of a browser; empty if it has none."""
        return request.cookies.get(self._name, "")

    def write(self, tie: str) -> str:
        """Return the header that has a browser keep a tie."""
        words = f"{self._name}={tie}; Path=/; Max-Age={SECONDS}; HttpOnly; SameSite=Lax"
        return f"{words}; Secure" if self._is_https else words
