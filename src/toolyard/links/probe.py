"""Asks an address who it is, in both eras, and leaves nothing behind there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Literal

from toolyard.core.errors import LinkError
from toolyard.core.model import NO_OFFERS, Offers, Peer, Url
from toolyard.links.connecting import open_url
from toolyard.links.link import Link
from toolyard.links.listing import list_offers
from toolyard.links.patience import Patience
from toolyard.links.refusals import HttpStatusError

LIMIT: Final = 4 << 20
"""Bytes of one message: enough for a long list of tools."""


async def probe(url: str, seconds: float, kind: Literal["http", "sse"] = "http") -> Peer:
    """Give who answers there.

    Raises:
        ToolyardError: Nobody does, or not as an MCP server.
    """
    async with _open(Url(url, kind), seconds) as link:
        return link.peer


async def inspect(url: Url, seconds: float) -> tuple[Peer, Offers]:
    """Give who answers there, and the tools it has.

    Raises:
        ToolyardError: Nobody does, or not as an MCP server.
    """
    async with _open(url, seconds) as link:
        return link.peer, await list_offers(link, seconds, NO_OFFERS, ("tools",))


@asynccontextmanager
async def _open(url: Url, seconds: float) -> AsyncIterator[Link]:
    patience = Patience(probe=seconds, open=seconds, list=seconds, call=seconds)
    try:
        # Leaving it ends the session of a legacy server, also when time is up.
        async with asyncio.timeout(seconds), open_url(url.url, url, patience, LIMIT, None) as link:
            yield link
    except TimeoutError:
        raise LinkError(f"it did not answer within {seconds:g} s") from None
    except HttpStatusError as error:
        raise LinkError(f"it answers with HTTP {error.status}, not as an MCP server") from error
    except LinkError as error:
        # Whoever asks knows the address and says it in its own words.
        raise LinkError(str(error).replace(repr(url.url), "it"), error.hint) from error
