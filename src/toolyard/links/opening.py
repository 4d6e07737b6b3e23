"""The way to a link, in ordered steps; each may change what the next one gets, and see the link.

    own process -> hear questions -> fill in -> find again -> recognise -> log in
        -> installed package -> allow installing -> connect

A step is handed the opening and the rest of the way; one that has nothing to do for a server gives
the rest as it is. What a step needs of other rooms is given to its constructor as plain callables.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from toolyard.core.errors import MemberSecretError, SecretError
from toolyard.core.model import Endpoint, Identity, Peer, Server, Url
from toolyard.core.ports import Executor
from toolyard.links.connecting import open_link
from toolyard.links.keeper import OnInstalling, ignore_installing
from toolyard.links.link import Link
from toolyard.links.owner import EVERYBODY, Owner
from toolyard.links.patience import Patience
from toolyard.links.pending import Requester
from toolyard.records.secrets.expand import find_secrets
from toolyard.wire.era import Era

if TYPE_CHECKING:
    from toolyard.core.leases import Deadline


@dataclass(frozen=True, slots=True)
class Opening:
    """A link that is to be opened."""

    server: Server
    endpoint: Endpoint
    """How the server is started or reached, as far as the steps until now have found out."""
    hint: Era | None
    """The era that the server spoke the last time."""
    owner: Owner
    on_installing: OnInstalling = ignore_installing
    """Told when a package is installed first."""
    seconds: float | None = None
    """The time the server has to answer, if another than usual."""
    deadline: Deadline | None = None
    """The time at which its process must have ended, if it is exclusive."""
    apart: str = ""
    """The way in which it runs otherwise than the server of the picture, if it does."""


Proceed = Callable[[Opening], AbstractAsyncContextManager[Link]]
"""The rest of the way: gives a link that is ready for requests; leaving ends it."""
Step = Callable[[Opening, Proceed], AbstractAsyncContextManager[Link]]


class Opener:
    """Opens links by its steps, in their order; `connect` is the last one."""

    def __init__(self, steps: Sequence[Step], connect: Proceed) -> None:
        self._begin = connect
        for step in reversed(steps):
            self._begin = _followed(step, self._begin)

    def __call__(
        self,
        server: Server,
        hint: Era | None,
        on_installing: OnInstalling = ignore_installing,
        owner: Owner = EVERYBODY,
        apart: str = "",
    ) -> AbstractAsyncContextManager[Link]:
        """Give a link that is ready for requests; leaving ends it and what was started for it.

        `apart` is the way in which it runs otherwise than the server of the picture.

        Raises:
            SecretError: A reference stands for nothing.
            StartError: The server could not be started or reached.
            LinkError: It did not answer as an MCP server does.
        """
        return self._begin(
            Opening(server, server.endpoint, hint, owner, on_installing, apart=apart)
        )


def _followed(step: Step, rest: Proceed) -> Proceed:
    return lambda opening: step(opening, rest)


class HearQuestions:
    """Step: somebody hears the questions of the server, and the link is used as these demand.

    Args:
        asked: Hears of the questions of a server that name no call, as a `QuestionHook` does; is
            also told the server, and whether everybody shares it.
        prepare: Readies a link for the questions that its server is known to ask.
    """

    def __init__(
        self,
        asked: Callable[[Server, bool, str, bool, list[Requester]], Requester | None],
        prepare: Callable[[Link, Server, Owner], Awaitable[None]],
    ) -> None:
        self._asked = asked
        self._prepare = prepare

    @asynccontextmanager
    async def __call__(self, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        """Go on with somebody who hears questions."""
        server, owner = opening.server, opening.owner
        on_question = partial(self._asked, server, owner == EVERYBODY)
        heard = replace(owner, on_question=on_question)
        async with proceed(replace(opening, owner=heard)) as link:
            await self._prepare(link, server, owner)
            yield link


class FillIn:
    """Step: references become values here, and nowhere else.

    Args:
        expand: Returns how a server is started or reached, with values, for a member; blocks if a
            keyring or a file has to be read for that.
        explain: Returns the error with all that is known of what is missing; it blocks.
        lacking: Hears of a server of members for which the hub's owner has no secrets.
    """

    def __init__(
        self,
        expand: Callable[[Server, str], Endpoint],
        explain: Callable[[Server, SecretError], SecretError],
        lacking: Callable[[Server], None],
    ) -> None:
        self._expand = expand
        self._explain = explain
        self._lacking = lacking

    def __call__(self, opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        """Go on with values in place of references."""
        server = opening.server
        if server.is_per_member or find_secrets(server.endpoint):
            return self._with_secrets(opening, proceed)
        return proceed(replace(opening, endpoint=self._expand(server, "")))

    @asynccontextmanager
    async def _with_secrets(self, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        server = opening.server
        try:
            # A keyring may ask the user to unlock it; the house goes on meanwhile.
            endpoint = await asyncio.to_thread(self._expand, server, opening.owner.member)
        except MemberSecretError:
            if not opening.owner.member:
                self._lacking(server)
            raise
        except SecretError as error:
            raise await asyncio.to_thread(self._explain, server, error) from error
        async with proceed(replace(opening, endpoint=endpoint)) as link:
            yield link


class FindAgain:
    """Step: an adopted server is looked for where it is now."""

    def __init__(self, find: Callable[[Url, Identity], Awaitable[Url]]) -> None:
        self._find = find

    def __call__(self, opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        """Go on with the address at which the server was found."""
        identity, url = opening.server.identity, opening.endpoint
        if identity is None or not isinstance(url, Url):
            return proceed(opening)
        return self._found(opening, url, identity, proceed)

    @asynccontextmanager
    async def _found(
        self, opening: Opening, url: Url, identity: Identity, proceed: Proceed
    ) -> AsyncIterator[Link]:
        async with proceed(replace(opening, endpoint=await self._find(url, identity))) as link:
            yield link


class Recognise:
    """Step: what was found on a port must be what was looked for, before and after the greeting.

    Args:
        admit: Raises StartError if the port is somebody else's by now.
        recognise: Raises StartError if who answers is not who was looked for.
    """

    def __init__(
        self, admit: Callable[[Server], None], recognise: Callable[[Server, Peer], None]
    ) -> None:
        self._admit = admit
        self._recognise = recognise

    def __call__(self, opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        """Go on if the server may be reached, and with the link if it is the right one."""
        if isinstance(opening.endpoint, Url):
            return self._recognised(opening, proceed)
        return proceed(opening)

    @asynccontextmanager
    async def _recognised(self, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        self._admit(opening.server)
        async with proceed(opening) as link:
            self._recognise(opening.server, link.peer)
            yield link


class Connect:
    """The last step: starts or reaches the server at its place, and greets it.

    Args:
        place: Returns the executor of a name; raises StartError if there is none.
        limit: Bytes of one message.
    """

    def __init__(self, place: Callable[[str], Executor], patience: Patience, limit: int) -> None:
        self._place = place
        self._patience = patience
        self._limit = limit

    def __call__(self, opening: Opening) -> AbstractAsyncContextManager[Link]:
        """Give a link that is ready for requests."""
        server, patience = opening.server, self._patience
        if server.timeout is not None:
            patience = replace(patience, call=server.timeout)
        if opening.seconds is not None:
            patience = replace(patience, open=opening.seconds)
        return open_link(
            server.id.name,
            opening.endpoint,
            self._place(server.placement.executor),
            patience,
            self._limit,
            opening.hint,
            opening.owner,
            server.placement,
            opening.deadline,
        )
