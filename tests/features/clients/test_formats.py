"""What each client writes is understood, and what we write is what the client would have."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from tests.features.clients.files import json_file, toml_file
from toolyard.core.errors import ConfigError
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.formats import put, raw_entry, read, remove
from toolyard.features.clients.known import BY_NAME, CLIENTS, Client
from toolyard.features.clients.toml import remove_table, set_table

STDIO = Command(("/opt/run", "stdio", "a b"), (("FOO", "bar"),))
BARE = Command(("run",))
HTTP = Url("http://127.0.0.1:3101/mcp", "http", (("X-A", "b"),))
SSE = Url("http://127.0.0.1:3120/sse", "sse")
C = {"command": "/opt/run", "args": ["stdio", "a b"], "env": {"FOO": "bar"}}
H = {"url": "http://127.0.0.1:3101/mcp", "headers": {"X-A": "b"}}
E = {"url": "http://127.0.0.1:3120/sse"}
W = {"serverUrl": HTTP.url, "headers": {"X-A": "b"}}

WRITTEN: dict[str, tuple[Any, Any, Any]] = {
    "claude-code": ({"type": "stdio", **C}, {"type": "http", **H}, {"type": "sse", **E}),
    "claude-desktop": (C, None, None),
    "cursor": (C, H, E),
    "vscode": ({"type": "stdio", **C}, {"type": "http", **H}, {"type": "sse", **E}),
    "codex": (C, {"url": HTTP.url, "http_headers": {"X-A": "b"}}, None),
    "gemini": (C, {"type": "http", **H}, {"type": "sse", **E}),
    "qwen": (C, {"httpUrl": HTTP.url, "headers": {"X-A": "b"}}, E),
    "opencode": (
        {"type": "local", "command": list(STDIO.argv), "environment": {"FOO": "bar"}},
        {"type": "remote", **H},
        {"type": "remote", **E},
    ),
    "windsurf": (C, W, {"serverUrl": SSE.url}),
    "zed": (
        {"source": "custom", **C},
        {"source": "custom", "type": "http", **H},
        {"source": "custom", "type": "sse", **E},
    ),
    "copilot": (
        {"tools": ["*"], "type": "local", **C},
        {"tools": ["*"], "type": "http", **H},
        {"tools": ["*"], "type": "sse", **E},
    ),
}
"""By client: a command, an address, one of the older kind; None for what it cannot take."""
NO_KINDS = ("cursor", "opencode", "windsurf")
"""Clients that find out by trying whether an address is of the older kind."""

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)


def some_file(client: Client, seed: int) -> bytes:
    shape = client.shape
    return toml_file(seed) if shape.syntax == "toml" else json_file(seed, shape.top)


def plain(client: Client, data: bytes) -> Any:
    """All a file says, by a reader that is not ours where the text allows."""
    if client.shape.syntax == "toml":
        return tomllib.loads(data.decode())
    return json.loads(data)


@each_client
@pytest.mark.parametrize("index", range(3))
def test_an_endpoint_is_written_in_the_clients_words(client: Client, index: int) -> None:
    endpoint: Endpoint = (STDIO, HTTP, SSE)[index]
    wanted = WRITTEN[client.name][index]
    if wanted is None:
        with pytest.raises(ConfigError, match="takes no address"):
            client.shape.write(endpoint)
        return

    raw = client.shape.write(endpoint)
    data = put(client.shape, b"", "s", raw)

    assert plain(client, data) == {client.shape.top: {"s": wanted}}


@each_client
@pytest.mark.parametrize("endpoint", [STDIO, BARE, HTTP, SSE])
def test_what_is_written_is_read_back_equal(client: Client, endpoint: Endpoint) -> None:
    kind = "stdio" if isinstance(endpoint, Command) else endpoint.kind
    if kind != "stdio" and not client.shape.takes(kind):
        return
    if kind == "sse" and client.name in NO_KINDS:
        endpoint = Url(SSE.url, "http")

    data = put(client.shape, b"", "s", client.shape.write(endpoint))

    (entry,) = read(client.shape, data).entries
    assert (entry.name, entry.endpoint, entry.enabled) == ("s", endpoint, True)


READ: list[tuple[str, Any, Endpoint, bool]] = [
    ("qwen", {"url": SSE.url}, SSE, True),
    ("gemini", {"httpUrl": HTTP.url, "headers": {"X-A": "b"}}, HTTP, True),
    (
        "gemini",
        {"command": "run", "env": {"T": "$TOKEN"}},
        Command(("run",), (("T", "${TOKEN}"),)),
        True,
    ),
    ("opencode", {"type": "local", "command": ["run"], "enabled": False}, BARE, False),
    (
        "opencode",
        {"type": "remote", "url": SSE.url, "headers": {"A": "Bearer {env:KEY}"}},
        Url(SSE.url, "http", (("A", "Bearer ${env:KEY}"),)),
        True,
    ),
    ("zed", {"command": {"path": "run", "args": []}}, BARE, True),
    ("claude-code", {"type": "streamable-http", "url": SSE.url}, Url(SSE.url), True),
    ("cursor", {"transport": "sse", "url": SSE.url}, SSE, True),
    ("qwen", {"transport": "http", "url": SSE.url}, Url(SSE.url), True),
    ("claude-desktop", {"command": "run", "args": ["${A}"]}, Command(("run", "$${A}")), True),
    ("cursor", {"command": "run", "disabled": True}, BARE, False),
    (
        "codex",
        {"url": SSE.url, "bearer_token_env_var": "TOK", "env_http_headers": {"X-B": "VAR"}},
        Url(SSE.url, "http", (("X-B", "${VAR}"), ("Authorization", "Bearer ${TOK}"))),
        True,
    ),
    ("codex", {"command": "run", "enabled": False, "startup_timeout_sec": 20}, BARE, False),
]


@pytest.mark.parametrize(("name", "raw", "endpoint", "enabled"), READ)
def test_the_words_of_each_client_are_understood(
    name: str, raw: Any, endpoint: Endpoint, enabled: bool
) -> None:
    shape = BY_NAME[name].shape
    data = put(shape, b"", "s", raw)

    (entry,) = read(shape, data).entries
    assert (entry.endpoint, entry.enabled) == (endpoint, enabled)


def test_an_entry_that_cannot_be_used_is_a_problem_with_its_line_and_costs_no_other() -> None:
    bad, good = b'"bad": {"type": "carrier-pigeon", "url": "x"}', b'"ok": {"command": "run"}'
    data = b'{"mcpServers": {\n ' + bad + b",\n " + good + b"}}"

    found = read(BY_NAME["cursor"].shape, data)

    assert [each.name for each in found.entries] == ["ok"]
    assert [(each.subject, "'bad'" in each.text) for each in found.problems] == [("line 2", True)]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("cursor", b'{\n "a": 1,\n "b" 2\n}', "line 3"),
        ("cursor", b"[]", "no object at line 1"),
        ("cursor", b'{"mcpServers": []}', "'mcpServers' holds no object"),
        ("cursor", b"\xff", "UTF-8"),
        ("codex", b"a = 1\nb = = 2\n", "line 2"),
        ("codex", b"\n\xff", "line 2"),
        ("codex", b'mcp_servers = { x = { command = "y" } }\n', "written"),
        ("codex", b'[[mcp_servers]]\nname = "x"\n', "written"),
    ],
)
def test_a_file_that_cannot_be_changed_says_where_and_what(
    name: str, data: bytes, words: str
) -> None:
    shape = BY_NAME[name].shape

    with pytest.raises(ConfigError, match=words) as caught:
        put(shape, data, "toolyard", shape.write(BARE))

    assert caught.value.hint or "expected" in str(caught.value)


@each_client
def test_only_our_entry_is_another_after_it_was_put_in_and_taken_out(client: Client) -> None:
    shape = client.shape
    for seed in range(60):
        data = some_file(client, seed)
        before = read(shape, data)

        with_it = put(shape, data, "toolyard", shape.write(STDIO))
        again = put(shape, with_it, "toolyard", shape.write(BARE))
        without = remove(shape, again, "toolyard")

        assert raw_entry(shape, with_it, "toolyard") == shape.write(STDIO), seed
        assert raw_entry(shape, again, "toolyard") == shape.write(BARE), seed
        assert read(shape, without) == before, seed
        assert with_it.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf"), seed
        for part in data.split():
            assert part.rstrip(b",}]") in without, (seed, part)


def test_toml_keeps_every_byte_around_a_table_wherever_it_stands() -> None:
    before = b'a = 1 # x\n\n[mcp_servers.other]\ncommand="o"\n'
    after = b"\n# about zed\n[zed]\nx = [\n 1,\n]\n"
    table = b'\n[mcp_servers.toolyard]\ncommand = "old"\n\n[mcp_servers.toolyard.env]\nA = "b"\n'

    changed = set_table(before + table + after, ("mcp_servers", "toolyard"), {"command": "new"})

    assert changed == before + b'\n[mcp_servers.toolyard]\ncommand = "new"\n' + after
    assert remove_table(changed, ("mcp_servers", "toolyard")) == before + after


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_toml_keeps_what_is_written_above_the_next_table(newline: bytes) -> None:
    path, table = ("mcp_servers", "toolyard"), b'[mcp_servers.toolyard]\ncommand = "old"\n'
    note = b'\n# keys for the staging cluster\n[mcp_servers.staging]\ncommand = "s"\n'
    for seed in range(60):
        others = toml_file(seed).replace(b"\r\n", b"\n").rstrip(b"\n")
        before = others + b"\n\n" if others.strip(b"\xef\xbb\xbf") else others
        data = (before + table + note).replace(b"\n", newline)

        changed = set_table(data, path, {"command": "new"})

        assert changed == data.replace(b'"old"', b'"new"'), seed
        assert remove_table(data, path).endswith(note.replace(b"\n", newline)), seed


@pytest.mark.parametrize(
    "text",
    [
        b'[mcp_servers]\ntoolyard = { command = "x" }\nother.command = "y"\n',
        b'mcp_servers.toolyard.command = "x"\nmcp_servers.other.command = "y"\n',
        b'["mcp_servers"."toolyard"]\ncommand = """\nx"""\n[ mcp_servers . other ]\ncommand="y"\n',
    ],
)
def test_toml_takes_a_table_out_however_it_is_spelled(text: bytes) -> None:
    without = remove_table(text, ("mcp_servers", "toolyard"))

    assert tomllib.loads(without.decode()) == {"mcp_servers": {"other": {"command": "y"}}}
