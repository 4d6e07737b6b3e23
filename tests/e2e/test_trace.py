"""The trace that a client's call belongs to goes on at the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.hub import RunningHub, running_hub
from tests.e2e.talk import HttpTalk, talking
from tests.fixtures.stub_run import running_http_stub

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STATE = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with ExitStack() as stack:
        flags = {
            "legacy": ("--era", "legacy"),
            "modern": ("--era", "modern"),
            "sse": ("--era", "legacy", "--http-sse"),
        }
        places = {name: stack.enter_context(running_http_stub(*flags[name])) for name in flags}
        servers = {name: {"url": place} for name, place in places.items()}
        servers["sse"]["type"] = "sse"
        yield stack.enter_context(running_hub(servers))


async def headers_at(
    hub: RunningHub, server: str, era: str, sent: dict[str, str]
) -> dict[str, str]:
    async with talking(hub, era, "http") as talk:
        assert isinstance(talk, HttpTalk)
        talk.http.headers.update(sent)
        result = await talk.call(f"{server}__headers")
        found: dict[str, str] = json.loads(result["content"][0]["text"])
        return found


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("server", ["legacy", "modern", "sse"])
async def test_the_headers_of_a_trace_are_passed_on(hub: RunningHub, server: str, era: str) -> None:
    sent = {"traceparent": PARENT, "tracestate": STATE, "X-Other": "mine", "Baggage": "a=b"}

    found = await headers_at(hub, server, era, sent)

    assert (found["traceparent"], found["tracestate"]) == (PARENT, STATE)
    assert not {"x-other", "baggage"} & found.keys()
    again = await headers_at(hub, server, era, {})
    assert not {"traceparent", "tracestate"} & again.keys()


@pytest.mark.parametrize(
    "sent",
    [
        {"traceparent": "00-" + "a" * 200},
        {"traceparent": "hello"},
        {"tracestate": "a=" + "b" * 600},
        {"tracestate": "a=\tb"},
        {"trace-me": "x", "traceparents": PARENT},
    ],
)
async def test_what_is_no_trace_is_not(hub: RunningHub, sent: dict[str, str]) -> None:
    found = await headers_at(hub, "modern", "modern", sent)

    assert not [name for name in found if name.startswith("trace")]
