"""Checks what a server really offers, against what is on file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from toolyard.core.errors import LinkError, LinkTimeoutError, ToolyardError
from toolyard.core.failure_hints import find_hint
from toolyard.core.model import NO_OFFERS, Offers, Part, Peer, Server, ServerId
from toolyard.core.parts import parts_of
from toolyard.core.pins import Change, schema_tokens
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.instances import OpenFor
from toolyard.links.link import Link
from toolyard.links.listing import KINDS, list_offers
from toolyard.links.owner import EVERYBODY
from toolyard.links.pool import LinkPool

SECONDS: Final = 60.0
"""How long a server gets to start, greet and list, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found."""

    name: str
    verified_at: str
    peer: Peer
    offers: Offers
    first_answer_ms: int
    """From the start of the process, or the first request, to the server's first answer."""
    tokens: int
    """An estimate of what its tools cost a model: a quarter of their bytes."""
    changes: tuple[Change, ...]


async def verify(
    name: str,
    reached: AbstractAsyncContextManager[Link],
    compare: Callable[[dict[Part, bytes]], tuple[Change, ...]],
    seconds: float,
    words: Callable[[], tuple[str, ...]],
) -> Verified:
    """Start or reach a server, list all it offers, and compare it with what is on file.

    `words` gives what a server has written to its stderr, even if it never answers.

    Raises:
        LinkError: It did not answer in time, or failed; the hint says what helps, where known.
    """
    try:
        async with AsyncExitStack() as stack:  # an end that takes its time is no late answer
            async with asyncio.timeout(seconds):
                link = await stack.enter_async_context(reached)
                offers = await list_offers(link, seconds, NO_OFFERS, KINDS)
    except TimeoutError:
        late = LinkTimeoutError(f"{name!r} did not answer within {seconds:g} s")
        raise _failed(late, words()) from None
    except ToolyardError as error:
        raise _failed(error, words()) from error
    return Verified(
        name=name,
        verified_at=datetime.now(UTC).isoformat(timespec="seconds"),
        peer=link.peer,
        offers=offers,
        first_answer_ms=round(link.greeted_after * 1000),
        tokens=schema_tokens([offer.raw for offer in offers.tools]),
        changes=compare(parts_of(offers, link.peer)),
    )


@asynccontextmanager
async def leased(pool: LinkPool, id_: ServerId) -> AsyncIterator[Link]:
    """The link of a server of the yard; it stays open for whoever comes next."""
    yield await pool.lease(id_)


@asynccontextmanager
async def opened_alone(open_for: OpenFor, server: Server) -> AsyncIterator[Link]:
    """A link to a server that is not in the yard, closed in the end."""
    async with AsyncExitStack() as stack:
        try:
            link = await stack.enter_async_context(open_for(server, None, EVERYBODY))
        except ProbeFatalError:  # it ends when it is asked in the new way
            link = await stack.enter_async_context(open_for(server, "legacy", EVERYBODY))
        yield link


def _failed(error: ToolyardError, words: tuple[str, ...]) -> LinkError:
    """The same error with the server's last words, and the hint they point to."""
    hint = find_hint((*words, str(error), error.hint))
    last = f"last words on its stderr: {' | '.join(words[-5:])}" if words else ""
    other = "" if words and error.hint.startswith("last words") else error.hint
    kind = LinkTimeoutError if isinstance(error, LinkTimeoutError) else LinkError
    return kind(str(error), "; ".join(part for part in (hint or other, last) if part))
