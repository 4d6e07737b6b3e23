"""A server over stdio whose answers are as long as the caller likes, and laid out as it likes.

`say` answers with so many bytes; its `layout` says where the id stands: `first`, `last`, or
`hidden` where neither the beginning nor the end of the line tells. `hold` answers when told to
`let_go`. `chat` sends a long notification before its short answer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Json = dict[str, Any]
TOOLS = ("say", "hold", "let_go", "chat", "pid")


class Wordy:
    def __init__(self) -> None:
        self.held: list[Any] = []

    def take(self, message: Json) -> None:
        method, id_ = message.get("method"), message.get("id")
        if method == "initialize":
            info = {"name": "wordy", "version": "1"}
            can: Json = {"tools": {}}
            said = {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info}
            self.send({"id": id_, "result": said})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            self.send({"id": id_, "result": {"tools": tools}})
        elif method == "tools/call":
            self.call(id_, message["params"]["name"], message["params"].get("arguments") or {})
        elif id_ is not None and method:
            self.send({"id": id_, "error": {"code": -32601, "message": "unknown method"}})

    def call(self, id_: Any, name: str, arguments: Json) -> None:
        if name == "hold":
            self.held.append(id_)
        elif name == "let_go":
            for held in self.held:
                self.send({"id": held, "result": text("let go")})
            self.held.clear()
            self.send({"id": id_, "result": text("done")})
        elif name == "say":
            self.say(id_, text("x" * arguments["size"]), arguments.get("layout", "first"))
        elif name == "chat":
            line = {"level": "info", "data": "x" * arguments["size"]}
            self.send({"method": "notifications/message", "params": line})
            self.send({"id": id_, "result": text("short")})
        else:
            self.send({"id": id_, "result": text(str(os.getpid()))})

    def say(self, id_: Any, result: Json, layout: str) -> None:
        if layout == "first":
            self.send({"id": id_, "result": result})
        elif layout == "last":
            print(json.dumps({"result": result, "jsonrpc": "2.0", "id": id_}), flush=True)
        else:
            more = {"about": "y" * 5000, "jsonrpc": "2.0", "id": id_, "result": result}
            print(json.dumps(more), flush=True)

    def send(self, message: Json) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


if __name__ == "__main__":
    server = Wordy()
    for line in sys.stdin:
        server.take(json.loads(line))
