"""Asks a member, in the client that called, for a credential that their call lacks.

The client gets a link to a page of the hub. Once the person is back from there, the call goes on by
itself. The credential is entered in a browser: it passes neither the client nor the model.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec import Raw

from toolyard.core.errors import LinkError, MemberSecretError, ToolyardError
from toolyard.core.model import ServerId
from toolyard.links.refusals import AuthNeededError
from toolyard.relay.handles import Handles
from toolyard.relay.parking import PURPOSE, digest_of
from toolyard.relay.questions import NEEDS, QuestionClock, is_able
from toolyard.relay.replies import error_reply
from toolyard.relay.session import ASK_SECONDS, ClientRequest
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

ROUNDS: Final = 8
"""Credentials that one call may ask for, one after the other."""
OPEN_CALLS: Final = 1000
"""Calls of modern clients whose persons are asked."""
OPEN_PER_CLIENT: Final = 64
METHOD: Final = "elicitation/create"
_KEY: Final = "credential"
_ROUND: Final = ("inputResponses", "requestState")
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


@dataclass(frozen=True, slots=True)
class _AskedCall:
    need: CredentialNeed
    principal: str
    digest: bytes
    timer: asyncio.TimerHandle


class CredentialAsking:
    """Serves calls that go out with a member's own credentials."""

    def __init__(
        self, links: CredentialLinks, handles: Handles, seconds: float = ASK_SECONDS
    ) -> None:
        """Ask by `links`; a person has so many seconds."""
        self._links = links
        self._handles = handles
        self._seconds = seconds
        self._asked: dict[str, _AskedCall] = {}

    async def serve(
        self, request: ClientRequest, fields: Fields, server: ServerId, deliver: Deliver
    ) -> Message:
        """Deliver a call; what it lacks is asked for, and then it is delivered again.

        Raises:
            ToolyardError: The server could not be reached, failed or was late.
        """
        handle = jsonrpc.text(fields.get("requestState")) if request.is_modern else ""
        if (asked := self._find(handle, request, fields)) is not None:
            refused = await self._resume(asked, request, fields)
            if refused is not None:
                return refused
            self._forget(handle)
            fields = {key: value for key, value in fields.items() if key not in _ROUND}
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

    def leave(self, principal: str) -> None:
        """A client is gone, and with it whoever could go on with its calls."""
        for handle in [key for key, call in self._asked.items() if call.principal == principal]:
            self._forget(handle)

    async def _ask(
        self, need: CredentialNeed, request: ClientRequest, fields: Fields
    ) -> Message | None:
        """Ask for a credential; return what the client is told, None once the call can go on."""
        params = _question(need, self._links.make(need), is_modern=request.is_modern)
        if not is_able(request.capabilities, NEEDS[METHOD], jsonrpc.encode(params)):
            return _tell_link(need, params["url"], request)
        if request.is_modern:
            return self._hold(need, params, request, fields)
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
        return "" if _is_accepted(answer) else "you declined"

    async def _arrives(self, need: CredentialNeed) -> str:
        """Wait for the credential; return why that makes no sense any more, empty once it came."""
        try:
            await self._links.arrive(need)
        except ToolyardError as error:
            return str(error)
        return ""

    # The modern era: the question is the result, and the client calls again.

    def _hold(
        self,
        need: CredentialNeed,
        params: dict[str, str],
        request: ClientRequest,
        fields: Fields,
    ) -> Message:
        principal = request.session.principal
        theirs = sum(1 for call in self._asked.values() if call.principal == principal)
        if theirs >= OPEN_PER_CLIENT or len(self._asked) >= OPEN_CALLS:
            return _refuse(need, "too many calls wait for an answer", request)
        handle = self._handles.make(PURPOSE, request.session, secrets.token_urlsafe(24))
        timer = asyncio.get_running_loop().call_later(self._seconds, self._forget, handle)
        digest = digest_of(request.method, _plain(fields))
        self._asked[handle] = _AskedCall(need, principal, digest, timer)
        body = {
            "resultType": "input_required",
            "inputRequests": {_KEY: {"method": METHOD, "params": params}},
            "requestState": handle,
        }
        return Message(result=Raw(jsonrpc.encode(body)))

    def _find(self, handle: str, request: ClientRequest, fields: Fields) -> _AskedCall | None:
        """Return the call that goes on: of the client that made it, with its arguments."""
        asked = self._asked.get(handle) if handle else None
        if asked is None or asked.principal != request.session.principal:
            return None
        return asked if asked.digest == digest_of(request.method, _plain(fields)) else None

    async def _resume(
        self, asked: _AskedCall, request: ClientRequest, fields: Fields
    ) -> Message | None:
        """Wait for the person; return what the client is told if nobody comes."""
        answers = jsonrpc.fields(fields.get("inputResponses", Raw(b"{}")))
        if not _is_accepted(Message(result=answers.get(_KEY, Raw(b"{}")))):
            return _refuse(asked.need, "you declined", request)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(asked.timer.when(), loop.time() + self._seconds)):
                why = await self._arrives(asked.need)
        except TimeoutError:
            why = "nobody entered it in time"
        return _refuse(asked.need, why, request) if why else None

    def _forget(self, handle: str) -> None:
        asked = self._asked.pop(handle, None)
        if asked is not None:
            asked.timer.cancel()


def _question(need: CredentialNeed, url: str, *, is_modern: bool) -> dict[str, str]:
    text = f"{need.text}. Open the page; once you are done there, the call goes on by itself."
    params = {"mode": "url", "message": text, "url": url}
    return params if is_modern else {**params, "elicitationId": secrets.token_urlsafe(16)}


def _plain(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if key not in _ROUND}


def _is_accepted(answer: Message) -> bool:
    """Tell whether the person agreed to open the page."""
    if answer.error or not answer.result:
        return False
    return jsonrpc.text(jsonrpc.fields(answer.result).get("action")) == "accept"


def _tell_link(need: CredentialNeed, url: str, request: ClientRequest) -> Message:
    """The answer for a client that cannot be asked: a sentence with the link."""
    return _fail(f"{need.text}. Open {url} in a browser, then call again.", request)


def _refuse(need: CredentialNeed, why: str, request: ClientRequest) -> Message:
    return _fail(f"{need.text}, and {why}. Call again to be asked again.", request)


def _fail(text: str, request: ClientRequest) -> Message:
    """Tell it as the result of a tool, so that the person reads it; else as an error."""
    if request.method != "tools/call":
        return error_reply(era.SERVER_ERROR, text)
    body: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if request.is_modern:
        body["resultType"] = "complete"
    return Message(result=Raw(jsonrpc.encode(body)))
