"""A hub that dies as a killed one may: its connection ends a moment before its socket does."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any


def greet(client: socket.socket) -> None:
    """Answer `initialize`, and wait until the client has taken it in."""
    lines = client.makefile("rwb")
    while (message := json.loads(lines.readline())).get("method") != "notifications/initialized":
        if message.get("method") == "initialize":
            params = message["params"]
            result: dict[str, Any] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {},
                "serverInfo": {"name": "dying", "version": "1"},
            }
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            lines.write(json.dumps(answer).encode() + b"\n")
            lines.flush()


def main(path: str, got: Path) -> None:
    """Listen at `path`, hang up on the first client, and note what it sends after that."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("listens", flush=True)
        client, _ = listener.accept()
        greet(client)
        client.shutdown(socket.SHUT_RDWR)
        client.close()
        late, _ = listener.accept()
        got.write_bytes(late.recv(1 << 16))
        Path(path).unlink()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
