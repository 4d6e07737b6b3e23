"""The part of a client's conversation that the next hub must know, should this one end.

The stdio entry passes every message through here. Only envelopes are looked at, and with `json`:
to import a quicker reader takes as long as all the rest of the entry's start.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False  # checkers know this name; to import it would cost what is saved here
if TYPE_CHECKING:
    from typing import Any

Json = dict[str, "Any"]

LISTEN = "subscriptions/listen"
REPEATED = frozenset(
    (
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/list",
        "resources/list",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        LISTEN,
        "tools/list",
    )
)
"""Requests that change nothing but what the hub knows of the client, so that they may be sent to
one hub after another until one answers. A call may not: nobody knows how far it got."""
LOST = (
    "the hub ended while this request was under way, and whether it was carried out is not known; "
    "a new hub takes further requests"
)
HOLDING = b'{"jsonrpc":"2.0","method":"toolyard/holding"}\n'
"""Tells a hub that is about to be restarted that no more requests will come."""

_SERVER_ERROR = -32000
_RESULT = b'{"jsonrpc":"2.0","result":'
_NOTICE = b'{"jsonrpc":"2.0","method":'
_ID = rb'-?\d+|"[^"\\]*+(?:\\.?+[^"\\]*+)*+"|null'
_WITH_ID = re.compile(rb'\{"jsonrpc":"2\.0","id":(' + _ID + rb'),"(error|method)":')
# Calls, which are most of what clients say, in the two layouts that the SDKs write.
_CALL = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"method":"tools/call",')
_CALL_FIRST = b'{"method":"tools/call",'
_ID_LAST = re.compile(rb',"jsonrpc":"2\.0","id":(\d+)\}\s*\Z')
_ID_LONGEST = 64
"""Bytes at the end of a line in which its id is looked for, if it stands last."""
_OUR_LINE = b'{"toolyard":'
_OUR_ID = b'"toolyard:again:'
ACKNOWLEDGED = b'{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"'
_LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged"} | {
    "resources": "resourcesListChanged"
}
"""The lists that may have changed, and the field by which a modern client subscribes to each."""


class Conversation:
    """One client's requests under way, the hub's questions, and all that lasts longer."""

    def __init__(self, hello: Json) -> None:
        self._hello = hello
        self._hubs = 0
        self.leaving = ""
        """The reason for which the hub is about to end, once it said: `restart` or `stop`."""
        self._under_way: dict[bytes, bytes] = {}
        """The client's requests, by id; with their line if they may be repeated."""
        self._questions: dict[bytes, None] = {}
        """The hub's requests to the client, by id, in order."""
        self._asked = 0
        """The highest number of such a question."""
        self._greeting: Json | None = None
        self._is_ready = False
        self._level: Json | None = None
        self._followed: dict[str, Json] = {}
        self._unacknowledged: set[bytes] = set()
        """Listening requests that were repeated: the client has their acknowledgement already."""

    def note_call(self, line: bytes) -> bool:
        """Note a line if it is a call as most clients write it, which need not be parsed."""
        if line.startswith(_CALL_FIRST):
            match = _ID_LAST.search(line, max(0, len(line) - _ID_LONGEST))
        else:
            match = _CALL.match(line)
        if match is not None:
            self._under_way[match[1]] = b""
        return match is not None

    def note_message(self, message: Json, line: bytes) -> None:
        """Note a message of the client that is sent to the hub."""
        method = message.get("method")
        if is_request(message):
            self._under_way[key_of(message["id"])] = line if method in REPEATED else b""
            self._keep(method, message.get("params"))
        elif method == "notifications/initialized":
            self._is_ready = True
        elif method == "notifications/cancelled":
            # No answer is wanted, and none will come.
            self._under_way.pop(key_of(within(message, "params", "requestId")), None)
        elif method is None:
            self._questions.pop(key_of(message.get("id")), None)

    def forget_request(self, message: Json) -> None:
        """Forget a request that the hub did not get."""
        self._under_way.pop(key_of(message["id"]), None)

    def note_hub_line(self, line: bytes) -> bool:
        """Note a line of the hub; return False if it is not for the client."""
        if line.startswith(_RESULT):
            # The hub writes the id of a result last; see `wire.jsonrpc.result`.
            return self._answered(line[line.rfind(b',"id":') + 6 :].rstrip()[:-1])
        if line.startswith(_NOTICE):
            return not (self._unacknowledged and self._is_repeated(line))
        head = _WITH_ID.match(line)
        if head is not None:
            return self._asks(head[1]) if head[2] == b"method" else self._answered(head[1])
        return self._note_other_line(line)

    def end_hub(self, *, repeats: bool) -> bytes:
        """Return what to tell the client now that the hub has ended.

        Requests under way get an error unless they are repeated, and questions are withdrawn.
        """
        lines = [
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%b,'
            b'"reason":"the hub has ended"}}\n' % key
            for key in self._questions
        ]
        ended = [key for key, line in self._under_way.items() if not (line and repeats)]
        for key in ended:
            del self._under_way[key]
        self._questions.clear()
        self._unacknowledged.clear()
        return b"".join([*lines, *(_error(key, LOST) for key in ended)])

    def introduce(self) -> bytes:
        """Return the first lines for the next hub: what the client told the one before."""
        # Questions are never numbered twice: a late answer must not be taken for another's.
        returning = {"again": True, "asked": self._asked} if self._hubs else {}
        lines = [_line({"toolyard": {**self._hello, **returning}})]
        self._hubs += 1
        methods = {key: read(line).get("method") for key, line in self._under_way.items()}
        if self._greeting is not None and "initialize" not in methods.values():
            lines += self.introduction()
        self._unacknowledged = {key for key, method in methods.items() if method == LISTEN}
        return b"".join([*lines, *self._under_way.values()])

    def announce_changes(self) -> bytes:
        """Return what to tell the client of a new hub: any list may have changed."""
        lines = [_news(kind, {}) for kind in _LISTS] if self._is_ready else []
        for line in list(self._under_way.values()):
            message = read(line)
            if message.get("method") == LISTEN:
                lines += modern_news(message)
        return b"".join(lines)

    def _keep(self, method: object, params: object) -> None:
        """Keep what holds for as long as the client is there."""
        if not isinstance(params, dict):
            return
        if method == "initialize":
            self._greeting = params
        elif method == "logging/setLevel":
            self._level = params
        elif method == "resources/subscribe":
            self._followed[str(params.get("uri"))] = params
        elif method == "resources/unsubscribe":
            self._followed.pop(str(params.get("uri")), None)

    def introduction(self) -> list[bytes]:
        """Return what another hub must be told of the client: its greeting, and what it wishes."""
        requests = [("initialize", self._greeting), ("logging/setLevel", self._level)]
        requests += [("resources/subscribe", params) for params in self._followed.values()]
        lines = [
            _line(
                {"jsonrpc": "2.0", "id": f"toolyard:again:{n}", "method": method, "params": params}
            )
            for n, (method, params) in enumerate(requests)
            if params is not None
        ]
        if self._is_ready:
            lines.insert(1, _line({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return lines

    def _answered(self, raw: bytes) -> bool:
        if raw.startswith(_OUR_ID):
            return False
        self._under_way.pop(_spelt(raw), None)
        return True

    def _asks(self, raw: bytes) -> bool:
        self._questions[raw] = None
        if raw.isdigit():
            self._asked = max(self._asked, int(raw))
        return True

    def _is_repeated(self, line: bytes) -> bool:
        """Tell whether a line acknowledges what the hub before had acknowledged."""
        if not line.startswith(ACKNOWLEDGED):
            return False
        key = key_of(_subscription(read(line)))
        is_repeated = key in self._unacknowledged
        self._unacknowledged.discard(key)
        return is_repeated

    def _note_other_line(self, line: bytes) -> bool:
        """Note a line in a layout that hubs of this version do not write for clients."""
        message = read(line)
        if line.startswith(_OUR_LINE):
            self.leaving = str(within(message, "toolyard", "leaving") or "")
            return False
        raw = json.dumps(message.get("id")).encode()
        return self._asks(raw) if "method" in message else self._answered(raw)


def read(line: bytes) -> Json:
    """Return one message; empty if it is none, for which the hub has the better error."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def is_request(message: Json) -> bool:
    """Tell whether a message is a request, which is answered by its id."""
    id_ = message.get("id")
    is_id = isinstance(id_, str | int | float) and not isinstance(id_, bool)
    return is_id and isinstance(message.get("method"), str)


def refusal(message: Json, text: str) -> bytes:
    """Return the answer to a request that no hub will get."""
    return _error(key_of(message["id"]), text)


def pong(message: Json) -> bytes:
    """Return the answer to a ping: the client asks whether we are there."""
    return b'{"jsonrpc":"2.0","id":%b,"result":{}}\n' % key_of(message["id"])


def key_of(id_: object) -> bytes:
    """Return an id in one spelling."""
    return json.dumps(id_).encode()


def _spelt(raw: bytes) -> bytes:
    """Return an id that came as bytes in that spelling."""
    return raw if raw.isdigit() else key_of(read(b'{"id":%b}' % raw).get("id"))


def _line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _error(key: bytes, text: str) -> bytes:
    fault = json.dumps({"code": _SERVER_ERROR, "message": text}).encode()
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (key, fault)


def _news(kind: str, params: Json) -> bytes:
    notice = {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"}
    return _line({**notice, "params": params} if params else notice)


def modern_news(listening: Json) -> list[bytes]:
    """Return what to tell a client that listens, if it may have missed something."""
    from toolyard.wire.era import META_SUBSCRIPTION

    meta = {"_meta": {META_SUBSCRIPTION: listening["id"]}}
    wanted = [
        kind
        for kind, field in _LISTS.items()
        if within(listening, "params", "notifications", field) is True
    ]
    return [_news(kind, meta) for kind in wanted]


def _subscription(message: Json) -> object:
    from toolyard.wire.era import META_SUBSCRIPTION

    return within(message, "params", "_meta", META_SUBSCRIPTION)


def within(value: object, *keys: str) -> object:
    """Return the value at the end of a path of keys, if there is one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
