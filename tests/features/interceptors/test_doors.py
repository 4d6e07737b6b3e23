"""Interceptors in a hub: real programs and endpoints, honest, slow, dead and lying ones."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.control.company import entry, send
from tests.doors.doors import Doors, Json, open_doors
from tests.features.interceptors import peer
from toolyard.relay.calls import Calls, RoutedRequest

TOP = "/api/v1/interceptors"
PATIENT = 60
Reach = Callable[[str], Json]
"""Gives the fields by which a peer is reached, by what it does."""


@asynccontextmanager
async def yard(home: Path) -> AsyncIterator[Doors]:
    stub = entry("s", "--only", "echo,env", "--tools", "1")
    async with open_doors(home, {"s": stub}) as doors:
        await doors.settled()
        yield doors


async def put(doors: Doors, name: str, **fields: object) -> None:
    """Write an interceptor for `s/echo`, and see it noticed."""
    body = {"tools": ["s/echo"], **fields}
    answer = await send(doors, "PUT", f"{TOP}/{name}", body)
    assert answer.status == 200 and answer.json()["noticed"], answer


@contextmanager
def serving(home: Path, work: str) -> Iterator[str]:
    """An endpoint in a process of its own."""
    place = home / f"{work}.port"
    place.unlink(missing_ok=True)
    with subprocess.Popen([sys.executable, peer.__file__, work, str(place)]) as process:
        try:
            while not place.exists():
                assert process.poll() is None
            yield f"http://127.0.0.1:{place.read_text()}/invoke"
        finally:
            process.kill()


@pytest.fixture(params=["program", "http"])
def reach(request: pytest.FixtureRequest, home: Path) -> Iterator[Reach]:
    """The way to a peer, once as a program and once over HTTP."""
    with ExitStack() as stack:

        def by_program(work: str) -> Json:
            return {"program": [sys.executable, peer.__file__, work]}

        def by_http(work: str) -> Json:
            return {"url": stack.enter_context(serving(home, work))}

        yield by_program if request.param == "program" else by_http


async def texts(doors: Doors, text: str) -> list[str]:
    answer = await doors.run("s__echo", text=text)
    assert "result" in answer, answer
    return [block["text"] for block in answer["result"]["content"]]


async def test_a_validator_and_a_mutator_see_calls_and_results(home: Path, reach: Reach) -> None:
    async with yard(home) as doors:
        await put(
            doors, "judge", type="validation", phase="both", seconds=PATIENT, **reach("judge")
        )
        await put(doors, "loud", type="mutation", phase="both", seconds=PATIENT, **reach("change"))
        assert await texts(doors, "good") == ["GOOD", "heard by loud"]
        # It is changed before it is judged, so what is loud is no longer bad.
        assert await texts(doors, "bad") == ["BAD", "heard by loud"]
        assert (await send(doors, "DELETE", f"{TOP}/loud")).status == 200
        fault = await doors.fault("s__echo", text="bad")
        assert fault == "the interceptor 'judge' refused this call: it says bad"
        assert await texts(doors, "good") == ["good"]
        through = await doors.run(
            "toolyard_destroy", server="s", tool="echo", arguments={"text": "bad"}
        )
        assert "refused this call" in json.dumps(through)
        assert "result" in await doors.run("s__env")  # not what it is for
        rows = (await doors.get("/api/v1/history"))["calls"]
        assert "'judge' refused this call" in json.dumps(rows)


FAULTS = {
    "dead": "",
    "wrong-id": "it answered what nobody asked",
    "no-json": "no JSON-RPC",
    "huge": "more than 1114112 bytes",
    "no-result": "it made of the result what is none",
    "no-answer": "its answer is no",
    "error": "out of order",
    "slow": "no answer within 0.2 s",
}


async def test_one_that_fails_closes_or_opens_as_it_is_told(home: Path, reach: Reach) -> None:
    async with yard(home) as doors:
        for work, complaint in FAULTS.items():
            seconds = 0.2 if work == "slow" else PATIENT
            fields = {"type": "mutation", "phase": "response", "seconds": seconds, **reach(work)}
            await put(doors, "peer", **fields)
            fault = await doors.fault("s__echo", text="hello")
            assert fault.startswith("the interceptor 'peer' failed ("), (work, fault)
            assert complaint in fault and "toolyard interceptor test peer" in fault, (work, fault)
            await put(doors, "peer", **fields, failure="open")
            assert await texts(doors, "hello") == ["hello"], work


async def test_a_program_that_died_is_started_again(home: Path) -> None:
    async with yard(home) as doors:
        program = [sys.executable, peer.__file__, "dead"]
        await put(
            doors, "peer", type="validation", phase="request", seconds=PATIENT, program=program
        )
        assert "failed" in await doors.fault("s__echo", text="x")
        row = (await doors.get(TOP))["interceptors"][0]
        assert row["work"] == "program" and row["trouble"]


async def test_a_redirect_is_not_followed(home: Path) -> None:
    with serving(home, "redirect") as url:
        async with yard(home) as doors:
            await put(doors, "far", type="validation", phase="request", url=url, seconds=PATIENT)
            assert "the status 307" in await doors.fault("s__echo", text="x")


async def test_what_is_too_large_is_refused_or_passed_on(home: Path) -> None:
    async with yard(home) as doors:
        text = "mail ann@acme.io " * 200
        await put(doors, "mask", mask={}, largest=1024)
        assert await texts(doors, "ann@acme.io") == ["[email]"]
        assert "and it takes 1024 at most" in await doors.fault("s__echo", text=text)
        await put(doors, "mask", mask={}, largest=1024, failure="open")
        assert await texts(doors, text) == [text]


async def test_an_audit_stops_nothing(home: Path) -> None:
    async with yard(home) as doors:
        program = [sys.executable, peer.__file__, "judge"]
        fields = {"type": "validation", "phase": "both", "mode": "audit", "program": program}
        await put(doors, "audit", **fields)
        assert await texts(doors, "bad") == ["bad"]


async def test_hidden_arguments_are_neither_listed_nor_taken(home: Path) -> None:
    async with yard(home) as doors:

        async def rewrite(**arguments: Json) -> Json:
            await put(doors, "args", tools=["s/tool_0"], arguments=arguments)
            found = await doors.run("toolyard_tools", server="s", query="tool_0")
            tools: list[Json] = found["result"]["structuredContent"]["tools"]
            listed: Json = next(t for t in tools if t["name"] == "s__tool_0")["inputSchema"]
            return listed

        listed = await rewrite(text={"fix": "acme"})
        assert [*listed["properties"]] == ["count"] and "required" not in listed
        assert await doors.text("s__tool_0", count=2) == "acme"
        fault = await doors.fault("s__tool_0", text="other")
        assert "the argument 'text' cannot be set by callers; leave it out" in fault
        await rewrite(text={"fix": "acme", "sent": "override"})
        assert await doors.text("s__tool_0", text="other") == "acme"
        listed = await rewrite(text={"rename": "words", "default": "none"}, count={"hide": True})
        assert [*listed["properties"]] == ["words"]
        assert listed["properties"]["words"]["default"] == "none"
        assert await doors.text("s__tool_0", words="hi") == "hi"
        assert await doors.text("s__tool_0") == "none"
        fault = await doors.fault("s__tool_0", text="hi")
        assert "it is called 'words' here" in fault
        await put(doors, "args", tools=["s/echo"], arguments={"tenant": {"fix": 7}})
        # It lists no argument, and takes any.
        assert json.loads(await doors.text("s__echo", q=1)) == {"q": 1, "tenant": 7}


@pytest.mark.parametrize(
    ("text", "is_closed"),
    [
        ("{", {"s__echo": True, "s__env": True}),
        (json.dumps({"x": {"tools": ["s/echo"], "mask": 7}}), {"s__echo": True, "s__env": False}),
        (json.dumps({"x": {"mask": {}}}), {"s__echo": True, "s__env": True}),
    ],
    ids=["file", "record", "no patterns"],
)
async def test_what_cannot_be_read_stays_closed(
    home: Path, text: str, is_closed: dict[str, bool]
) -> None:
    (home / "interceptors.json").write_text(text)
    async with yard(home) as doors:
        (problem,) = [p for p in await doors.problems() if p["code"] == "interceptors-file"]
        assert "interceptors.json" in problem["text"] and problem["hint"]
        assert "line 1" in problem["text"] or problem["subject"].endswith("interceptors.json:1")
        for tool, closed in is_closed.items():
            answer = await doors.run(tool, text="x")
            assert ("error" in answer) is closed, answer
            if closed:
                assert "interceptors.json" in answer["error"]["message"]
        (home / "interceptors.json").write_text("{}")

        async def is_open() -> bool:
            return "result" in await doors.run("s__echo", text="x")

        assert await doors.until(is_open)


async def test_without_interceptors_a_call_has_no_guard(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guards: list[object] = []
    begin = Calls.begin

    def watch(self: Calls, routed: RoutedRequest) -> object:
        guards.append(routed.route.guards)
        return begin(self, routed)

    monkeypatch.setattr(Calls, "begin", watch)
    async with yard(home) as doors:
        await put(doors, "mask", tools=["other/*"], mask={})
        assert await texts(doors, "hello") == ["hello"]
    assert guards == [()]


async def test_a_sample_is_tried_and_nothing_called(home: Path) -> None:
    async with yard(home) as doors:
        await put(doors, "mask", mask={"kinds": ["email"]})
        result = {"content": [{"type": "text", "text": "ann@acme.io, +49 30 1234567"}]}
        trial = await send(doors, "POST", f"{TOP}/mask/test", {"result": result})
        told = trial.json()
        assert told["outcome"] == "changed"
        assert told["result"]["content"][0]["text"] == "[email], +49 30 1234567"
        await put(doors, "fix", arguments={"tenant": {"fix": 7}})
        trial = await send(doors, "POST", f"{TOP}/fix/test", {"arguments": {"q": "x"}})
        assert trial.json()["arguments"] == {"q": "x", "tenant": 7}
        trial = await send(doors, "POST", f"{TOP}/fix/test", {"arguments": {"tenant": 8}})
        assert trial.json()["outcome"] == "refused"
        assert (await doors.get("/api/v1/history"))["calls"] == []
        unknown = await send(doors, "POST", f"{TOP}/fx/test", {"arguments": {}})
        assert unknown.status == 404 and "fix" in unknown.json()["hint"]
        headers = {"authorization": "Bearer plain", "x": "${TOKEN}"}
        await put(doors, "u", type="validation", phase="request", url="http://x/", headers=headers)
        rows = {row["name"]: row for row in (await doors.get(TOP))["interceptors"]}
        assert rows["u"]["fields"]["headers"] == {"authorization": "[secret]", "x": "${TOKEN}"}


async def test_calls_share_one_program(home: Path) -> None:
    async with yard(home) as doors:
        program = [sys.executable, peer.__file__, "change"]
        await put(doors, "p", type="mutation", phase="request", program=program, seconds=PATIENT)
        answers = await asyncio.gather(*(texts(doors, f"a{number}") for number in range(20)))
        assert answers == [[f"A{number}"] for number in range(20)]
