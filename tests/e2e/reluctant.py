"""An MCP server over stdio that grants subscriptions only when it is told to.

    python reluctant.py legacy|modern

Its tools `grant` and `refuse` decide on the subscriptions that wait; `hurry` grants them and tells
of a change at once, a legacy server even before. `begin` begins a task, and `change` tells of a
change to all that is followed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Json = dict[str, Any]

META = "io.modelcontextprotocol/"
URI = "note://one"
TOOLS = ("grant", "refuse", "hurry", "begin", "change")
CAN: Json = {"tools": {}, "resources": {"subscribe": True}, "extensions": {META + "tasks": {}}}
TASK = {
    "taskId": "t1",
    "createdAt": "2026-07-28T00:00:00Z",
    "lastUpdatedAt": "2026-07-28T00:00:00Z",
}


def say(**message: Any) -> None:
    """Write one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


class Reluctant:
    """What waits, and what was granted."""

    def __init__(self, era: str) -> None:
        self.is_modern = era == "modern"
        self.waiting: dict[Any, Json] = {}
        self.granted: dict[Any, Json] = {}

    def take(self, message: Json) -> None:
        """Answer one message."""
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "notifications/cancelled":
            self.granted.pop(params["requestId"], None)
        elif method in ("subscriptions/listen", "resources/subscribe") and self.knows(method):
            self.waiting[number] = params.get("notifications") or {}
            if method == "subscriptions/listen" and len(self.waiting[number]) == 3:
                self.decide(grant=True)  # lists alone
        elif number is not None:
            answer = self.answer(str(method), params)
            say(id=number, **(answer or {"error": {"code": -32601, "message": "no"}}))

    def knows(self, method: str) -> bool:
        """Whether a method is of this server's era."""
        return self.is_modern == (method == "subscriptions/listen")

    def answer(self, method: str, params: Json) -> Json | None:
        """The response to a request; None for a method that is not known."""
        info = {"name": "reluctant", "version": "1"}
        if method == "initialize" and not self.is_modern:
            said = {"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": CAN}
            return {"result": said}
        results: Json = {
            "tools/list": {
                "tools": [{"name": n, "inputSchema": {"type": "object"}} for n in TOOLS]
            },
            "resources/list": {"resources": [{"uri": URI, "name": "one"}]},
            "resources/unsubscribe": {},
        }
        if self.is_modern:
            results["server/discover"] = {"supportedVersions": ["2026-07-28"], "capabilities": CAN}
        if method == "tools/call":
            results[method] = getattr(self, params["name"])()
        return (
            {"result": {"resultType": "complete", **results[method]}} if method in results else None
        )

    def grant(self) -> Json:
        """Grant all that waits."""
        return self.decide(grant=True)

    def refuse(self) -> Json:
        """Refuse it."""
        return self.decide(grant=False)

    def hurry(self) -> Json:
        """Grant all that waits, and tell of a change in the same breath."""
        if not self.is_modern and self.waiting:
            say(method="notifications/resources/updated", params={"uri": URI})
        decided = self.decide(grant=True)
        if self.is_modern:
            self.change()
        return decided

    def decide(self, *, grant: bool) -> Json:
        """Answer all that waits."""
        decided = len(self.waiting)
        for number, wanted in self.waiting.items():
            if self.is_modern:
                honoured = wanted if grant else {}
                meta = {META + "subscriptionId": number}
                said = {"notifications": honoured, "_meta": meta}
                say(method="notifications/subscriptions/acknowledged", params=said)
                self.granted[number] = honoured
            elif grant:
                say(id=number, result={})
                self.granted[number] = {"resourceSubscriptions": [URI]}
            else:
                say(id=number, error={"code": -32602, "message": "not this one"})
        self.waiting.clear()
        return {"content": [{"type": "text", "text": str(decided)}]}

    def begin(self) -> Json:
        """Begin a task."""
        return {"resultType": "task", "status": "working", "ttlMs": None, **TASK}

    def change(self) -> Json:
        """Tell of a change."""
        for number, followed in list(self.granted.items()):
            meta = {"_meta": {META + "subscriptionId": number}} if self.is_modern else {}
            for uri in followed.get("resourceSubscriptions", ()):
                say(method="notifications/resources/updated", params={"uri": uri, **meta})
            for _ in followed.get("taskIds", ()):
                done: Json = {"status": "completed", "ttlMs": None, "result": {"content": []}}
                say(method="notifications/tasks", params={**TASK, **done, **meta})
        return {"content": []}


def main() -> None:
    """Serve until stdin closes."""
    server = Reluctant(sys.argv[1])
    for line in sys.stdin:
        server.take(json.loads(line))


if __name__ == "__main__":
    main()
