"""A small server over stdio that keeps notes: `notes.py KIND`.

KIND is `kept` (notes of all who came), `own` (it remembers nothing), `counted` (it counts who
looks), `vague` (no two answers are alike) or `plain` (nothing in it changes anything).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

READ = {"readOnlyHint": True}
EMPTY = {"type": "object"}
NEEDS = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Notes:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.notes: list[str] = []
        self.looks = 0

    def tools(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [
            {"name": "all", "inputSchema": EMPTY, "annotations": READ},
            {"name": "find", "inputSchema": NEEDS, "annotations": READ},
        ]
        return found if self.kind == "plain" else [*found, {"name": "add", "inputSchema": NEEDS}]

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "add":
            if self.kind == "kept":
                self.notes.append(arguments["text"])
            return "added"
        self.looks += 1
        if self.kind == "counted":
            return f"{self.looks} looks"
        return os.urandom(8).hex() if self.kind == "vague" else json.dumps(self.notes)

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            info = {"name": "notes", "version": "1.2"}
            can: dict[str, Any] = {"tools": {}}
            return {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info}
        if method == "tools/list":
            return {"tools": self.tools()}
        if method == "tools/call":
            text = self.call(params["name"], params.get("arguments") or {})
            return {"content": [{"type": "text", "text": text}]}
        return {} if method == "ping" else None


def main() -> None:
    notes = Notes(sys.argv[1])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        said = notes.answer(message["method"], message.get("params") or {})
        unknown = {"error": {"code": -32601, "message": "unknown method"}}
        body = {"result": said} if said is not None else unknown
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    main()
