"""HTTP for logins: to judged addresses alone, bounded, never redirected and never packed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from toolyard.links.addresses import Reach

if TYPE_CHECKING:
    import httpx2

STEP_SECONDS: Final = 20.0
ANSWER_LIMIT: Final = 1 << 20


@asynccontextmanager
async def guarded_http(server: str) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client that goes only where a login may, and follows nobody elsewhere."""
    import httpx2

    inner, reach = httpx2.AsyncHTTPTransport(), Reach(server)

    class Guarded(httpx2.AsyncBaseTransport):
        """Connects to the addresses that were judged, and to no others."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            url = request.url
            request.headers["accept-encoding"] = "identity"
            for address in (addresses := await reach.addresses(url.scheme, url.host, url.port)):
                pinned = httpx2.Request(
                    request.method,
                    url.copy_with(host=address),
                    headers=request.headers,
                    stream=request.stream,
                    extensions={**request.extensions, "sni_hostname": url.host},
                )
                try:
                    answer = await inner.handle_async_request(pinned)
                except httpx2.ConnectError:
                    if address == addresses[-1]:
                        raise
                    continue
                await _refuse_packed(answer)
                return httpx2.Response(
                    answer.status_code, headers=answer.headers, stream=_bounded(answer)
                )
            raise httpx2.ConnectError("no address")

        async def aclose(self) -> None:
            await inner.aclose()

    async with httpx2.AsyncClient(
        transport=Guarded(), timeout=STEP_SECONDS, follow_redirects=False, trust_env=False
    ) as http:
        yield http


async def _refuse_packed(answer: httpx2.Response) -> None:
    """Nobody asked for it, and a megabyte of it may become a gigabyte when it is unpacked."""
    import httpx2

    coding = answer.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        await answer.aclose()
        raise httpx2.DecodingError(f"the answer is packed ({coding[:20]}), which was not asked for")


def _bounded(answer: httpx2.Response) -> Any:
    """The body of an answer, up to a size and a time: nobody may keep a login waiting."""
    import httpx2

    class Body(httpx2.AsyncByteStream):
        """Ends early where it must."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            assert isinstance(answer.stream, httpx2.AsyncByteStream)
            size, end = 0, time.monotonic() + STEP_SECONDS
            async for chunk in answer.stream:
                size += len(chunk)
                yield chunk
                if size > ANSWER_LIMIT or time.monotonic() > end:
                    return

        async def aclose(self) -> None:
            await answer.aclose()

    return Body()
