"""A fast MCP server to measure against: echo, payload, sleep and N generated tools.

    python upstream.py stdio [--tools N]
    python upstream.py http [--servers N] [--tools N]     prints its addresses, then serves

Legacy era only, and no more of it than the benchmark uses: it must never be what is slow.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import select
import time
from typing import Any

VERSION = "2025-06-18"
HEAD = b'{"jsonrpc":"2.0","id":%b,"result":%b}'


def plain(name: str, field: str, kind: str) -> dict[str, Any]:
    """A tool with one argument."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"name": name, "description": f"The benchmark's {name}.", "inputSchema": schema}


def generated(number: int) -> dict[str, Any]:
    """A tool whose description is about as long as those of real servers: 1.2 KB."""
    words = "Looks up records, filters them by the given conditions and returns a page of them. "
    fields: dict[str, Any] = {
        f"field_{index}": {"type": "string", "description": f"Condition {index}. {words}"[:90]}
        for index in range(5)
    }
    fields["limit"] = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
    fields["order"] = {"type": "string", "enum": ["newest", "oldest", "best"], "default": "best"}
    schema = {"type": "object", "properties": fields, "required": ["field_0"]}
    hints = {"readOnlyHint": True, "openWorldHint": False}
    described = {"name": f"lookup_{number:03}", "description": words * 4, "annotations": hints}
    return {**described, "inputSchema": {**schema, "additionalProperties": False}}


class Core:
    """Turns one message into a delay and an answer, without knowing the transport."""

    def __init__(self, tools: int) -> None:
        own = [plain("echo", "text", "string"), plain("payload", "kib", "integer")]
        own.append(plain("sleep", "ms", "integer"))
        self.listed = json.dumps({"tools": own + [generated(n) for n in range(tools)]}).encode()
        self.payloads: dict[int, bytes] = {}
        identity = {"name": "bench", "version": "1"}
        opened = {"protocolVersion": VERSION, "capabilities": {"tools": {}}}
        self.opened = json.dumps({**opened, "serverInfo": identity}).encode()

    def answer(self, message: dict[str, Any]) -> tuple[float, bytes]:
        """Seconds to wait and what to send then; nothing for a notification."""
        if "id" not in message or "method" not in message:
            return 0, b""
        number, method = json.dumps(message["id"]).encode(), message["method"]
        if method == "tools/call":
            return self.call(number, message["params"])
        if method == "tools/list":
            return 0, HEAD % (number, self.listed)
        if method == "initialize":
            return 0, HEAD % (number, self.opened)
        if method == "ping":
            return 0, HEAD % (number, b"{}")
        error = b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"method not found"}}'
        return 0, error % number

    def call(self, number: bytes, params: dict[str, Any]) -> tuple[float, bytes]:
        """Run a tool."""
        name, arguments = params["name"], params.get("arguments") or {}
        if name == "payload":
            return 0, HEAD % (number, self.payload(int(arguments["kib"])))
        delay = arguments["ms"] / 1000 if name == "sleep" else 0
        text = json.dumps(arguments.get("text", name))
        result = b'{"content":[{"type":"text","text":%b}],"isError":false}' % text.encode()
        return delay, HEAD % (number, result)

    def payload(self, kib: int) -> bytes:
        """A result of that size, made once; line ends give it the escapes that text has."""
        if kib not in self.payloads:
            text = ("lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do\n" * 16) * kib
            self.payloads[kib] = json.dumps({"content": [{"type": "text", "text": text}]}).encode()
        return self.payloads[kib]


def write(data: bytes) -> None:
    """Write all of it to stdout."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def serve_stdio(core: Core) -> None:
    """One blocking loop with a heap of answers that are due later."""
    due: list[tuple[float, int, bytes]] = []
    buffer, count = b"", 0
    while True:
        wait = max(0.0, due[0][0] - time.monotonic()) if due else None
        if select.select([0], [], [], wait)[0]:
            chunk = os.read(0, 1 << 18)
            if not chunk:
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            out = []
            for delay, answer in (core.answer(json.loads(line)) for line in lines if line.strip()):
                if delay:
                    count += 1
                    heapq.heappush(due, (time.monotonic() + delay, count, answer))
                elif answer:
                    out.append(answer + b"\n")
            write(b"".join(out))
        while due and due[0][0] <= time.monotonic():
            write(heapq.heappop(due)[2] + b"\n")


def serve_http(servers: int, tools: int) -> None:
    """All servers in one process, each on a port of its own."""
    import uvloop
    from http_wire import Door, listen

    class Upstream(Door):
        sessions: set[bytes]
        core: Core

        def on_request(self, method: bytes, session: bytes, body: bytes) -> None:
            if method == b"DELETE":
                self.sessions.discard(session)
                self.reply(200)
                return
            if method != b"POST":
                self.reply(405)
                return
            message = json.loads(body)
            opened = b""
            if message.get("method") == "initialize":
                opened = os.urandom(16).hex().encode()
                self.sessions.add(opened)
            elif session not in self.sessions:
                self.reply(404 if session else 400)
                return
            delay, answer = self.core.answer(message)
            if delay:
                self.loop.call_later(delay, self.reply, 200, answer)
            else:
                self.reply(200 if answer else 202, answer, opened)

    async def main() -> None:
        ports = []
        for _ in range(servers):
            held = {"sessions": set(), "core": Core(tools)}
            ports.append(await listen(type("Server", (Upstream,), held), 0))
        print(json.dumps([f"http://127.0.0.1:{port}/mcp" for port in ports]), flush=True)
        await forever()

    uvloop.run(main())


async def forever() -> None:
    """Serve until killed."""
    import asyncio

    await asyncio.Event().wait()


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=("stdio", "http"))
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--tools", type=int, default=0)
    given = parser.parse_args()
    if given.transport == "stdio":
        serve_stdio(Core(given.tools))
    else:
        serve_http(given.servers, given.tools)


if __name__ == "__main__":
    main()
