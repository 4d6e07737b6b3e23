"""The routes of pages that features open to everybody."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolyard.core.open_pages import OpenPage, PageRequest


def open_routes(pages: Iterable[OpenPage]) -> list[Route]:
    """The routes of these pages."""
    return [_route(page) for page in pages]


def _route(page: OpenPage) -> Route:
    async def serve(request: Request) -> Response:
        answer = await page.serve(
            PageRequest(
                request.method,
                request.scope["query_string"].decode("latin-1"),
                request.headers.get("content-type", ""),
                await request.body(),
            )
        )
        return Response(answer.body, answer.status, dict(answer.headers))

    return Route(page.path, serve, methods=list(page.methods))
