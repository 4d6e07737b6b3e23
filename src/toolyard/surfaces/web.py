"""The page people open: what is in the yard, now. Plain HTML, no script.

The printed link carries a code that works once; it is swapped for a cookie that
scripts cannot read and other sites cannot make the browser send.
"""

from __future__ import annotations

import hmac
import secrets
import time
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from toolyard.hub import Hub

COOKIE: Final = "toolyard"
COOKIE_SECONDS: Final = 12 * 3600
CODE_SECONDS: Final = 3600
CODES_KEPT: Final = 16
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem }
tr { border-bottom: 1px solid #8884 }
.ready { color: #188038 } .failing { color: #c5221f } .hint { opacity: .75 }
td, p { overflow-wrap: anywhere }
"""


class Passes:
    """Codes for the link, and the cookies they were swapped for."""

    def __init__(self) -> None:
        self._codes: dict[str, float] = {}
        self._cookies: dict[str, float] = {}

    def new_code(self) -> str:
        """A fresh code; it works once, for an hour."""
        code = secrets.token_urlsafe(18)
        self._codes[code] = time.monotonic() + CODE_SECONDS
        while len(self._codes) > CODES_KEPT:
            del self._codes[next(iter(self._codes))]
        return code

    def swap(self, code: str) -> str | None:
        """A cookie for a code that is still good; the code is used up."""
        ends = self._codes.pop(code, 0.0)
        if ends < time.monotonic():
            return None
        cookie = secrets.token_urlsafe(32)
        self._cookies[cookie] = time.monotonic() + COOKIE_SECONDS
        return cookie

    def admits(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a request carries a cookie of ours."""
        for name, value in headers:
            if name == b"cookie":
                try:
                    found = SimpleCookie(value.decode("latin-1")).get(COOKIE)
                except CookieError:
                    return False
                return found is not None and self._knows(found.value)
        return False

    def _knows(self, cookie: str) -> bool:
        now = time.monotonic()
        self._cookies = {known: ends for known, ends in self._cookies.items() if ends > now}
        return any(hmac.compare_digest(cookie.encode(), known.encode()) for known in self._cookies)


class Pages:
    """The page, its style, and the way in."""

    def __init__(self, hub: Hub, passes: Passes) -> None:
        self._hub = hub
        self._passes = passes

    def routes(self) -> list[Route]:
        """The routes of this door."""
        return [
            Route("/", self._yard),
            Route("/open", self._open),
            Route("/style.css", _style),
        ]

    async def _open(self, request: Request) -> Response:
        cookie = self._passes.swap(request.query_params.get("code", ""))
        if cookie is None:
            return HTMLResponse(_page(f"<p>{_USED}</p>"), 403, HEADERS)
        response = RedirectResponse("/", 303, HEADERS)
        response.set_cookie(
            COOKIE, cookie, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", path="/"
        )
        return response

    async def _yard(self, request: Request) -> Response:
        return HTMLResponse(_page(_yard(self._hub.status())), 200, HEADERS)


_USED: Final = (
    "This link was used already, or is too old. <code>toolyard status</code> prints a fresh one."
)


async def _style(request: Request) -> Response:
    return Response(STYLE, media_type="text/css", headers=HEADERS)


def _page(body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Toolyard</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/style.css"></head>'
        f"<body><h1>Toolyard</h1>{body}</body></html>"
    )


def _yard(status: dict[str, Any]) -> str:
    problems = "".join(_problem(problem) for problem in status["problems"])
    rows = "".join(_row(server) for server in status["servers"])
    head = "<tr><th>Server</th><th>State</th><th>Tools</th><th>From</th><th>Speaks</th></tr>"
    address = escape(status["url"] + "/mcp")
    foot = f"<p>One address for every client: <code>{address}</code></p>"
    return f"{problems}<table>{head}{rows}</table>{foot}"


def _problem(problem: dict[str, str]) -> str:
    text, hint = escape(problem["text"]), escape(problem["hint"])
    return f'<p class="failing">{text}<br><span class="hint">{hint}</span></p>'


def _row(server: dict[str, Any]) -> str:
    state = escape(server["status"] if server["enabled"] else "disabled")
    speaks = f"{server['transport']} {server['protocol'] or ''}"
    cells = (
        escape(server["alias"]),
        f'<span class="{state}">{state}</span>',
        str(server["tools"]),
        escape(server["source"]),
        escape(speaks),
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
