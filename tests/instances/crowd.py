"""A server over stdio that many clients use at once: `crowd.py legacy|modern`.

It answers, reports progress, asks and waits, all at the same time in one thread, and says in the
end what became of all that. A call may say what is asked (`kind`), how often (`times`), and whether
a line is logged before each question (`log`).
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

Json = dict[str, Any]
META = "io.modelcontextprotocol/"
TOOLS = ("echo", "steps", "ask", "wait", "tally")
STEPS = 3


class Crowd:
    def __init__(self, era: str) -> None:
        self.modern = era == "modern"
        self.running: dict[Any, asyncio.Task[None]] = {}
        self.questions: dict[str, asyncio.Future[Json]] = {}
        self.tally = {"answered": 0, "cancelled": 0, "asked": 0, "refused": 0}

    def send(self, message: Json) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def take(self, line: bytes) -> None:
        message = json.loads(line)
        method = message.get("method")
        if method is None:
            self.questions.pop(message["id"]).set_result(message)
        elif method == "notifications/cancelled":
            # One that has not begun yet never runs, so it cannot count itself.
            task = self.running.pop(message["params"]["requestId"], None)
            if task is not None:
                self.tally["cancelled"] += 1
                task.cancel()
        elif "id" in message:
            # As it was when this line came, not when it is its turn.
            message.setdefault("params", {})["running"] = len(self.running)
            task = asyncio.get_running_loop().create_task(self.serve(message))
            self.running[message["id"]] = task

    async def serve(self, message: Json) -> None:
        id_, params = message["id"], message.get("params") or {}
        result = await self.answer(message["method"], params, id_)
        self.running.pop(id_, None)
        if result is None:
            self.send({"id": id_, "error": {"code": -32601, "message": "unknown method"}})
        else:
            self.tally["answered"] += 1
            kind = {"resultType": "complete"} if self.modern else {}
            self.send({"id": id_, "result": {**kind, **result}})

    async def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        who = {"name": "crowd", "version": "1"}
        can: Json = {"capabilities": {"tools": {}}}
        if method == "server/discover" and self.modern:
            return {"supportedVersions": ["2026-07-28"], **can, "_meta": {META + "serverInfo": who}}
        if method == "initialize" and not self.modern:
            return {"protocolVersion": "2025-11-25", **can, "serverInfo": who}
        if method == "tools/list":
            return {"tools": [{"name": t, "inputSchema": {"type": "object"}} for t in TOOLS]}
        if method != "tools/call":
            return None
        return await self.call(params["name"], params["arguments"], params)

    async def call(self, name: str, arguments: Json, params: Json) -> Json:
        mark = f"{arguments.get('who')} {arguments.get('n')}"
        if name == "steps":
            token = params["_meta"]["progressToken"]
            for step in range(STEPS):
                said = {"progressToken": token, "progress": step, "message": f"{mark} {step}"}
                self.send({"method": "notifications/progress", "params": said})
                await asyncio.sleep(0)
        elif name == "ask":
            return await self.ask(mark, params)
        elif name == "wait":
            token = params.get("_meta", {}).get("progressToken")
            if token is not None:
                begun = {"progressToken": token, "progress": 0, "message": mark}
                self.send({"method": "notifications/progress", "params": begun})
            await asyncio.Event().wait()
        elif name == "tally":
            return text(json.dumps({**self.tally, "running": params["running"]}))
        return text(mark)

    async def ask(self, mark: str, params: Json) -> Json:
        question = make_question(params["arguments"].get("kind", "elicitation"), mark)
        if self.modern:
            given = (params.get("inputResponses") or {}).get("who")
            if given is None:
                self.tally["asked"] += 1
                asked = {"inputRequests": {"who": question}, "requestState": mark}
                return {"resultType": "input_required", **asked}
            assert params["requestState"] == mark
            return text(json.dumps(given))
        said: Json = {}
        for _ in range(params["arguments"].get("times", 1)):
            if params["arguments"].get("log"):
                line = {"level": "info", "data": mark}
                self.send({"method": "notifications/message", "params": line})
            said = await self.put(question)
            if "error" in said:
                self.tally["refused"] += 1
                return text("refused")
        return text(json.dumps(said["result"]))

    async def put(self, question: Json) -> Json:
        """Ask whoever is at the other end of the pipe; the whole response."""
        self.tally["asked"] += 1
        number = f"q{self.tally['asked']}"
        answer = self.questions[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, **question})
        return await answer


def make_question(kind: str, mark: str) -> Json:
    """A question that says on whose behalf it is asked."""
    if kind == "sampling":
        message = {"role": "user", "content": {"type": "text", "text": mark}}
        return {
            "method": "sampling/createMessage",
            "params": {"messages": [message], "maxTokens": 9},
        }
    if kind == "roots":
        return {"method": "roots/list", "params": {}}
    schema = {"type": "object", "properties": {}}
    params = {"message": mark, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


async def main() -> None:
    crowd = Crowd(sys.argv[1])
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        crowd.take(line)


if __name__ == "__main__":
    asyncio.run(main())
