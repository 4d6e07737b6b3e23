"""The addresses at which clients learn how people log in.

Some clients ignore where a challenge sends them and ask for the metadata of the authorization
server at our origin, so a copy of the issuer's is there, too.
"""

from __future__ import annotations

from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolyard.doors.http.path_scope import read_scope
from toolyard.doors.rest.errors import problem

RESOURCE: Final = "/.well-known/oauth-protected-resource"
ISSUER: Final = (
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)
_HEADERS: Final = {"cache-control": "max-age=60", "x-content-type-options": "nosniff"}


class LoginMetadata(Protocol):
    """Describes the hub as a resource, and the issuer of the tokens for it."""

    def describe(self, path: str) -> bytes:
        """Return the metadata of the hub, or of a path, as a protected resource."""
        ...

    async def describe_issuer(self) -> bytes:
        """Return the metadata of the issuer; empty if they cannot be had."""
        ...


def well_known_routes(login: LoginMetadata) -> list[Route]:
    """The routes of all such addresses, at the root and beside each path of the MCP door."""

    async def describe(request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii").removeprefix(RESOURCE).rstrip("/")
        if path and read_scope(path) is None:
            return problem(404, "there is nothing at this path")
        return _give(login.describe(path))

    async def describe_issuer(request: Request) -> Response:
        metadata = await login.describe_issuer()
        if not metadata:
            return problem(503, "the login service does not answer", hint="try again in a minute")
        return _give(metadata)

    return [
        Route(RESOURCE, describe),
        Route(RESOURCE + "/{path:path}", describe),
        *(Route(address, describe_issuer) for address in ISSUER),
        *(Route(address + "/{path:path}", describe_issuer) for address in ISSUER),
    ]


def _give(body: bytes) -> Response:
    return Response(body, headers=_HEADERS, media_type="application/json")
