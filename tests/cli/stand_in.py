"""A hub's control door as the command line sees it: real HTTP, a real run file, no hub behind."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from toolyard.records.runfile import HubState, RunDir
from toolyard.settings import read_settings

TOOL = {
    "name": "files__read",
    "server": "files",
    "tool": "read",
    "description": "Read a file.\nAll of it.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    },
}
SERVER = {
    "name": "files",
    "source": "configured",
    "alias": "files",
    "title": "",
    "project": "",
    "enabled": True,
    "state": "ready",
    "status": "ready",
    "starting_since": None,
    "transport": "stdio",
    "tools": 1,
    "prompts": 0,
    "resources": 2,
    "era": "modern",
    "protocol": "2026-07-28",
    "server_version": "1.0",
    "restarts": 0,
    "pid": 4711,
    "problem": None,
    "held": [],
    "held_also": [],
    "asks": [],
}
INSTANCE = {
    "server": "files",
    "id": "files@configured",
    "transport": "stdio",
    "executor": "",
    "where": "pid 4711",
    "pid": 4711,
    "since": None,
    "memory": None,
    "calls": 0,
    "restarts": 0,
    "unattributed": 0,
    "note": "",
    "error": None,
    "stderr": [],
    "mode": "shared",
    "status": "ready",
    "owner": "",
    "client": "",
    "agent": "",
    "profile": "",
    "leaving": False,
}


class StandIn:
    """Answers what the test tells it to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {
            "version": "0.1.0",
            "url": "",
            "pid": os.getpid(),
            "uptime_s": 3671.5,
            "revision": 3,
            "servers": [SERVER],
            "problems": [],
            "apps": [],
        }
        self.apps: list[dict[str, Any]] = []
        self.instances: list[dict[str, Any]] = []
        self.replicas: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = [TOOL]
        self.result: dict[str, Any] = {"content": [{"type": "text", "text": "hello"}]}
        self.lines = ["one", "two", "three"]
        self.asked: list[tuple[str, Any]] = []
        self.refuse: tuple[int, Any] | None = None
        self.notices = True
        self.stopped = threading.Event()
        self.token = ""
        self._later: dict[int, Callable[[], None]] = {}
        self._turn = threading.Lock()

    def after(self, questions: int, change: Callable[[], None]) -> None:
        """Do something once so many questions were asked."""
        self._later[questions] = change

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        with self._turn:  # two may ask at once, and then each counts
            self.asked.append((path, body))
            change = self._later.pop(len(self.asked), None)
        if change is not None:
            change()
        if self.refuse is not None:
            return self.refuse
        route, _, query = path.partition("?")
        if route == "/api/v1/servers" and body is not None:
            return 201, {"name": body["name"], "noticed": self.notices, "done": True}
        if route.endswith("/refresh"):
            return 200, {"done": True}
        if route.startswith("/api/v1/servers/files/log"):
            return 200, "".join(f"{line}\n" for line in self.lines)
        answers: dict[str, Any] = {
            "/api/v1/status": self.status,
            "/api/v1/apps": {"apps": self.apps},
            "/api/v1/instances": {"instances": self.instances},
            "/api/v1/replicas": {"replicas": self.replicas},
            "/api/v1/tools": self._tools(dict(parse_qsl(query))),
            "/api/v1/tools/names": {"names": self._names(dict(parse_qsl(query)))},
            "/api/v1/servers": {"revision": 3, "servers": self.status["servers"]},
            "/api/v1/problems": {"revision": 3, "problems": self.status["problems"]},
            "/api/v1/servers/files": SERVER,
            "/api/v1/call": self.result,
            "/api/v1/link": {"link": "http://127.0.0.1/open?code=once"},
            "/api/v1/stop": {"done": True},
        }
        if route not in answers:
            return 404, {"title": "unknown server 'x'", "hint": "there are: files", "status": 404}
        if route == "/api/v1/stop":
            self.stopped.set()
        return 200, answers[route]

    def _tools(self, query: dict[str, str]) -> dict[str, Any]:
        name = query.get("name")
        tools = [tool for tool in self.tools if name in (None, tool["name"], tool["tool"])]
        return {"tools": tools, "total": len(tools)}

    def _names(self, query: dict[str, str]) -> list[str]:
        kind = "tool" if "server" in query else "name"
        return [tool[kind] for tool in self.tools if tool[kind].startswith(query.get("begin", ""))]


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """A stand-in that the command line finds where it looks for a hub."""
    stand_in = StandIn()

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._reply(json.loads(body or b"{}"))

        def _reply(self, body: Any) -> None:
            status, said = stand_in.answer(self.path, body)
            if self.headers["Authorization"] != f"Bearer {stand_in.token}":
                status, said = 401, {"title": "a valid token is needed", "status": 401}
            data = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Keep stderr for what is tested."""

    place = RunDir(read_settings({}, os.environ).runtime_dir)
    stand_in.token = place.token()
    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        port = server.server_address[1]
        stand_in.status["url"] = f"http://127.0.0.1:{port}"
        place.write(HubState.of_this_process(stand_in.status["url"], port))
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield stand_in
        finally:
            place.clear()
            server.shutdown()
            thread.join()
