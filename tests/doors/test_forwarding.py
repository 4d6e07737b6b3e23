"""Headers of callers go on to a server if its entry names them, each with its own call alone."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.hub import PATIENCE, TOKEN, RunningHub, running_hub
from tests.fixtures.issuer import Issuer
from toolyard.core.endpoint_fields import read_endpoint
from toolyard.core.errors import ConfigError
from toolyard.links.greeting import ENVELOPE

FORWARDED = {"X-Tenant": "X-Company", "X-Ticket": "X-Ticket"}


class Mirror(BaseHTTPRequestHandler):
    """An MCP server whose tool returns the headers that its call came with."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = Issuer().answer(json.loads(body))
        if "content" in answer["result"]:
            pairs = [(name.lower(), value) for name, value in self.headers.items()]
            answer["result"]["content"][0]["text"] = json.dumps(pairs)
        encoded = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def mirroring() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """A hub with one server that gets headers of callers, and one that does not."""
    with mirroring() as url:
        servers = {"some": {"url": url, "forward_headers": FORWARDED}, "none": {"url": url}}
        with running_hub(servers) as running:
            yield running


def call(hub: RunningHub, server: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with which a server got this call."""
    name = f"{server}__whoami"
    params = {"name": name, "arguments": {}, "_meta": ENVELOPE}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    own = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    own |= {"Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call"}
    own |= {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Name": name}
    body = json.dumps(message).encode()
    request = urllib.request.Request(hub.mcp, body, {**headers, **own})
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        text = json.load(reply)["result"]["content"][0]["text"]
    pairs: list[tuple[str, str]] = json.loads(text)
    assert len(dict(pairs)) == len(pairs), "a header was sent twice"
    return dict(pairs)


def test_only_the_headers_that_the_entry_names_go_on_under_their_names_there(
    hub: RunningHub,
) -> None:
    sent = {"X-Tenant": "acme", "X-User": "root", "Cookie": "a=b", "X-Forwarded-User": "root"}

    got = call(hub, "some", sent)

    assert got["x-company"] == "acme"
    assert not {"x-tenant", "x-user", "cookie", "x-forwarded-user", "x-ticket"} & got.keys()
    assert "authorization" not in got
    assert not {"x-company", "x-tenant"} & call(hub, "none", sent).keys()


def test_a_header_reaches_no_call_but_its_own(hub: RunningHub) -> None:
    def tenant(number: int) -> tuple[str | None, str | None]:
        sent = {"X-Tenant": f"tenant-{number}"} if number % 3 else {}
        return sent.get("X-Tenant"), call(hub, "some", sent).get("x-company")

    with ThreadPoolExecutor(8) as callers:
        crossed = [pair for pair in callers.map(tenant, range(120)) if pair[0] != pair[1]]

    assert crossed == []


NEVER = (
    *("Authorization", "cookie", "Host", "Connection", "TE", "Proxy-Authorization"),
    *("Mcp-Session-Id", "mcp-name", "Content-Length", "X-Forwarded-For", "X\r\nY", ""),
)


@pytest.mark.parametrize("name", NEVER)
@pytest.mark.parametrize("turned", [False, True])
def test_headers_of_the_connection_and_of_credentials_are_never_forwarded(
    name: str, turned: bool
) -> None:
    pair = {"X-Mine": name} if turned else {name: "X-Mine"}

    with pytest.raises(ConfigError, match="never forwarded"):
        read_endpoint({"url": "http://127.0.0.1/mcp", "forward_headers": pair})


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"command": "true"}, "a command has no headers"),
        ({"url": "http://127.0.0.1/sse", "type": "sse"}, "HTTP\\+SSE"),
        ({"url": "http://127.0.0.1/mcp", "headers": {"x-company": "a"}}, "sent twice"),
    ],
)
def test_an_entry_that_cannot_forward_headers_is_refused_with_a_sentence(
    entry: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        read_endpoint({**entry, "forward_headers": FORWARDED})
