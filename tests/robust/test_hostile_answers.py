"""Answers of servers that are no answers: every client gets one that it can read, and only one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, entry, new_home, running_hub
from tests.e2e.talk import talking
from tests.fixtures import verbatim

Json = dict[str, Any]
DEEP = 100_000
FINE = b'{"content":[{"type":"text","text":"fine"}]}'
NOT_JSON = "with what is not JSON, or nests too deep"
NO_OBJECT = "with a result that is no object"


def answer(result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":@ID,"result":%b}' % result


def text(words: bytes) -> bytes:
    return answer(b'{"content":[{"type":"text","text":"%b"}]}' % words)


def nested(begin: bytes, end: bytes) -> bytes:
    return begin * DEEP + b"1" + end * DEEP


def failed(error: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":@ID,"error":%b}' % error


READ: dict[str, tuple[bytes, str]] = {
    "utf8": (text(b"a\xff\xfeb"), "a\ufffd\ufffdb"),
    "half_utf8": (text(b"cut \xc3"), "cut \ufffd"),
    "long_utf8": (text(b"x" * 70_000 + b"\xff"), "x" * 70_000 + "\ufffd"),
    "surrogate": (text(rb"\ud800x"), "\ufffdx"),
    "separators": (text("a\u2028\u2029\u0085b".encode()), "a\u2028\u2029\u0085b"),
    "nul": (text(rb"a\u0000b"), "a\0b"),
    "two_results": (
        b'{"jsonrpc":"2.0","id":@ID,"result":{"content":[]},"result":%b}' % FINE,
        "fine",
    ),
    "two_ids": (b'{"jsonrpc":"2.0","id":4711,"id":@ID,"result":%b}' % FINE, "fine"),
    "blank_lines": (b"\n \n" + answer(FINE), "fine"),
    "error_of_nobody": (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}\n' + answer(FINE),
        "fine",
    ),
}
"""Answers that mean something, and the text that every client reads."""
REFUSED: dict[str, tuple[bytes, str]] = {
    "deep_list": (answer(b'{"content":[],"deep":%b}' % nested(b"[", b"]")), NOT_JSON),
    "deep_object": (answer(b'{"content":[],"deep":%b}' % nested(b'{"a":', b"}")), NOT_JSON),
    "deep_error": (failed(b'{"code":1,"message":"m","data":%b}' % nested(b"[", b"]")), NOT_JSON),
    "nan": (answer(b'{"content":[],"a":NaN}'), NOT_JSON),
    "raw_control": (text(b"a\x00\rb"), NOT_JSON),
    "list": (answer(b"[1,2]"), NO_OBJECT),
    "number": (answer(b"1"), NO_OBJECT),
    "string": (answer(b'"fine"'), NO_OBJECT),
    "true": (answer(b"true"), NO_OBJECT),
    "error_text": (failed(b'"just text"'), "just text"),
    "error_list": (failed(b"[1]"), "[1]"),
    "error_bare": (failed(b'{"message":"no code"}'), "no code"),
    "error_code": (failed(b'{"code":%b,"message":"far"}' % (b"9" * 30)), "far"),
    "both": (
        b'{"jsonrpc":"2.0","id":@ID,"result":%b,"error":{"code":1,"message":"and"}}' % FINE,
        "and",
    ),
}
"""Answers that mean nothing or an error, and what the error tells the client."""
CLIENTS = [("legacy", "line"), ("legacy", "http"), ("modern", "line"), ("modern", "http")]


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with new_home() as home:
        folder = home / "answers"
        folder.mkdir()
        for name, (raw, _) in {**READ, **REFUSED, "null": (answer(b"null"), "")}.items():
            (folder / name).write_bytes(raw)
        servers = {"odd": entry([sys.executable, str(Path(verbatim.__file__)), str(folder)])}
        with running_hub(servers, home=home) as hub:
            yield hub


async def reply_to(hub: RunningHub, client: tuple[str, str], name: str) -> Json:
    """The one message that a client gets, read as strictly as any reader does."""
    async with talking(hub, *client) as talk:
        message = talk.message("tools/call", {"name": f"odd__{name}", "arguments": {}})
        reply: Json = await talk.exchange(message)
        assert reply["id"] == message["id"] and not talk.heard
        strict = talk.last.decode("utf-8")  # raises for what is no text
        assert json.loads(strict.removeprefix("data: ")) == reply
        return reply


@pytest.mark.parametrize("client", CLIENTS, ids="-".join)
async def test_every_client_reads_what_can_be_read_of_an_odd_answer(
    hub: RunningHub, client: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    for name, (_, words) in READ.items():
        reply = await reply_to(hub, client, name)
        assert reply["result"]["content"] == [{"type": "text", "text": words}], name
    assert isinstance((await reply_to(hub, client, "null"))["result"], dict)
    record_property("figure", f"{len(READ) + 1} odd answers read by a {' '.join(client)} client")


@pytest.mark.parametrize("client", CLIENTS, ids="-".join)
async def test_every_client_is_told_of_an_answer_that_is_none(
    hub: RunningHub, client: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    for name, (_, words) in REFUSED.items():
        error = (await reply_to(hub, client, name))["error"]
        assert isinstance(error["code"], int) and words in error["message"], (name, error)
    (server,) = hub.status()["servers"]
    assert (server["status"], server["restarts"]) == ("ready", 0)
    record_property("figure", f"{len(REFUSED)} non-answers told to a {' '.join(client)} client")
