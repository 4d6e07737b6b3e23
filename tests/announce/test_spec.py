"""The page, the schema, the examples and the code say the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jsonschema_rs
import pytest

from tests.fixtures.ports import free_port
from toolyard.announce import Announcements, announce

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "announce"
PAGE = (ROOT / "docs/reference/announce-file.md").read_text("utf-8")
SCHEMA = json.loads((ROOT / "docs/reference/announce-file.schema.json").read_bytes())
TRANSPORTS = [
    {"type": "sse", "url": "http://127.0.0.1:9/sse"},
    {"type": "stdio", "command": ["server"]},
    {"type": "unix", "path": "/run/x.sock"},
    {"type": "websocket", "url": "ws://127.0.0.1:1/mcp"},
]


def check(document: object) -> None:
    jsonschema_rs.validator_for(SCHEMA).validate(document)


def test_the_schema_is_one_and_accepts_the_document_of_the_page() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    [example] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    check(json.loads(example))


def test_every_entry_we_write_fits_the_schema_and_every_key_is_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "mcp_servers.json"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        options = {"transports": TRANSPORTS, "tools": ["a"], "version": "1", "nonce": "n"}
        with (
            announce("full", url=url, path=path, **options) as full,  # type: ignore[arg-type]
            announce("bare", path=path, heartbeat=0) as bare,
        ):
            assert full.wait(60) and bare.wait(60)
            document = json.loads(path.read_bytes())
    check(document)
    written = set(document["servers"][full.id])
    assert written == set(SCHEMA["$defs"]["entry"]["properties"])
    assert [key for key in written if f"`{key}`" not in PAGE and f'"{key}"' not in PAGE] == []


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "a"},
        {"name": "a", "pid": 0},
        {"name": "a", "pid": "7"},
        {"name": "a", "pid": 7, "http": {"enabled": True}},
        {"name": "a", "pid": 7, "transports": [{"type": "stdio"}]},
        {"name": "a", "pid": 7, "started_at": "yesterday"},
    ],
)
def test_the_schema_refuses_what_the_page_does_not_allow(entry: dict) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        check({"version": "1.0", "servers": {"a": entry}})


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> dict:
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        if found := Announcements(path).list_servers():
            return found
        time.sleep(0.05)  # noqa: TID251  # a program in another process, in another language
    raise AssertionError(f"it was not announced, and ended with {process.poll()}")


def ask(port: int) -> bytes:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
    more = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(f"{head}{more}Connection: close\r\n\r\n".encode() + body)
        return client.recv(65536)


@pytest.mark.parametrize(
    "name", ["sdk_server.py", "asgi_lifespan.py", "plain_asgi.py", "server.mjs"]
)
def test_every_example_announces_itself_serves_and_withdraws(tmp_path: Path, name: str) -> None:
    program = [sys.executable]
    if name.endswith(".mjs"):
        node = shutil.which("node")
        if node is None or shutil.which("flock") is None:
            pytest.skip("node or flock(1) is not installed")
        program = [node]
    (tmp_path / ".nisaba").mkdir()
    path, port = tmp_path / ".nisaba" / "mcp_servers.json", free_port()
    with subprocess.Popen(
        [*program, str(EXAMPLES / name), str(port)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            [(key, entry)] = wait_for(path, process).items()
            check(json.loads(path.read_bytes()))
            assert key == f"{entry['name']}_{process.pid}"
            assert entry["http"]["url"] == f"http://127.0.0.1:{port}/mcp"
            assert ask(port).startswith(b"HTTP/1.1 ")
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()
    assert json.loads(path.read_bytes())["servers"] == {}
    assert not list(path.parent.glob(".*.tmp"))
