"""A small registry that behaves, or does not."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

META = "io.modelcontextprotocol.registry/official"


def server(name: str, version: str = "1.0.0", status: str = "active") -> dict[str, Any]:
    package = {
        "registryType": "npm",
        "identifier": name.rpartition("/")[2],
        "version": version,
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "valueHint": "city", "isRequired": True}],
    }
    described = {"name": name, "description": "Weather.", "version": version, "packages": [package]}
    return {"server": described, "_meta": {META: {"status": status, "isLatest": True}}}


@dataclass
class Shop:
    """What the registry has, and how it misbehaves: `answer` is given to every question."""

    servers: list[dict[str, Any]] = field(
        default_factory=lambda: [
            server("io.example/weather"),
            server("io.other/weather", "2.0.0"),
            server("io.example/gone", status="deleted"),
        ]
    )
    answer: tuple[int, bytes] | None = None
    asked: list[str] = field(default_factory=list)

    def reply(self, target: str) -> tuple[int, bytes]:
        self.asked.append(target)
        if self.answer is not None:
            return self.answer
        parts = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path == "/v0.1/servers":
            words = query.get("search", "")
            found = [each for each in self.servers if words in each["server"]["name"]]
            start, limit = int(query.get("cursor", 0)), int(query.get("limit", 30))
            page = found[start : start + limit]
            more = {"nextCursor": str(start + limit)} if len(found) > start + limit else {}
            if words == "weather":
                page = [each for each in page if each["server"]["name"].startswith("io.example")]
            return 200, json.dumps({"servers": page, "metadata": more}).encode()
        name = unquote(parts.path.split("/")[3])
        for each in self.servers:
            if each["server"]["name"] == name:
                whole = {"servers": [each], "metadata": {}} if parts.path.endswith("s") else each
                return 200, json.dumps(whole).encode()
        return 404, b'{"error": "not found"}'


@contextmanager
def shop(stock: Shop) -> Iterator[str]:
    """Serve the stock; give the base address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = stock.reply(self.path)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            if status in (301, 302):
                self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
