"""The page people open: a shell and its files, which show what the control API says.

The printed link carries a code that works once; it is swapped for a cookie that
scripts cannot read and other sites cannot make the browser send.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from functools import cache
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

COOKIE: Final = "toolyard"
COOKIE_SECONDS: Final = 12 * 3600
CODE_SECONDS: Final = 3600
CODES_KEPT: Final = 16
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; media-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
KINDS: Final = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
"""The files that are served, by the end of their names; all are text."""


class Passes:
    """Codes for the link, and the cookies they were swapped for."""

    def __init__(self, port: int) -> None:
        # Browsers do not tell the ports of a host apart: two hubs must not share a name.
        self.cookie = f"{COOKIE}-{port}"
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
                    found = SimpleCookie(value.decode("latin-1")).get(self.cookie)
                except CookieError:
                    return False
                return found is not None and self._knows(found.value)
        return False

    def _knows(self, cookie: str) -> bool:
        now = time.monotonic()
        self._cookies = {known: ends for known, ends in self._cookies.items() if ends > now}
        return any(hmac.compare_digest(cookie.encode(), known.encode()) for known in self._cookies)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page."""

    body: bytes
    kind: str
    tag: str


class Pages:
    """The shell, its files, and the way in."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def routes(self) -> list[Route]:
        """The routes of this door."""
        return [
            Route("/", _top),
            Route("/open", self._open),
            Route("/style.css", _style),
            Route("/ui", _shell),
            Route("/ui/assets/{name:path}", _asset),
            Route("/ui/{place:path}", _shell),
        ]

    async def _open(self, request: Request) -> Response:
        cookie = self._passes.swap(request.query_params.get("code", ""))
        if cookie is None:
            return HTMLResponse(_USED, 403, HEADERS)
        response = RedirectResponse("/ui", 303, HEADERS)
        response.set_cookie(
            self._passes.cookie,
            cookie,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            path="/",
        )
        return response


_USED: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Toolyard</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="stylesheet" href="/style.css"></head><body><main><h1>Toolyard</h1>'
    "<p>This link was used already, or is too old. <code>toolyard status</code> prints a fresh "
    "one.</p></main></body></html>"
)


async def _top(request: Request) -> Response:
    return RedirectResponse("/ui", 303, HEADERS)


async def _style(request: Request) -> Response:
    return _serve(request, "style.css")


async def _shell(request: Request) -> Response:
    return _serve(request, "index.html")


async def _asset(request: Request) -> Response:
    return _serve(request, request.path_params["name"])


def _serve(request: Request, name: str) -> Response:
    asset = assets().get(name)
    if asset is None:
        return Response("there is no such file", 404, HEADERS, "text/plain")
    headers = {**HEADERS, "cache-control": "no-cache", "etag": asset.tag}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(b"", 304, headers)
    return Response(asset.body, 200, headers, asset.kind)


@cache
def assets() -> dict[str, Asset]:
    """Every file of the page by its path; read once, so that no path is ever looked up on disk."""
    found: dict[str, Asset] = {}
    _collect(files("toolyard.surfaces") / "ui", "", found)
    return found


def _collect(folder: Traversable, prefix: str, found: dict[str, Asset]) -> None:
    for each in folder.iterdir():
        name = prefix + each.name
        if each.is_dir():
            _collect(each, f"{name}/", found)
        elif kind := KINDS.get(name.rpartition(".")[2]):
            body = each.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
            found[name] = Asset(body, kind, tag)
