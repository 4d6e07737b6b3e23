"""An interceptor of a user's own, as a program or over HTTP; what it does is its first argument.

python peer.py WORK            speaks lines
python peer.py WORK PORTFILE   serves HTTP, and writes its port there
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def judge(params: Json) -> Json:
    """Refuse whatever says `bad`."""
    is_fine = "bad" not in json.dumps(params["payload"])
    messages = [] if is_fine else [{"message": "it says bad", "severity": "error"}]
    return {"valid": is_fine, "severity": "error", "messages": messages}


def change(params: Json) -> Json:
    """Say everything louder: arguments on their way, results on their way back."""
    payload = params["payload"]
    if params["phase"] == "request":
        arguments = payload["params"]["arguments"]
        arguments["text"] = arguments["text"].upper()
    else:
        payload["content"].append({"type": "text", "text": f"heard by {params['name']}"})
    return {"modified": True, "payload": payload}


def answer(work: str, message: Json) -> bytes | None:
    """The bytes that answer a message; None for none."""
    if message["method"] != "interceptor/invoke":
        error = {"code": -32601, "message": "not known"}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
    if work in BYTES:
        return BYTES[work]
    if work == "dead":
        os._exit(3)
    if work == "error":
        reply: Json = {"error": {"code": -32603, "message": "out of order"}}
    else:
        reply = {"result": RESULTS[work](message["params"])}
    number = 4711 if work == "wrong-id" else message["id"]
    return json.dumps({"jsonrpc": "2.0", "id": number, **reply}).encode()


BYTES: dict[str, bytes | None] = {"slow": None, "no-json": b"hello, no JSON", "redirect": b""}
RESULTS: dict[str, Callable[[Json], Json]] = {
    "judge": judge,
    "change": change,
    "warn": lambda _: {"valid": False, "severity": "warn"},
    "wrong-id": lambda _: {"valid": True, "modified": False},
    "huge": lambda _: {"modified": True, "payload": "x" * (2 << 20)},
    "no-result": lambda _: {"modified": True, "payload": {"content": "none"}},
    "no-answer": lambda _: {"fine": "yes"},
}


def speak(work: str) -> None:
    """Answer on stdout whatever stands on stdin."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and (reply := answer(work, message)) is not None:
            sys.stdout.buffer.write(reply + b"\n")
            sys.stdout.buffer.flush()


def serve(work: str, place: Path) -> None:
    """Answer posts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = answer(work, message)
            if reply is None:
                threading.Event().wait(60)
                return
            self.send_response(307 if work == "redirect" else 200)
            self.send_header("content-type", "application/json")
            self.send_header("location", self.path)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        place.with_suffix(".part").write_text(str(server.server_address[1]))
        place.with_suffix(".part").rename(place)
        server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(sys.argv[1], Path(sys.argv[2]))
    else:
        speak(sys.argv[1])
