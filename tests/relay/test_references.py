"""Addresses in results are changed where the protocol has them, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from toolyard.relay.references import MOST, in_result, mention

URI = "mem://x"
LINK = {"type": "resource_link", "uri": URI, "name": "x"}
EMBEDDED = {"type": "resource", "resource": {"uri": URI, "text": URI}}


def upper(uri: str) -> str:
    return uri.upper()


def changed(result: Any) -> Any:
    raw = Raw(json.dumps(result).encode())
    assert mention(raw)
    return json.loads(bytes(in_result(raw, upper)))


@pytest.mark.parametrize(
    "result",
    [
        {"content": [LINK]},
        {"content": [EMBEDDED], "isError": False},
        {"contents": [{"uri": URI, "text": "t"}]},
        {"messages": [{"role": "user", "content": LINK}]},
        {"messages": [{"role": "user", "content": [EMBEDDED, LINK]}]},
        {"content": [], "_meta": {"ui": {"resourceUri": URI, "visibility": []}}},
        {"content": [], "_meta": {"ui/resourceUri": URI}},
    ],
)
def test_a_reference_is_changed_where_it_stands(result: Any) -> None:
    after = changed(result)
    assert after != result
    texts = json.dumps(after).replace(URI.upper(), URI)
    assert json.loads(texts) == result
    assert json.dumps(after).count(URI.upper()) == json.dumps(result).count('ri": "mem')


@pytest.mark.parametrize(
    "raw",
    [
        b'{ "content":[{"type":"text","text":"mem://x"}],"structuredContent":{"uri":"mem://x"} }',
        b'{"content":[{"type":"resource_link","uri":7}],"_meta":{"ui":[],"x":{"uri":"mem://x"}}}',
        b'{"content":{"resource":{"uri":null}},"messages":7,"contents":["mem://x"],"_meta":"uri"}',
        b'{"content":[',
        b'"uri"',
    ],
)
def test_everything_else_stays_the_bytes_it_was(raw: bytes) -> None:
    assert bytes(in_result(Raw(raw), upper)) == raw


def test_what_leads_where_it_should_stays_the_bytes_it_was() -> None:
    raw = b'{ "content":[ {"type":"resource_link", "uri":"mem:\\/\\/x"} ] }'
    assert bytes(in_result(Raw(raw), lambda uri: uri)) == raw


def test_of_very_many_blocks_the_first_are_looked_at() -> None:
    after = changed({"content": [LINK] * (MOST + 5)})
    assert [block["uri"] for block in after["content"]].count(URI.upper()) == MOST
