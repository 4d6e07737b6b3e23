"""Step: a process has one owner among replicas; all others use the link that this one has to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from dataclasses import replace
from typing import Final, Protocol

from toolyard.core.endpoint import Command, fingerprint
from toolyard.core.errors import StartError, StoreError
from toolyard.core.leases import Deadline, Lease, lease_key
from toolyard.executors.waits import through
from toolyard.links.borrowing import Borrower, NotLentError
from toolyard.links.link import Link
from toolyard.links.loans import LoanOrder
from toolyard.links.opening import Opening, Proceed
from toolyard.links.sites import is_here

AGAIN_SECONDS: Final = 0.2
"""The pause before a lease is looked at again that its holder is about to give up, or to lose."""
MOVED: Final = "runs at another replica from now on"
_MAYBE: Final = "it may have been carried out; look, then call again"


class Leases(Protocol):
    """Who runs which process, as all replicas know it."""

    own: str

    def is_sure(self) -> bool:
        """True while the others cannot take this hub for gone."""
        ...

    def when_sure(self, call: Callable[[], None]) -> None:
        """Call this whenever that is confirmed."""
        ...

    async def take(self, key: str, *, may_take: bool) -> Lease | None:
        """Take a lease, if nobody who lives has it; return whose it is; None if nobody's."""
        ...

    def holding(
        self, lease: Lease, on_lost: Callable[[], None]
    ) -> AbstractContextManager[Deadline]:
        """While inside, look after a lease; gives the time until which it is surely not lost."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        ...


class OwnProcess:
    """Step: takes the lease of a process, or borrows the link of the replica that has it.

    Args:
        successor: Gives a replica to run what this one must not start any more; empty if it may.
        seconds: The time for a holder that leaves, or was lost, to be replaced.
    """

    def __init__(
        self, leases: Leases, borrower: Borrower, successor: Callable[[], str], seconds: float
    ) -> None:
        self._leases = leases
        self._borrower = borrower
        self._successor = successor
        self._seconds = seconds
        self._alone: set[Link] = set()
        """Links to processes without a lease: they were started while the database was away."""
        leases.when_sure(self._come_back)

    def __call__(self, opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        """Go on as the owner of a process, or give a link to the one that another runs."""
        server = opening.server
        if not isinstance(server.endpoint, Command):
            return proceed(opening)
        if server.exclusive and not is_here(server.placement.executor):
            text = f"{server.id.name!r} is exclusive, which no hub can promise at another executor"
            raise StartError(text, "run it at the executor 'local', or remove 'exclusive'")
        return self._open(opening, proceed)

    @asynccontextmanager
    async def _open(self, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        async with AsyncExitStack() as stack:
            yield await self._enter(stack, opening, proceed)

    async def _enter(self, stack: AsyncExitStack, opening: Opening, proceed: Proceed) -> Link:
        """Open the link, as soon as somebody can run the process."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        while True:
            try:
                return await stack.enter_async_context(await self._choose(opening, proceed))
            except NotLentError as error:
                if loop.time() > end:
                    name = opening.server.id.name
                    raise StartError(f"cannot start {name!r}: {error}", error.hint) from error
            await asyncio.sleep(AGAIN_SECONDS)

    async def _choose(
        self, opening: Opening, proceed: Proceed
    ) -> AbstractAsyncContextManager[Link]:
        """Find out who runs the process; raises NotLentError if that is nobody for now."""
        server, owner = opening.server, opening.owner
        successor = self._successor()
        key = lease_key(server.id, opening.apart, owner.key)
        try:
            lease = await self._leases.take(key, may_take=not successor)
        except StoreError as error:
            if self._leases.is_sure():
                raise NotLentError(f"the database does not answer ({error})", error.hint) from error
            if server.exclusive:
                text = f"cannot start {server.id.name!r}, which is exclusive: {error}"
                raise StartError(text, error.hint) from error
            return self._run_alone(opening, proceed)
        if lease is not None and lease.holder == self._leases.own:
            return self._run(lease, opening, proceed)
        holder = lease.holder if lease is not None else successor
        if not holder:
            text = f"the other replicas do not know this one, {self._leases.own!r}, yet"
            raise NotLentError(text, "call again; give each hub a TOOLYARD_REPLICA of its own")
        launch = fingerprint(server.endpoint)
        about = server.id.name, server.id.source, launch, opening.apart, owner.key
        order = LoanOrder(*about, is_first=lease is None)
        return self._borrower.borrow(holder, order, server.timeout, owner)

    @asynccontextmanager
    async def _run(self, lease: Lease, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        """Run the process here, as long as the lease is this hub's."""
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            with self._leases.holding(lease, lambda: lost.set_result(None)) as deadline:
                if opening.server.exclusive:
                    opening = replace(opening, deadline=deadline)
                async with proceed(opening) as link:
                    lost.add_done_callback(lambda _: link.lose(MOVED, _MAYBE))
                    link.lease = lease
                    yield link
        finally:
            await through(self._leases.release(lease))

    @asynccontextmanager
    async def _run_alone(self, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        """Run a process beside that of another replica, perhaps, until the database is back."""
        async with proceed(opening) as link:
            self._alone.add(link)
            try:
                yield link
            finally:
                self._alone.discard(link)

    def _come_back(self) -> None:
        for link in self._alone:
            link.retire(MOVED)
