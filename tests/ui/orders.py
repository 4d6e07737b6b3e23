"""Orders to the hub from within a page, as another window would give, and calls of a client."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from tests.e2e.hub import PATIENCE, RunningHub

SOUP = {"dish": "soup", "table": 1}
_SEND = """async ([method, path, body]) => {
    const {order} = await import("/ui/assets/lib/store.js");
    return order(method, path, body === null ? undefined : body);
}"""


async def order(page: Any, method: str, path: str, body: Any = None) -> Any:
    """What the control API answers."""
    return await page.evaluate(_SEND, [method, path, body])


def call_tool(hub: RunningHub, token: str, tool: str, arguments: Any = None) -> str:
    """Call a tool as a client that can show no form, and stays connected; return the answer."""
    head = {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }

    def post(method: str, params: dict[str, Any], session: dict[str, str]) -> tuple[Any, bytes]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = Request(hub.mcp, json.dumps(body).encode(), {**head, **session})
        with urlopen(request, timeout=PATIENCE) as answer:
            return answer.headers.get("mcp-session-id"), answer.read()

    client = {"name": "a test", "version": "1"}
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    session, _ = post("initialize", greeting, {})
    params = {"name": tool, "arguments": SOUP if arguments is None else arguments}
    _, answer = post("tools/call", params, {"mcp-session-id": session})
    return answer.decode()
