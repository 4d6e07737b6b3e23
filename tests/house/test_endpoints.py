"""Every door gives the same verdict on the same endpoint."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolyard.core.agentfiles import read_config, read_override
from toolyard.core.endpoint import Endpoint
from toolyard.core.endpoint_fields import ENDPOINT_KEYS, read_endpoint
from toolyard.core.errors import ConfigError
from toolyard.features.agents.codec import read_value, write_value
from toolyard.features.catalog.reading import read_definition
from toolyard.features.clients.shapes import FileShape
from toolyard.features.servers.store import ServersFile

Said = dict[str, Any]
Door = Callable[[Said], Endpoint | None]

WORDS = ["", " ", "c", "a b", "é", "${X}", "a\0b"]
SPELLINGS = [
    *("", "stdio", "local", "http", "streamable-http", "streamable_http", "streamableHttp"),
    *("remote", "sse", "ws", "HTTP", "pigeon"),
]
ADDRESSES = [
    *("", " http://h/mcp ", "HTTPS://h", "http://[::1]/mcp", "http://[::1/mcp", "http://h:x/"),
    *("${BASE}/mcp", "http://${HOST}/", "http://h/a b", "ftp://h/", "ws://h/", "h"),
]
NAMES = ["A", "X-Y", "A=B", "", "a b", "1"]

BASES: list[Said] = [
    {},
    {"command": "c"},
    {"url": "http://h/mcp"},
    {"command": "c", "url": "http://h"},
]

words = st.sampled_from(WORDS)
spellings = st.sampled_from(SPELLINGS)
addresses = st.sampled_from(ADDRESSES)
scalars = words | st.integers(-9, 9) | st.booleans()
lists = st.lists(scalars, max_size=3)
tables = st.dictionaries(st.sampled_from(NAMES), scalars, max_size=2)
odd: st.SearchStrategy[Any] = st.sampled_from([None, 5, True, [], {}, ["c", None], {"A": []}])
members = st.one_of(
    st.tuples(st.sampled_from(["type", "transport"]), spellings),
    st.tuples(st.just("command"), words | lists),
    st.tuples(st.just("args"), lists),
    st.tuples(st.sampled_from(["env", "environment", "headers"]), tables),
    st.tuples(st.just("cwd"), words),
    st.tuples(st.sampled_from(["url", "httpUrl", "serverUrl"]), addresses),
    st.tuples(st.sampled_from(ENDPOINT_KEYS), odd),
)
entries = st.builds(
    lambda base, more: {**base, **dict(more)}, st.sampled_from(BASES), st.lists(members, max_size=4)
)


def servers_file(said: Said) -> Endpoint | None:
    with tempfile.TemporaryDirectory() as folder:
        file = ServersFile(Path(folder) / "servers.json", {})
        file.path.write_text(json.dumps({"mcpServers": {"a": said}}))
        servers = file.load().servers
        return servers[0].endpoint if servers else None


def written_order(said: Said) -> Endpoint | None:
    with tempfile.TemporaryDirectory() as folder:
        file = ServersFile(Path(folder) / "servers.json", {})
        file.put("a", said)
        return file.load().servers[0].endpoint


def catalog(said: Said) -> Endpoint | None:
    return read_definition(json.dumps({"name": "a", "runtime": said}).encode()).endpoint


def agents_list(said: Said) -> Endpoint | None:
    config = read_config("codex", {"enabled": True, "servers": {"a": said}})
    kept = read_value("config", "codex", json.loads(json.dumps(write_value(config))))
    assert kept == config
    return config.servers[0].endpoint


def agents_override(said: Said) -> Endpoint | None:
    return read_override("codex", "docker", {"servers": {"a": said}}).servers[0].endpoint


def clients_file(said: Said) -> Endpoint | None:
    return FileShape().read("a", said).endpoint


DOORS: list[Door] = [
    *(servers_file, written_order, catalog, agents_list, agents_override, clients_file)
]


def verdict(door: Door, said: Said) -> Endpoint | None:
    try:
        return door(said)
    except ConfigError as error:
        assert error.hint
        return None


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@given(said=entries)
@example(said={"type": "remote", "url": "http://h/mcp"})
@example(said={"type": "local", "command": "c"})
@example(said={"transport": "streamable-http", "url": "http://h/mcp"})
@example(said={"transport": "ws", "url": "http://h/mcp"})
@example(said={"url": "http://[::1/mcp"})
@example(said={"command": "c", "env": {"X-Y": "1"}})
@example(said={"command": ["c", 1], "args": [True], "environment": {"A": 1}})
@example(said={"command": "", "url": "", "httpUrl": "http://h/mcp"})
def test_a_door_says_of_an_endpoint_what_its_reader_says(door: Door, said: Said) -> None:
    assert verdict(door, said) == verdict(read_endpoint, said)


def test_the_inputs_above_are_good_and_bad() -> None:
    verdicts: set[str] = set()

    @given(said=entries)
    def collect(said: Said) -> None:
        verdicts.add(type(verdict(read_endpoint, said)).__name__)

    collect()
    assert verdicts == {"Command", "Url", "NoneType"}
