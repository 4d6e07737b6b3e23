"""A server whose calls are all answered at one moment: `gated.py FOLDER`.

The tool `wait` is answered as soon as `FOLDER/open` exists; until then `FOLDER/waiting` says how
many calls have come.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
TOOL = {"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}}
ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "gated", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "ping": {},
}
waiting: list[dict[str, Any]] = []
turn = threading.Lock()


def answer(message: dict[str, Any], result: Any) -> None:
    said = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
    sys.stdout.write(said + "\n")
    sys.stdout.flush()


def let_through() -> None:
    """Answer what waits, if the gate is open."""
    with turn:
        (FOLDER / "new").write_text(str(len(waiting)))
        (FOLDER / "new").replace(FOLDER / "waiting")
        if (FOLDER / "open").exists():
            while waiting:
                call = waiting.pop()
                answer(call, {"content": [{"type": "text", "text": str(call["params"])}]})


def look() -> None:
    while True:
        let_through()
        pause.wait(0.02)


pause = threading.Event()
threading.Thread(target=look, daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        with turn:
            waiting.append(message)
    elif "id" in message:
        with turn:
            if message["method"] in ANSWERS:
                answer(message, ANSWERS[message["method"]])
            else:
                fault = {"code": -32601, "message": "no such method"}
                said = {"jsonrpc": "2.0", "id": message["id"], "error": fault}
                print(json.dumps(said), flush=True)
