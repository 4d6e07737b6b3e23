"""Modern requests to a hub elsewhere: each with the headers that HTTP wants beside its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolyard.core.errors import LinkError
from toolyard.doors.stdio.conversation import (
    ACKNOWLEDGED,
    LISTEN,
    Json,
    modern_news,
    read,
    within,
)
from toolyard.doors.stdio.remote_http import Deliver, RemoteHttp, RemoteReply
from toolyard.doors.stdio.remote_stream import AnswerStream, Pauses, is_answer
from toolyard.links.refusals import AuthNeededError
from toolyard.wire import era, jsonrpc
from toolyard.wire.headers import Path, encode_value, mirror, param_headers

PAGES: Final = 50
"""Pages of a list of tools that are read to find one."""

Marked = Mapping[Path, tuple[str, str]]


def is_modern(message: Json) -> bool:
    """Tell whether a request stands alone, without a session."""
    meta = within(message, "params", "_meta")
    has_version = isinstance(meta, dict) and era.META_VERSION in meta
    return message["method"] == "server/discover" or has_version


class ModernRequests:
    """The modern requests of one client."""

    def __init__(self, http: RemoteHttp, deliver: Deliver) -> None:
        self._http = http
        self._deliver = deliver
        self._marked: dict[str, Marked] = {}
        """The arguments of tools that travel as headers too."""

    async def send(self, message: Json, line: bytes) -> RemoteReply | None:
        """Send a request; None if its answer was delivered.

        Raises:
            ToolyardError: The hub cannot be reached, or lets nobody in.
        """
        if message["method"] == LISTEN:
            return await self._listen(message, line)
        stream = AnswerStream(self._deliver)
        reply = await self._http.send("POST", self._lines(message), stream.take, line)
        if _fault(reply.body) == era.HEADER_MISMATCH and await self._learn(message):
            reply = await self._http.send("POST", self._lines(message), stream.take, line)
        return None if stream.is_answered else reply

    def _lines(self, message: Json) -> str:
        """The headers of a request: those that repeat something of its body."""
        method, params = str(message["method"]), message.get("params")
        version = within(params, "_meta", era.META_VERSION)
        pairs = [
            ("mcp-protocol-version", version if isinstance(version, str) else era.MODERN),
            ("mcp-method", method),
        ]
        name = within(params, era.NAMED.get(method, ""))
        if isinstance(name, str):
            pairs.append(("mcp-name", name))
        lines = "".join(f"{key}: {encode_value(value)}\r\n" for key, value in pairs)
        marked = self._marked.get(str(name), {})
        mirrored = mirror(marked, within(params, "arguments"))
        return lines + "".join(f"{key}: {value}\r\n" for key, value in mirrored)

    async def _learn(self, message: Json) -> bool:
        """Learn which arguments of a tool are headers; return whether a call is another now.

        A client on stdio sends none, so a hub refuses the first call of such a tool.
        """
        name = within(message, "params", "name")
        if message["method"] != "tools/call" or not isinstance(name, str):
            return False
        marked = param_headers(await self._find_schema(message, name))
        is_new = marked != self._marked.get(name, {})
        self._marked[name] = marked
        return is_new

    async def _find_schema(self, message: Json, name: str) -> object:
        cursor: object = None
        for _ in range(PAGES):
            params = {"_meta": within(message, "params", "_meta")}
            params |= {"cursor": cursor} if cursor else {}
            question: Json = {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params}
            last: list[bytes] = []
            body = jsonrpc.encode(question)
            reply = await self._http.send("POST", self._lines(question), last.append, body)
            result = within(read(last[-1] if last else reply.body), "result")
            tools = within(result, "tools")
            for tool in tools if isinstance(tools, list) else ():
                if within(tool, "name") == name:
                    return within(tool, "inputSchema")
            cursor = within(result, "nextCursor")
            if not cursor:
                break
        return None

    async def _listen(self, message: Json, line: bytes) -> RemoteReply | None:
        """Hear of changes until the client has enough; a hub ends it with the token, or its own.

        Raises:
            ToolyardError: The hub cannot be reached the first time, or a person has to log in.
        """
        stream, pauses = _Listening(self._deliver, message), Pauses()
        while True:
            pauses.begin()
            try:
                reply = await self._http.send("POST", self._lines(message), stream.take, line)
            except AuthNeededError:
                raise
            except LinkError:
                if not stream.has_begun:
                    raise
            else:
                if stream.is_answered:
                    return None
                was_stream = reply.status == 200 and not reply.body
                if not was_stream and not (stream.has_begun and reply.status >= 500):
                    return reply
            stream.is_repeated = stream.has_begun
            await pauses.rest()


class _Listening:
    """The streams of one request that listens: the client sees one."""

    def __init__(self, deliver: Deliver, message: Json) -> None:
        self._deliver = deliver
        self._message = message
        self.has_begun = False
        self.is_repeated = False
        """True if the client has the acknowledgement already."""
        self.is_answered = False

    def take(self, message: bytes) -> None:
        """Take one message of a stream."""
        if is_answer(message):
            # By this error a hub ends a stream whose token expired, or that it cannot keep.
            self.is_answered = not (self.has_begun and _fault(message) == era.SERVER_ERROR)
            if not self.is_answered:
                return
        elif message.startswith(ACKNOWLEDGED):
            self.has_begun = True
            if self.is_repeated:
                for news in modern_news(self._message):
                    self._deliver(news.rstrip())
                return
        self._deliver(message)


def _fault(message: bytes) -> int:
    """Return the code of the error in a message; 0 if it is none."""
    code = within(read(message), "error", "code") if b'"error"' in message else 0
    return code if isinstance(code, int) else 0
