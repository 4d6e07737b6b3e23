"""A server without any library for MCP: a plain ASGI app, announced around uvicorn.

It echoes its nonce, so that a client can be sure to have reached the server that was announced.

    python plain_asgi.py [port]
"""

import json
import secrets
import sys
from typing import Any

import uvicorn

from toolyard.announce import announce

port = int(sys.argv[1]) if len(sys.argv) > 1 else 8003
nonce = secrets.token_urlsafe(16)
ANSWERS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "pinger", "version": "1.0"},
    },
    "tools/list": {
        "tools": [{"name": "ping_me", "description": "Answers.", "inputSchema": {"type": "object"}}]
    },
    "tools/call": {"content": [{"type": "text", "text": "pong"}]},
    "ping": {},
}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer one request."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        event = await receive()
        body, more = body + event.get("body", b""), event.get("more_body", False)
    status, answer = (405, None) if scope["method"] != "POST" else reply(json.loads(body))
    headers = [(b"content-type", b"application/json"), (b"mcp-announce-nonce", nonce.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    text = b"" if answer is None else json.dumps(answer).encode()
    await send({"type": "http.response.body", "body": text})


def reply(message: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
    """Answer one message: a status, and what to send with it."""
    if "id" not in message:
        return 202, None
    envelope = {"jsonrpc": "2.0", "id": message["id"]}
    if message.get("method") in ANSWERS:
        return 200, {**envelope, "result": ANSWERS[message["method"]]}
    return 200, {**envelope, "error": {"code": -32601, "message": "no such method"}}


with announce("pinger", url=f"http://127.0.0.1:{port}/mcp", tools=["ping_me"], nonce=nonce):
    uvicorn.run(app, host="127.0.0.1", port=port, lifespan="off")
