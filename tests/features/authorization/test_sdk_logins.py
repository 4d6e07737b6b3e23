"""Clients that others wrote log in with the hub: the official SDKs, by what they find there."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.doors.doors import Doors
from tests.e2e.conftest import node24
from tests.e2e.talk import PLAIN
from tests.features.authorization.people import (
    BACK,
    App,
    Browser,
    bearer,
    log_in,
    make_member,
    words_in,
)
from tests.features.members.test_sdk_login import Memory

__all__ = ["node24"]

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


def log_in_at(doors: Doors, memory: Memory, path: str, **more: Any) -> OAuthClientProvider:
    """The Python SDK's login; Ann logs in and agrees."""
    sent_back: dict[str, str] = {}

    async def browse(address: str) -> None:
        sent_back.update(words_in(await Browser(doors).agree(address, "ann@example.com")))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**sent_back)

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(BACK)], client_name="sdk", token_endpoint_auth_method="none"
    )
    url = f"http://{doors.host}{path}"
    return OAuthClientProvider(url, metadata, memory, browse, come_back, **more)


async def tools_of(doors: Doors, login: OAuthClientProvider, path: str, mode: str) -> set[str]:
    """List the tools with the SDK, and call one; the names that it lists."""
    async with httpx2.AsyncClient(auth=login, timeout=60, **PLAIN) as http:
        transport = streamable_http_client(f"http://{doors.host}{path}", http_client=http)
        async with Client(transport, mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            reply = await client.call_tool("one__echo", {"text": "hello"})
    assert "hello" in str(reply)
    return names


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/p/echoes"])
async def test_the_python_sdk_registers_logs_in_and_calls(own: Doors, mode: str, path: str) -> None:
    await make_member(own)
    memory = Memory()
    names = await tools_of(own, log_in_at(own, memory, path), path, mode)
    assert {"one__echo", "two__echo"} <= names and "one__env" not in names
    assert memory.tokens.refresh_token and memory.client.client_id
    # An access token that is refused is renewed without the person.
    first = memory.tokens.refresh_token
    login = log_in_at(own, memory, path)
    await login._initialize()
    login.context.token_expiry_time = 1.0
    login.context.current_tokens = memory.tokens
    assert "one__echo" in await tools_of(own, login, path, mode)
    assert memory.tokens.refresh_token != first


@contextmanager
def described_client(**changes: Any) -> Iterator[str]:
    """A client's description on a server of its own; its address, which is the client's id."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = {"client_name": "Described", "redirect_uris": [BACK]}
            told |= {"client_id": f"{base}{self.path}", **changes}
            data = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    base = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"{base}/client.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_client_that_describes_itself_needs_no_registration(own: Doors) -> None:
    """The hub is on the loopback, so descriptions may be there, too."""
    browser = await make_member(own)
    with described_client() as client_id:
        app = App(own, client_id)
        page = await browser.log_in(app.wish(), "ann@example.com")
        assert b"Described at" in page.body and client_id.encode() in page.body
        assert await bearer(own, (await log_in(own, app))["access_token"]).tools()
        elsewhere = App(own, client_id, "http://127.0.0.1:9/elsewhere")
        assert (await browser.get(elsewhere.wish())).status == 400
    for lie in (
        {"client_id": "https://other.example/c"},
        {"client_secret": "x"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"redirect_uris": ["http://evil.example/"]},
        {"client_name": "x" * 20_000},
    ):
        with described_client(**lie) as client_id:
            refused = await browser.get(App(own, client_id).wish())
        assert refused.status == 400 and b"<form" not in refused.body, lie


TYPESCRIPT = """
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http } from
  "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";

const kept = {};
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const provider = {
  redirectUrl: process.env.BACK,
  clientMetadata: {
    client_name: "typescript", redirect_uris: [process.env.BACK],
    grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "a-state",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (url) => { console.log(JSON.stringify({ authorize: String(url) })); },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};
const address = new URL(process.env.HUB);
const first = new Http(address, { authProvider: provider });
try {
  await new Client({ name: "typescript", version: "1" }).connect(first);
  throw new Error("let in without a login");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
await first.finishAuth((await lines.next()).value);
const client = new Client({ name: "typescript", version: "1" });
await client.connect(new Http(address, { authProvider: provider }));
const { tools } = await client.listTools();
kept.tokens = { ...kept.tokens, access_token: "eyJhbGciOiJub25lIn0.e30.x" };
const before = kept.tokens.refresh_token;
const reply = await client.callTool({ name: "one__echo", arguments: { text: "hello" } });
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name), reply,
  renewed: kept.tokens.refresh_token !== before,
}));
await client.close();
process.exit(0);
"""


@pytest.mark.timeout(600)  # the first time, the library is fetched
async def test_the_typescript_sdk_registers_logs_in_renews_and_calls(
    own: Doors, node24: ModuleType, home: Path
) -> None:
    await make_member(own)
    hub = f"http://{own.host}/mcp"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "HUB": hub, "BACK": BACK}
    process = await asyncio.create_subprocess_exec(
        *(str(node24.node()), "--input-type=module", "--eval", TYPESCRIPT),
        cwd=node24.BOX,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    async with asyncio.timeout(300):
        line = await process.stdout.readline()
        assert line, (await process.communicate())[1].decode()
        wish = json.loads(line)["authorize"]
        assert words_in(wish)["resource"] == hub
        words = words_in(await Browser(own).agree(wish, "ann@example.com"))
        assert words["state"] == "a-state"
        process.stdin.write(f"{words['code']}\n".encode())
        await process.stdin.drain()
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    answer = json.loads(out)
    assert {"one__echo", "two__echo"} <= {*answer["tools"]} and "one__env" not in answer["tools"]
    assert "hello" in str(answer["reply"]) and answer["renewed"]
