"""Checks what a server really offers, against what is on file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from toolyard.core.errors import LinkError, LinkTimeoutError, ToolyardError, UnknownNameError
from toolyard.core.failure_hints import find_hint
from toolyard.core.last_words import explain
from toolyard.core.lookup import find_entry
from toolyard.core.model import NO_OFFERS, Offers, Part, Peer, Server, ServerId
from toolyard.core.parts import parts_of, schema_tokens
from toolyard.executors.local import Local
from toolyard.features.approvals.changes import unlike
from toolyard.features.approvals.inspecting import Findings, inspect_parts, neighbours_of
from toolyard.features.approvals.judging import CATALOG, Approvals
from toolyard.features.approvals.model import Change, differences
from toolyard.features.catalog.additions import Addition
from toolyard.features.catalog.model import Verification
from toolyard.features.catalog.source import make_server
from toolyard.features.catalog.store import Catalog
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.link import Link
from toolyard.links.listing import KINDS, list_offers
from toolyard.links.opening import Opener
from toolyard.links.pool import LinkPool
from toolyard.yard import Yard

SECONDS: Final = 60.0
"""Seconds that a server gets to start, greet and list, unless told otherwise."""

Compare = Callable[[dict[Part, bytes]], tuple[Change, ...]]


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a verification."""

    name: str
    verified_at: str
    peer: Peer
    offers: Offers
    first_answer_ms: int
    """From the start of the process, or the first request, to the server's first answer."""
    tokens: int
    """About how many tokens a model reads for its tools."""
    changes: tuple[Change, ...]
    findings: Mapping[Part, Findings]
    """All that a person should look at, new or not."""


async def verify(yard: Yard, alias: str, seconds: float) -> Verified:
    """See what a server really offers; write it down if it is one of the catalog.

    A definition that is not in the yard is tried by itself, and ended again.

    Raises:
        UnknownNameError: There is no such server or definition.
        LinkError: It did not answer in time, or failed; nothing was written.
        StoreError, ConfigError: The result cannot be written down.
    """
    server, reached = await _find(yard, alias)
    if not server.enabled:
        raise LinkError(f"{alias!r} is disabled", f"run: toolyard server enable {alias}")
    if server.problem is not None:
        raise LinkError(server.problem.text, server.problem.hint)
    compare, name = await _comparison(yard, server), server.id.name
    words = partial(_last_words, yard, server)
    verified = await _look(name, reached, compare, seconds, words)
    if server.id.source == CATALOG:
        await asyncio.to_thread(_record, yard.part(Catalog), verified)
    parts, others = (
        parts_of(verified.offers, verified.peer),
        neighbours_of(yard.snapshot, server.id),
    )
    return replace(verified, findings=await asyncio.to_thread(inspect_parts, parts, others))


async def _find(yard: Yard, alias: str) -> tuple[Server, AbstractAsyncContextManager[Link]]:
    """Return a server of the yard or of the catalog, and the way to it."""
    try:
        server = find_entry(yard.snapshot, alias).server
    except UnknownNameError:
        defined = await asyncio.to_thread(_defined, yard.part(Catalog), alias)
        if defined is None:
            raise
        return defined, _opened_alone(yard.part(Opener), defined)
    return server, _leased(yard.part(LinkPool), server.id)


def _defined(catalog: Catalog, name: str) -> Server | None:
    """The server that a definition of the catalog would be, with what the environment gives."""
    shelved = catalog.load().definitions.get(name.removesuffix(f"@{CATALOG}"))
    return make_server(shelved.definition, Addition(), os.environ) if shelved else None


def _last_words(yard: Yard, server: Server) -> tuple[str, ...]:
    """The last lines that a server wrote to its stderr, also while it starts."""
    keeper = yard.part(LinkPool).keepers.get(server.id)
    words = yard.part(Local).last_words(server.id.name)
    return words or (keeper.trace if keeper is not None else ())


async def _comparison(yard: Yard, server: Server) -> Compare:
    """Return what tells how parts differ from those on file: in the catalog, or approved."""
    if server.id.source != CATALOG:
        return partial(unlike, yard.part(Approvals), server.id)
    shelf = await asyncio.to_thread(yard.part(Catalog).load)
    listed = shelf.get(server.id.name).definition.listed
    return partial(differences, parts_of(listed, None))


def _record(catalog: Catalog, verified: Verified) -> None:
    peer, offers = verified.peer, verified.offers
    verification = Verification(
        verified_at=verified.verified_at,
        protocol_version=peer.version,
        era=peer.era,
        server_name=peer.name,
        server_version=peer.release,
        first_answer_ms=verified.first_answer_ms,
        schema_tokens=verified.tokens,
        capabilities=peer.capabilities,
        instructions=peer.instructions,
    )
    catalog.record(
        verified.name,
        verification,
        [offer.raw for offer in offers.tools],
        [offer.raw for offer in offers.prompts],
        [offer.raw for offer in offers.resources],
        [offer.raw for offer in offers.templates],
    )


async def _look(
    name: str,
    reached: AbstractAsyncContextManager[Link],
    compare: Compare,
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
        findings={},
    )


@asynccontextmanager
async def _leased(pool: LinkPool, id_: ServerId) -> AsyncIterator[Link]:
    """The link of a server of the yard; it stays open for whoever comes next."""
    yield await pool.lease(id_)


@asynccontextmanager
async def _opened_alone(open_link: Opener, server: Server) -> AsyncIterator[Link]:
    """A link to a server that is not in the yard, closed in the end."""
    async with AsyncExitStack() as stack:
        try:
            link = await stack.enter_async_context(open_link(server, None))
        except ProbeFatalError:  # it ends when it is asked in the new way
            link = await stack.enter_async_context(open_link(server, "legacy"))
        yield link


def _failed(error: ToolyardError, words: tuple[str, ...]) -> LinkError:
    """The same error with the words of the server that matter, and what to do about them."""
    kind = LinkTimeoutError if isinstance(error, LinkTimeoutError) else LinkError
    failed = kind(str(error), error.hint)
    failed.trace = error.trace
    explain(failed, words)
    failed.hint = failed.hint or find_hint(str(error))
    return failed
