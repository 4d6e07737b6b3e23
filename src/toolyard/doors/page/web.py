"""The page people open: a shell and its files, which show what the control API says.

The printed link carries a code that works once; the page swaps it for a key, keeps that
in the storage of its own origin and sends it as a bearer token. It is no cookie: browsers
send those to every port of a host, whoever listens there.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from toolyard.core.open_pages import LINK_STATE, LinkVisit
from toolyard.doors.http.gate import LOGGED_IN, LOGIN_FOR
from toolyard.doors.page.browser_ties import BrowserTies
from toolyard.doors.page.entrance import LOGIN, MemberLogins, login_routes, read_bearer
from toolyard.doors.page.page_sessions import PageSessions
from toolyard.doors.rest.errors import problem

BringBack = Callable[[Mapping[str, str], str], tuple[int, str]]
"""Takes the parameters and the tie of a browser that comes back, and gives the status and the page
for it."""
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
LOGGED_IN_POLICY: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
}
"""For the page that a browser sees when it comes back from a login: a sentence, and its font."""
LINK_POLICY: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
    "style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'self' https: http://127.0.0.1:* http://localhost:*; frame-ancestors 'none'",
    # Without an origin in its requests, the hub could not tell its own form from others'.
    "referrer-policy": "same-origin",
}
"""For the page of a member's link: its form leads on to the login page of a server."""
KINDS: Final = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
"""The files that are served, by the end of their names; all are text."""
NO_WEIGHT: Final = frozenset({"q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"})
"""The weights by which a client says in Accept-Encoding that it does not want an encoding."""


class LinkAnswer(Protocol):
    """The answer to a browser that opened a link: a page, or the place to go to."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def html(self) -> str:
        """The page."""
        ...

    @property
    def location(self) -> str:
        """The place to go to; empty if there is a page."""
        ...

    @property
    def tie(self) -> str:
        """The secret that the browser is to keep; empty if it keeps what it has."""
        ...


class LinkPages(Protocol):
    """The pages behind links that members were given."""

    async def show(self, visit: LinkVisit) -> LinkAnswer:
        """Show the page of a link."""
        ...

    async def submit(self, visit: LinkVisit, body: bytes) -> LinkAnswer:
        """Take what was entered there."""
        ...

    async def come_back(self, brought: Mapping[str, str], tie: str) -> LinkAnswer:
        """Go on with a visitor who has logged in at the issuer."""
        ...


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page, as it is and compressed; each form has a tag of its own."""

    kind: str
    tag: str
    body: bytes
    packed_tag: str
    packed: bytes

    @classmethod
    def of(cls, kind: str, body: bytes) -> Asset:
        """Return the asset with this content."""
        digest = hashlib.sha256(body).hexdigest()[:20]
        packed = gzip.compress(body, mtime=0)
        return cls(kind, f'"{digest}"', body, f'"{digest}-gzip"', packed)


class Pages:
    """The shell, its files, and the way in."""

    def __init__(
        self,
        sessions: PageSessions,
        bring: BringBack | None = None,
        links: LinkPages | None = None,
        logins: MemberLogins | None = None,
        ties: BrowserTies | None = None,
    ) -> None:
        """Let in by `sessions`; `bring` takes what browsers bring back from logins at servers.

        `links` are the pages of members, if there can be any; by `logins` they come in by their
        own name. A browser that logs in at a server is known again by its tie, one of `ties`.
        """
        self._ties = ties or BrowserTies("")
        self._sessions = sessions
        self._bring = bring
        self._links = links
        self._logins = logins

    def routes(self) -> list[Route]:
        """The routes of this door."""
        logged_in = [] if self._bring is None else [Route(LOGGED_IN, self._logged_in)]
        return [
            *logged_in,
            *([] if self._links is None else self._link_routes()),
            *([] if self._logins is None else login_routes(self._logins)),
            Route("/", _top),
            # Looking at the link leaves its code alone: mail programs and chats do that too.
            Route("/open", _shell),
            Route("/open", self._enter, methods=["POST"]),
            Route("/ui", _shell),
            Route("/ui/assets/{name:path}", _asset),
            Route("/ui/{place:path}", _shell),
        ]

    def _link_routes(self) -> list[Route]:
        return [
            Route(f"{LOGIN_FOR}{{text}}", self._link, methods=["GET", "POST"]),
            Route(LOGIN, self._login),
        ]

    async def _logged_in(self, request: Request) -> Response:
        assert self._bring is not None
        status, page = self._bring(request.query_params, self._ties.read(request))
        return Response(page, status, HEADERS | LOGGED_IN_POLICY, "text/html")

    async def _link(self, request: Request) -> Response:
        assert self._links is not None
        text, proof = request.path_params["text"], request.query_params.get("proof", "")
        visit = LinkVisit(text, self._ties.read(request), proof, read_bearer(request))
        if request.method == "POST":
            return self._answer(await self._links.submit(visit, await request.body()))
        return self._answer(await self._links.show(visit))

    async def _login(self, request: Request) -> Response:
        """Take a browser back from the issuer: one that opened a link, or else the page's own."""
        assert self._links is not None
        if not request.query_params.get("state", "").startswith(LINK_STATE):
            return await _shell(request)
        return self._answer(
            await self._links.come_back(request.query_params, self._ties.read(request))
        )

    def _answer(self, answer: LinkAnswer) -> Response:
        headers = HEADERS | LINK_POLICY
        if answer.tie:
            headers |= {"set-cookie": self._ties.write(answer.tie)}
        if answer.location:
            return Response(b"", answer.status, headers | {"location": answer.location})
        return Response(answer.html, answer.status, headers, "text/html")

    async def _enter(self, request: Request) -> Response:
        key = self._sessions.swap(request.query_params.get("code", ""))
        if key is None:
            text = "this link was used already, or is too old"
            return problem(403, text, hint="get a fresh one with: toolyard status")
        return JSONResponse({"key": key}, headers=HEADERS)


async def _top(request: Request) -> Response:
    return RedirectResponse("/ui", 303, HEADERS)


async def _shell(request: Request) -> Response:
    return _serve(request, "index.html")


async def _asset(request: Request) -> Response:
    return _serve(request, request.path_params["name"])


def _serve(request: Request, name: str) -> Response:
    asset = assets().get(name)
    if asset is None:
        return Response("there is no such file", 404, HEADERS, "text/plain")
    headers = {**HEADERS, "cache-control": "no-cache", "vary": "accept-encoding"}
    is_packed = _accepts_gzip(request.headers.get("accept-encoding", ""))
    headers["etag"] = asset.packed_tag if is_packed else asset.tag
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(b"", 304, headers)
    if not is_packed:
        return Response(asset.body, 200, headers, asset.kind)
    headers["content-encoding"] = "gzip"
    return Response(asset.packed, 200, headers, asset.kind)


def _accepts_gzip(header: str) -> bool:
    for entry in header.split(","):
        encoding, _, weight = entry.partition(";")
        if encoding.strip().lower() == "gzip":
            return weight.strip().lower() not in NO_WEIGHT
    return False


@cache
def assets() -> dict[str, Asset]:
    """Every file of the page by its path.

    Read and compressed once: no path is ever looked up on disk, no file compressed twice.
    """
    by_path: dict[str, Asset] = {}
    _collect(files("toolyard.doors.page") / "ui", "", by_path)
    return by_path


def _collect(folder: Traversable, prefix: str, by_path: dict[str, Asset]) -> None:
    for file in folder.iterdir():
        path = prefix + file.name
        if file.is_dir():
            _collect(file, f"{path}/", by_path)
        elif kind := KINDS.get(path.rpartition(".")[2]):
            by_path[path] = Asset.of(kind, file.read_bytes())
