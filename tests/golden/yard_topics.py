"""Calls about the yard, its servers and their tools."""

from __future__ import annotations

import base64
from typing import Any

from tests.control.company import entry, servers
from tests.features.approvals.yard import says, speaks, tool
from tests.fixtures.stub_run import wait_recorded
from tests.golden.recorder import Recorder, Yard

SERVERS = "/api/v1/servers"
INPUTS = "/api/v1/tools/one/echo/inputs"
CALLS = "/api/v1/calls"
ECHO = {"server": "one", "tool": "echo", "arguments": {"text": "hello"}}


async def health(record: Recorder) -> None:
    """Whether the hub lives, and its numbers."""
    async with record.yard(servers()) as yard:
        await yard.ask("GET", "/health/live")
        await yard.ask("GET", "/health/ready")
        await yard.doors.run("one__echo", text="counted")
        await yard.ask("GET", "/metrics")


async def yard(record: Recorder) -> None:
    """The yard as a whole, with a server that cannot be started, until the hub is stopped."""
    known = {**servers(), "broken": {"command": "no-such-program-anywhere"}}
    async with record.yard(known) as yard:
        await yard.ask("GET", "/api/v1/status")
        await yard.ask("GET", "/api/v1/problems")
        await yard.ask("GET", "/api/v1/settings")
        await yard.ask("GET", "/api/v1/replicas")
        await yard.ask("GET", "/api/v1/instances")
        await yard.ask("POST", "/api/v1/link")
        await yard.ask("GET", "/api/v1/nothing")
        await yard.ask("PATCH", "/api/v1/status")
        await yard.ask("POST", "/api/v1/refresh")
        await yard.ask("POST", "/api/v1/stop", {"comes_back": "perhaps"})
        await yard.ask("POST", "/api/v1/stop", {})


async def events(record: Recorder) -> None:
    """What a listener is told first, and what a call makes it hear."""
    async with record.yard(servers()) as yard, yard.watch("GET", "/api/v1/events") as events:
        await events.wait("picture")
        await yard.doors.run("one__echo", text="heard")
        await events.wait("calls")


async def servers_(record: Recorder) -> None:
    """Servers looked at, written down, switched, started and ended."""
    async with record.yard(servers()) as yard:
        await yard.ask("GET", SERVERS)
        await yard.ask("GET", f"{SERVERS}/one")
        await yard.ask("GET", f"{SERVERS}/nobody")
        await yard.ask("GET", f"{SERVERS}/two/offers")
        await yard.ask("GET", f"{SERVERS}/one/log")
        await yard.ask("GET", f"{SERVERS}/nobody/log")
        await _write_servers(yard)
        await yard.ask("POST", f"{SERVERS}/one/activate")
        await yard.ask("POST", f"{SERVERS}/one/restart")
        await yard.ask("POST", f"{SERVERS}/one/refresh")
        await yard.ask("POST", f"{SERVERS}/one/deactivate")
        await yard.ask("POST", f"{SERVERS}/nobody/activate")


async def adding(record: Recorder) -> None:
    """Text that describes servers, and links by which other programs add the hub."""
    link = "cursor://anysphere.cursor-deeplink/mcp/install?name=time&config="
    config = base64.b64encode(b'{"command": "uvx", "args": ["mcp-server-time"]}').decode()
    async with record.yard() as yard:
        await yard.ask("POST", f"{SERVERS}/read", {"text": link + config})
        await yard.ask("POST", f"{SERVERS}/read", {"text": '{"mcpServers": {"a": {"url": 5}}}'})
        await yard.ask("GET", "/api/v1/clients/links")


async def _write_servers(yard: Yard) -> None:
    new = {"name": "three", "entry": entry("three", "--only", "echo", "--tools-only")}
    await yard.ask("POST", SERVERS, new)
    await yard.ask("POST", SERVERS, new)
    await yard.ask("POST", SERVERS, {"name": "four", "entry": {"comand": "typo"}})
    await yard.ask("POST", SERVERS, {"name": "four", "entry": {}})
    await yard.doors.settled()
    changed = {**new["entry"], "title": "Three"}  # type: ignore[dict-item]
    await yard.ask("PUT", f"{SERVERS}/three", changed)
    await yard.doors.settled()
    await yard.ask("POST", f"{SERVERS}/three/disable")
    await yard.ask("POST", f"{SERVERS}/three/enable")
    await yard.ask("POST", f"{SERVERS}/three/disable", If_Match='"0"')
    await yard.ask("GET", f"{SERVERS}/three/entry")
    await yard.ask("DELETE", f"{SERVERS}/three")
    await yard.ask("DELETE", f"{SERVERS}/three")
    await yard.ask("POST", f"{SERVERS}/three/restore", {})
    await yard.ask("POST", f"{SERVERS}/three/restore", {})
    await yard.doors.settled()


async def trust(record: Recorder) -> None:
    """A server verified, changed behind our back, looked at and approved; the lock."""
    before = says(record.home, "odd", tool("add"), tool("sub"))
    async with record.yard({"odd": before}) as yard:
        await yard.ask("POST", f"{SERVERS}/odd/verify", {})
        await yard.ask("POST", f"{SERVERS}/odd/verify", {"seconds": 0})
        await yard.ask("GET", f"{SERVERS}/odd/changes")
        resource = {"uri": "note://odd", "name": "odd"}
        speaks(
            record.home,
            "odd",
            "Be careful.",
            tools=[tool("add", "does it\u200b all"), tool("sub"), tool("mul")],
            resources=[resource],
        )
        await yard.ask("POST", f"{SERVERS}/odd/restart")
        seen = await yard.ask("GET", f"{SERVERS}/odd/changes")
        await yard.ask("GET", f"{SERVERS}/odd")
        await yard.ask("GET", "/api/v1/problems")
        await yard.ask("POST", f"{SERVERS}/odd/approve", {"hash": "0" * 64})
        await yard.ask("POST", f"{SERVERS}/odd/approve", {"tools": ["add"], "hash": seen["hash"]})
        await yard.ask("POST", f"{SERVERS}/odd/approve", {})
        await yard.ask("GET", f"{SERVERS}/nobody/changes")
        await yard.ask("GET", "/api/v1/lock")


async def sharing(record: Recorder) -> None:
    """Whether sessions can share a server."""
    known = {"one": entry("one", "--only", "rich,counter", "--tools-only")}
    async with record.yard(known) as yard:
        path = f"{SERVERS}/one/shareable"
        await yard.ask("GET", path)
        await yard.ask("POST", path, {"calls": {"counter": {}}})
        await yard.ask("GET", path)
        await yard.ask("POST", path, {"calls": {"nothing": {}}})


async def tools(record: Recorder) -> None:
    """Tools found and called, with what was saved for them."""
    flags = ("--only", "echo,fail,error,rich", "--tools-only")
    async with record.yard({"one": entry("one", *flags)}) as yard:
        await yard.ask("GET", "/api/v1/tools?query=echo&limit=1")
        await yard.ask("GET", "/api/v1/tools?server=one")
        await yard.ask("GET", "/api/v1/tools?server=nobody")
        await yard.ask("GET", "/api/v1/tools?name=one__fail")
        await yard.ask("GET", "/api/v1/tools/names?begin=one__e")
        await yard.ask("GET", "/api/v1/tools/names?server=nobody")
        await yard.ask("GET", "/api/v1/tools?limit=many")
        for name in ("echo", "fail", "rich", "error", "nothing"):
            await yard.ask("POST", "/api/v1/call", {**ECHO, "tool": name})
        await yard.ask("PUT", INPUTS, {"name": "usual", "arguments": {"text": "saved"}})
        await yard.ask("PUT", INPUTS, {"name": ""})
        await yard.ask("GET", INPUTS)
        await yard.ask("POST", "/api/v1/call", {"server": "one", "tool": "echo", "input": "usual"})
        await yard.ask("DELETE", f"{INPUTS}?name=usual")
        await yard.ask("DELETE", f"{INPUTS}?name=usual")


async def calls(record: Recorder) -> None:
    """Calls that a person watches."""
    file = record.home / "one.jsonl"
    flags = ("--only", "ask,cancellable,progress", "--record", str(file), "--era", "legacy")
    async with record.yard({"one": entry("one", *flags)}) as yard:
        async with yard.watch("POST", CALLS, _try("progress", n=2)) as events:
            await events.end()
        async with yard.watch("POST", CALLS, _try("ask", question="Who?")) as events:
            id_ = (await events.wait("begun"))["id"]
            number = (await events.wait("question"))["question"]
            await yard.ask("GET", CALLS)
            said = {"question": number, "action": "accept", "content": {"name": "Ada"}}
            await yard.ask("POST", f"{CALLS}/{id_}/answer", {**said, "question": 99})
            await yard.ask("POST", f"{CALLS}/{id_}/answer", said)
            await events.end()
        async with yard.watch("POST", CALLS, _try("cancellable")) as events:
            id_ = (await events.wait("begun"))["id"]
            await wait_recorded(file, "waiting")
            await yard.ask("DELETE", f"{CALLS}/{id_}")
            await events.end()
        await yard.ask("DELETE", f"{CALLS}/{id_}")
        async with yard.watch("POST", CALLS, _try("nothing")) as events:
            await events.end()


def _try(name: str, **arguments: Any) -> dict[str, Any]:
    return {"server": "one", "tool": name, "arguments": arguments}


async def history(record: Recorder) -> None:
    """Calls that are over, and the servers in numbers."""
    flags = ("--only", "echo,fail", "--tools-only")
    async with record.yard({"one": entry("one", *flags)}, history_bodies="on") as yard:
        await yard.doors.run("one__echo", text="hello", token="ty-0123456789")
        await yard.doors.run("one__echo", text="again")
        await yard.doors.run("one__fail")
        page = await yard.ask("GET", "/api/v1/history?limit=2")
        await yard.ask("GET", f"/api/v1/history?before={page['next']}&outcome=ok")
        await yard.ask("GET", "/api/v1/history?since=whenever")
        await yard.ask("GET", "/api/v1/history/stats?server=one")
        await yard.ask("GET", "/api/v1/history/check")
        await yard.ask("GET", "/api/v1/history/timeline?since=1w&buckets=1&by=agent")
        await yard.ask("GET", "/api/v1/history/timeline?by=tool")
        last, second = (call["id"] for call in page["calls"])
        await yard.ask("GET", f"/api/v1/history/{last}")
        await yard.ask("GET", "/api/v1/history/none")
        await yard.ask("POST", f"/api/v1/history/{second}/replay")
        await yard.ask("POST", f"/api/v1/history/{second - 1}/replay")
        await yard.ask("PUT", "/api/v1/profiles/work", {"hide": ["one/fail"]})
        await yard.ask("GET", "/api/v1/audit?kind=profile&limit=1")
        await yard.ask("GET", "/api/v1/audit?since=whenever")
        await yard.ask("GET", "/api/v1/figures")
        await yard.ask("GET", "/api/v1/figures/schemas")
