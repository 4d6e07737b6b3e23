"""Asks a member, in the client that called, for a credential that their call lacks.

The client gets a link to a page of the hub. Once the person is back from there, the call goes on by
itself. The credential is entered in a browser: it passes neither the client nor the model.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from toolyard.core.errors import LinkError, MemberSecretError, ToolyardError
from toolyard.core.model import ServerId
from toolyard.links.refusals import AuthNeededError
from toolyard.relay.held_calls import (
    METHOD,
    HeldCall,
    HeldCalls,
    action_of,
    answer_to,
    without_round,
)
from toolyard.relay.questions import NEEDS, QuestionClock, is_able
from toolyard.relay.replies import error_reply, refuse_call
from toolyard.relay.session import ASK_SECONDS, ClientRequest
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

ROUNDS: Final = 8
"""Credentials that one call may ask for, one after the other."""
_KEY: Final = "credential"
Deliver = Callable[[Fields], Awaitable[Message]]
"""Sends a call to its server, with these params."""


@dataclass(frozen=True, slots=True)
class CredentialNeed:
    """A credential that a member lacks: a secret by name, or a login if that is empty."""

    member: str
    server: ServerId
    alias: str
    secret: str
    asked_at: float

    @property
    def text(self) -> str:
        """The sentence for the person."""
        thing = f"your secret '{self.secret}'" if self.secret else "your login"
        return f"'{self.alias}' needs {thing}"


class CredentialLinks(Protocol):
    """The pages on which members log in, or enter a secret."""

    def find(self, member: str, server: ServerId, error: ToolyardError) -> CredentialNeed | None:
        """Return the credential whose lack an error tells of; None if no page would help."""
        ...

    def make(self, need: CredentialNeed) -> str:
        """Return the address of the page for it; it is for that member, and works once."""
        ...

    async def arrive(self, need: CredentialNeed) -> None:
        """Wait until the credential is there, and links know it."""
        ...


class CredentialAsking:
    """Serves calls that go out with a member's own credentials."""

    def __init__(
        self, links: CredentialLinks, held: HeldCalls, seconds: float = ASK_SECONDS
    ) -> None:
        """Ask by `links`; a person has so many seconds."""
        self._links = links
        self._held = held
        self._seconds = seconds

    async def serve(
        self, request: ClientRequest, fields: Fields, server: ServerId, deliver: Deliver
    ) -> Message:
        """Deliver a call; what it lacks is asked for, and then it is delivered again.

        Raises:
            ToolyardError: The server could not be reached, failed or was late.
        """
        held = self._held.find(request, fields, CredentialNeed)
        if held is not None:
            refused = await self._resume(held, request, fields)
            if refused is not None:
                return refused
            self._held.forget(held.handle)
            fields = without_round(fields)
        for _ in range(ROUNDS):
            try:
                return await deliver(fields)
            except (AuthNeededError, MemberSecretError) as error:
                need = self._links.find(request.session.member, server, error)
                if need is None:
                    raise
            refused = await self._ask(need, request, fields)
            if refused is not None:
                return refused
        raise LinkError(f"{server.name!r} asked for more than {ROUNDS} credentials")

    async def _ask(
        self, need: CredentialNeed, request: ClientRequest, fields: Fields
    ) -> Message | None:
        """Ask for a credential; return what the client is told, None once the call can go on."""
        url = self._links.make(need)
        params = _question(need, url, is_modern=request.is_modern)
        if not is_able(request.capabilities, NEEDS[METHOD], jsonrpc.encode(params)):
            return _tell_link(need, url, request)
        if request.is_modern:
            question: tuple[str, dict[str, object]] = (_KEY, {**params})
            message = self._held.hold(request, fields, need, question, self._seconds)
            return message or _refuse(need, "too many calls wait for an answer", request)
        if not request.responder.takes_stream:
            return _send_away(need, params)
        request.clock = request.clock or QuestionClock()
        with request.clock:
            return await self._ask_here(need, params, request)

    # The legacy era: the client is asked while its call waits.

    async def _ask_here(
        self, need: CredentialNeed, params: dict[str, str], request: ClientRequest
    ) -> Message | None:
        emit, id_ = request.responder.emit, params["elicitationId"]
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self._put(params, request))
            arriving = group.create_task(self._arrives(need))
            tasks = {asking, arriving}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=self._seconds)
            if not arriving.done() and asking.done() and not asking.result():
                await asyncio.wait({arriving}, timeout=self._seconds)
            late = f"nobody entered it within {self._seconds:g} s"
            asked = asking.result() if asking.done() else ""
            why = arriving.result() if arriving.done() else asked or late
            for task in tasks:
                task.cancel()
        request.session.elicitations.discard(id_)
        if why:
            return _refuse(need, why, request)
        done = jsonrpc.encode({"elicitationId": id_})
        emit(jsonrpc.notification("notifications/elicitation/complete", done))
        return None

    async def _put(self, params: dict[str, str], request: ClientRequest) -> str:
        """Put the question; return why the person does not open the page, empty if they do."""
        try:
            emit = request.responder.emit
            answer = await request.session.ask(emit, METHOD, jsonrpc.encode(params))
        except LinkError as error:
            return str(error)
        return "" if action_of(answer) == "accept" else "you declined"

    async def _arrives(self, need: CredentialNeed) -> str:
        """Wait for the credential; return why that makes no sense any more, empty once it came."""
        try:
            await self._links.arrive(need)
        except ToolyardError as error:
            return str(error)
        return ""

    # The modern era: the question is the result, and the client calls again.

    async def _resume(
        self, held: HeldCall[CredentialNeed], request: ClientRequest, fields: Fields
    ) -> Message | None:
        """Wait for the person; return what the client is told if nobody comes."""
        if action_of(answer_to(fields, _KEY)) != "accept":
            return _refuse(held.about, "you declined", request)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(held.timer.when(), loop.time() + self._seconds)):
                why = await self._arrives(held.about)
        except TimeoutError:
            why = "nobody entered it in time"
        return _refuse(held.about, why, request) if why else None


def _question(need: CredentialNeed, url: str, *, is_modern: bool) -> dict[str, str]:
    text = f"{need.text}. Open the page; once you are done there, the call goes on by itself."
    params = {"mode": "url", "message": text, "url": url}
    return params if is_modern else {**params, "elicitationId": secrets.token_urlsafe(16)}


def _send_away(need: CredentialNeed, params: dict[str, str]) -> Message:
    """The answer for a legacy client that can be asked, but not while this call waits."""
    text = f"{need.text}; open the page, then call again"
    return error_reply(era.URL_ELICITATION_REQUIRED, text, {"elicitations": [params]})


def _tell_link(need: CredentialNeed, url: str, request: ClientRequest) -> Message:
    """The answer for a client that cannot be asked: a sentence with the link."""
    return _fail(f"{need.text}. Open {url} in a browser, then call again.", request)


def _refuse(need: CredentialNeed, why: str, request: ClientRequest) -> Message:
    return _fail(f"{need.text}, and {why}. Call again to be asked again.", request)


def _fail(text: str, request: ClientRequest) -> Message:
    return refuse_call(text, request.method, is_modern=request.is_modern)
