"""One yard for all end-to-end tests that can share it, and every kind of client and server."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conformance.starting import everything_command
from tests.e2e.hub import RunningHub, entry, new_home, running_hub, scripted, stdio_stub
from tests.e2e.talk import Talk, talking
from tests.fixtures.stub_run import running_http_stub

Connect = Callable[..., AbstractAsyncContextManager[Talk]]

KINDS = [(era, door) for era in ("legacy", "modern") for door in ("line", "http")]
"""Every kind of client: its era, and the door it comes to."""
WEB = {
    "oldweb": ("--era", "legacy", "--tasks"),
    "newweb": ("--era", "modern", "--sse"),
    "oldsse": ("--era", "legacy", "--http-sse"),
}
SERVERS = ("old", "new", *WEB)
"""Every kind of server: stubs of one era, over stdio, HTTP and the old HTTP+SSE."""
UI = "io.modelcontextprotocol/ui"
PAGE = '{"contents":[{"uri":"ui://clock/face","mimeType":"text/html;profile=mcp-app","text":"<p>12</p>"}]}'
CLOCK = (
    '{"tools":[{"name":"show","inputSchema":{"type":"object"},'
    '"_meta":{"ui":{"resourceUri":"ui://clock/face","visibility":["model","app"]}}}]}'
)
VERBATIM = (
    '{ "content":[],"z":1.0,"a":1E+5, "big":123456789012345678901234567890,'
    '"tiny":1e-400,"twice":1,"twice":2,"escaped":"\\u00e9\\/","\u2603":null }'
)
"""A result whose every byte matters: what reads and writes it again would change it."""
FACE = (
    '{"resources":[{"uri":"ui://clock/face","name":"face","mimeType":"text/html;profile=mcp-app"}]}'
)


@pytest.fixture(scope="session")
def yard() -> Iterator[RunningHub]:
    """A hub in front of one server of every kind; each stub is called like its kind."""
    with new_home() as home, ExitStack() as stack:
        servers: dict[str, Any] = {
            "old": stdio_stub("old", home, "--era", "legacy", "--tasks"),
            "new": stdio_stub("new", home, "--era", "modern"),
        }
        for name, flags in WEB.items():
            record = ("--record", str(home / f"{name}.jsonl"))
            url = stack.enter_context(running_http_stub("--name", name, *record, *flags))
            servers[name] = {"url": url, **({"type": "sse"} if url.endswith("/sse") else {})}
        replies = {"tools/list": CLOCK, "resources/list": FACE}
        replies |= {"resources/read ui://clock/face": PAGE, "tools/call show": VERBATIM}
        can = {"tools": {}, "resources": {}, "extensions": {UI: {"mimeTypes": ["text/html"]}}}
        servers["clock"] = scripted(home, "clock", replies, **can)
        yield stack.enter_context(running_hub(servers, home=home))


@pytest.fixture(scope="session")
def everything() -> Iterator[RunningHub]:
    """A hub in front of the SDK's reading of the protocol, one server per era."""
    servers = {
        "past": entry(everything_command("stdio", "--legacy-only")),
        "present": entry(everything_command("stdio", "--modern-only")),
    }
    with running_hub(servers) as hub:
        yield hub


@pytest.fixture(scope="session")
def node24() -> ModuleType:
    """Where Node and the MCP programs written for it are, fetched if they are not there."""
    path = Path(__file__).parents[2] / "scripts" / "node24.py"
    spec = importlib.util.spec_from_file_location("node24", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.install(module.node())
    except subprocess.CalledProcessError:
        pytest.skip("the programs for Node cannot be fetched")
    return module


@pytest.fixture(params=KINDS, ids=["-".join(kind) for kind in KINDS])
def kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Which client: era and door."""
    chosen: tuple[str, str] = request.param
    return chosen


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    """Which server."""
    name: str = request.param
    return name


@pytest.fixture
def connect(yard: RunningHub, kind: tuple[str, str]) -> Connect:
    """Opens a client of the kind under test at the shared yard."""
    return partial(talking, yard, *kind)
