"""An MCP server over stdio that answers with the very texts of a script.

    python scripted.py SCRIPT.json

The script holds `capabilities` and `replies`: a result as JSON text for each method, or for
`tools/call NAME`, `prompts/get NAME` and `resources/read URI`. It is a legacy server, unless the
script has a reply to `server/discover`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def greet(params: dict[str, Any], script: dict[str, Any]) -> str:
    """The answer to `initialize`."""
    said: dict[str, Any] = {
        key: script[key] for key in ("capabilities", "instructions") if key in script
    }
    said["serverInfo"] = {"name": "scripted", "version": "1"}
    return json.dumps({"protocolVersion": params["protocolVersion"], **said})


def reply(message: dict[str, Any], script: dict[str, Any]) -> str:
    """The response to one request, as one line."""
    method, params = message["method"], message.get("params") or {}
    key = f"{method} {params.get(NAMED[method])}" if method in NAMED else method
    body = script["replies"].get(key)
    if method == "initialize" and body is None:
        body = greet(params, script)
    number = json.dumps(message["id"])
    if body is None:
        return f'{{"jsonrpc":"2.0","id":{number},"error":{{"code":-32601,"message":"no {key}"}}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"result":{body}}}'


def main() -> None:
    """Answer until stdin closes."""
    script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            sys.stdout.buffer.write(reply(message, script).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
