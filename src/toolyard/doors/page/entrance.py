"""The page's way in for people who log in by their own name.

Whoever comes here has no token yet, so no body is taken: what a tab has to tell stands in the
address, and its secrets in `Authorization`, which nobody writes into a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolyard.core.caller import TurnedAway
from toolyard.doors.rest.errors import problem
from toolyard.operation import JSON
from toolyard.wire import jsonrpc

LOGIN: Final = "/ui/login"
_HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_BEARER: Final = "Bearer "


class MemberLogins(Protocol):
    """Lets people log in on the page; its answers are structs."""

    async def begin(self, tie: str) -> Any:
        """Begin a login of the tab that has this secret."""
        ...

    async def finish(self, brought: Mapping[str, str], tie: str) -> Any:
        """Let somebody in for what a browser brought back to that tab."""
        ...

    async def renew(self, renewal: str) -> Any:
        """Give a new key for a page whose old one has ended."""
        ...

    def describe_client(self) -> bytes:
        """Return the page's description of itself, for issuers that look for it."""
        ...


def login_routes(logins: MemberLogins) -> list[Route]:
    """The routes by which people log in."""

    async def begin(request: Request) -> Response:
        return _give(await logins.begin(read_bearer(request)))

    async def finish(request: Request) -> Response:
        return _give(await logins.finish(request.query_params, read_bearer(request)))

    async def renew(request: Request) -> Response:
        return _give(await logins.renew(read_bearer(request)))

    async def describe(request: Request) -> Response:
        return Response(logins.describe_client(), headers=_HEADERS, media_type=JSON)

    return [
        Route(f"{LOGIN}/begin", begin, methods=["POST"]),
        Route(f"{LOGIN}/finish", finish, methods=["POST"]),
        Route(f"{LOGIN}/renew", renew, methods=["POST"]),
        Route("/ui/client.json", describe),
    ]


def read_bearer(request: Request) -> str:
    """Return the secret that a request brings; empty if it brings none."""
    header = request.headers.get("authorization", "")
    return header[len(_BEARER) :] if header.startswith(_BEARER) else ""


def _give(answer: Any) -> Response:
    if isinstance(answer, TurnedAway):
        return problem(answer.status, answer.text)
    return Response(jsonrpc.encode(answer), headers=_HEADERS, media_type=JSON)
