"""A server over stdio that asks for its client's folders once it was greeted, and when they change.

Its tool `folders` says which it was told last, as the well-known filesystem server does: an empty
list changes nothing. With `wait` it says that it waits, and answers once it was told of any.

An argument is the number of further messages that it takes before it has read what it was told:
the filesystem server looks at the disk first, and serves calls meanwhile.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Json = dict[str, Any]


class Folders:
    def __init__(self, turns: int = 0) -> None:
        self.turns = turns
        self.unread: list[tuple[int, list[str]]] = []
        """What it was told, each with the turns until it has read that."""
        self.asked = 0
        self.folders: list[str] = []
        self.call: Any = None
        """The call that waits until it is known which folders there are."""
        self.has_roots = False

    def take(self, message: Json) -> None:
        method = message.get("method", "")
        self.read()
        if method == "initialize":
            self.has_roots = "roots" in message["params"]["capabilities"]
            info = {"name": "folders", "version": "1"}
            can: Json = {"tools": {}}
            said = {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info}
            self.send({"id": message["id"], "result": said})
        elif method in ("notifications/initialized", "notifications/roots/list_changed"):
            self.ask()
        elif method == "tools/list":
            tools = [{"name": "folders", "inputSchema": {"type": "object"}}]
            self.send({"id": message["id"], "result": {"tools": tools}})
        elif method == "tools/call" and message["params"].get("arguments", {}).get("wait"):
            self.call = message["id"]
            params = {"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1}
            self.send({"method": "notifications/progress", "params": params})
        elif method == "tools/call":
            self.tell(message["id"])
        elif not method and "result" in message:
            self.unread.append((self.turns + 1, [r["uri"] for r in message["result"]["roots"]]))
            self.read()
        elif "id" in message and method:
            fault = {"code": -32601, "message": "unknown method"}
            self.send({"id": message["id"], "error": fault})

    def read(self) -> None:
        self.unread = [(turns - 1, told) for turns, told in self.unread]
        while self.unread and self.unread[0][0] <= 0:
            self.folders = self.unread.pop(0)[1] or self.folders
        if self.call is not None and self.folders:
            self.tell(self.call)
            self.call = None

    def tell(self, call: Any) -> None:
        text = json.dumps({"folders": self.folders, "pid": os.getpid()})
        self.send({"id": call, "result": {"content": [{"type": "text", "text": text}]}})

    def ask(self) -> None:
        if self.has_roots:
            self.asked += 1
            self.send({"id": f"folders {self.asked}", "method": "roots/list"})

    def send(self, message: Json) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    server = Folders(*map(int, sys.argv[1:]))
    for line in sys.stdin:
        server.take(json.loads(line))
