"""Calls that wait for nothing but the answer of their server: begun at once, and without a task.

Nearly every call finds its link open. A task would cost it more than the rest of the relay. Its
owner is the same as a task's: cancelling the answer that is waited for cancels the call. Where more
has to be waited for, before or after, a task takes over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from time import monotonic
from typing import Any

from toolyard.core.errors import ToolyardError
from toolyard.links.http import SessionLostError
from toolyard.links.link import Link
from toolyard.links.pending import PendingRequest
from toolyard.relay.calls import Calls, RoutedRequest
from toolyard.relay.questions import ASKED
from toolyard.relay.quirks import QuirkFitter
from toolyard.relay.replies import explained
from toolyard.relay.session import LEFT, ClientRequest
from toolyard.relay.views import Views
from toolyard.tasks import Tasks
from toolyard.wire import era
from toolyard.wire.jsonrpc import Fields, Message

Way = tuple[Link, PendingRequest]
"""The link that a call was sent over, and what waits there for its answer."""
Answer = Callable[[ClientRequest], Awaitable[Message]]
"""Makes the answer to a request."""
Serve = Callable[[ClientRequest, Answer | None], Coroutine[Any, Any, None]]
"""Answers a request of any kind; one that was begun already in the way that is given."""
Follow = Callable[[Link, ClientRequest, PendingRequest, str, Fields], Awaitable[Message]]
"""Goes on with a call of a modern client whose legacy server has asked something."""


class PlainCalls:
    """Sends calls of tools, and answers them when their servers do."""

    def __init__(
        self, views: Views, calls: Calls, quirks: QuirkFitter, follow: Follow, serve: Serve
    ) -> None:
        """Answer those calls that need no task; `serve` answers all others."""
        self._views = views
        self._calls = calls
        self._quirks = quirks
        self._follow = follow
        self._serve = serve

    def start(self, request: ClientRequest, tasks: Tasks) -> asyncio.Future[Any] | None:
        """Begin a call, as work of `tasks`; None if it has more to wait for than its server."""
        routed = self._route(request)
        if routed is None or tasks.is_closed:
            return None
        try:
            way = self._calls.begin(routed)
        except Exception as failure:
            # Not once more, with a task: it may have been sent.
            return tasks.start(_fail(request, failure))
        if way is None:
            return None
        request.session.requests[request.id] = request
        answer = request.work = way[1].answer
        tasks.waits.add(answer)
        answer.add_done_callback(partial(self._end, routed, way, tasks))
        return answer

    def _route(self, request: ClientRequest) -> RoutedRequest | None:
        """Find the server of a call; None if it is no plain one."""
        session = request.session
        if request.method != "tools/call" or session.arrival is not None:
            return None
        if session.is_modern:
            if "requestState" in request.params:
                return None
            self._quirks.apply(session, bytes(request.meta.get(era.META_CLIENT, b"")))
        try:
            view = self._views.look(session.view_key)
        except ToolyardError:
            return None
        route = view.tools.get(request.name)
        if route is None or (request.mirrored is not None and route.marked):
            return None
        fields = {**request.params, "name": route.raw_key}
        return RoutedRequest(request, request.method, fields, route, view, monotonic())

    def _end(
        self,
        routed: RoutedRequest,
        way: Way,
        tasks: Tasks,
        answer: asyncio.Future[Message],
    ) -> None:
        """Answer a call; `answer` is what its server said, or why it said nothing."""
        request, session = routed.request, routed.request.session
        tasks.waits.discard(answer)
        failure = asyncio.CancelledError() if answer.cancelled() else answer.exception()
        if isinstance(failure, SessionLostError):
            # The server never looked at it, so this cannot do anything twice.
            tasks.start(self._serve(request, None))
            return
        if failure is None and answer.result() is ASKED:
            tasks.start(self._serve(request, partial(self._go_on, routed, way)))
            return
        session.requests.pop(request.id, None)
        try:
            if failure is None:
                reply = self._calls.end(routed, way[0], answer.result())
                if len(reply.result) > session.largest:
                    self._quirks.fit(session, routed.route, reply)
                request.respond(reply)
            else:
                self._fail(routed, way, failure)
        except BaseException as error:
            request.fail(error)
            raise

    def _fail(self, routed: RoutedRequest, way: Way, failure: BaseException) -> None:
        """Tell the client why there is no answer; if nobody waits for one, the server, too."""
        link, pending = way
        self._calls.note(routed, failure)
        if isinstance(failure, ToolyardError):
            routed.request.respond(explained(failure))
        else:
            link.cancel(pending, LEFT)
            routed.request.fail(failure)

    async def _go_on(self, routed: RoutedRequest, way: Way, request: ClientRequest) -> Message:
        """Go on with a call whose server has asked its client something first."""
        try:
            message = await self._follow(way[0], request, way[1], routed.method, routed.fields)
        except BaseException as error:
            self._calls.note(routed, error)
            raise
        reply = self._calls.answered(routed, message)
        if len(reply.result) > request.session.largest:
            self._quirks.fit(request.session, routed.route, reply)
        return reply


async def _fail(request: ClientRequest, failure: Exception) -> None:
    """Fail a request that could not be begun, as a task that serves it would."""
    request.fail(failure)
    raise failure
