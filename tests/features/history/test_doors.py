"""A real hub: what goes through any of its doors is in the history."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.hub import TOKEN, RunningHub, new_home, running_hub, stdio_stub
from tests.e2e.talk import Json, talking
from toolyard.command_line import run
from toolyard.console.exits import Exit

pytestmark = pytest.mark.slow

KINDS = [(era, door) for era in ("legacy", "modern") for door in ("line", "http")]
SERVERS = ("old", "new")


@pytest.fixture(scope="module")
def yard() -> Iterator[RunningHub]:
    """A hub that keeps arguments and results."""
    with new_home() as home:
        servers = {
            "old": stdio_stub("old", home, "--era", "legacy"),
            "new": stdio_stub("new", home, "--era", "modern"),
        }
        with running_hub(servers, home=home, env={"TOOLYARD_HISTORY_BODIES": "on"}) as hub:
            yield hub


def ask(hub: RunningHub, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, json.dumps(body or {}), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def calls(hub: RunningHub, **wanted: Any) -> list[Json]:
    status, found = ask(hub, "GET", f"/api/v1/history?{urlencode(wanted)}")
    assert status == 200, found
    listed: list[Json] = found["calls"]
    return listed


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_every_kind_of_client_leaves_its_calls(
    yard: RunningHub, kind: tuple[str, str], server: str
) -> None:
    name = f"agent-{'-'.join(kind)}-{server}"
    async with talking(yard, *kind, name=name) as client:
        await client.call(f"{server}__echo", {"text": "hello"})
        await client.call("toolyard_destroy", {"server": server, "tool": "fail", "arguments": {}})
        await client.fault("tools/call", {"name": f"{server}__error", "arguments": {}})
        await client.call("toolyard_status")

    found = calls(yard, agent=name)

    seen = [(each["server"], each["tool"], each["outcome"], each["error"]) for each in found]
    assert seen == [
        (server, "error", "error", "refused"),
        (server, "fail", "tool-error", "it failed"),
        (server, "echo", "ok", ""),
    ]
    assert all(each["ms"] > 0 and each["answered"] > 0 for each in found)
    assert {each["caller"] for each in found} == {"control" if kind[1] == "http" else ""}
    assert found[2]["asked"] == len(json.dumps({"text": "hello"}, separators=(",", ":"))) or (
        found[2]["asked"] == len(json.dumps({"text": "hello"}))
    )


async def test_a_call_that_its_client_takes_back_is_cancelled(yard: RunningHub) -> None:
    async with talking(yard, name="impatient") as client:
        message = client.message("tools/call", {"name": "old__cancellable", "arguments": {}})
        waiting = client.group.create_task(client.exchange(message))
        await yard.happened("old", "waiting")
        await client.cancel(message["id"], waiting)

        await yard.happened("old", "cancelled")
        found = calls(yard, agent="impatient")

    assert [(each["tool"], each["outcome"]) for each in found] == [("cancellable", "cancelled")]


def test_a_call_through_the_control_door_is_recorded_and_can_be_repeated(yard: RunningHub) -> None:
    asked = {"server": "old", "tool": "echo", "arguments": {"text": "once more"}}
    ask(yard, "POST", "/api/v1/call", asked)
    (first,) = calls(yard, agent="control", text="once more")

    status, again = ask(yard, "POST", f"/api/v1/history/{first['id']}/replay")

    assert (status, again["content"][0]["text"]) == (200, "once more")
    assert [each["tool"] for each in calls(yard, agent="replay", limit=1)] == ["echo"]
    status, whole = ask(yard, "GET", f"/api/v1/history/{first['id']}")
    assert whole["arguments"] == {"text": "once more"}
    assert whole["result"]["content"][0]["text"] == "once more"


def test_a_call_with_a_secret_is_not_repeated(yard: RunningHub) -> None:
    asked = {"server": "old", "tool": "echo", "arguments": {"password": "hush"}}
    ask(yard, "POST", "/api/v1/call", asked)
    last = calls(yard, agent="control", limit=1)[0]

    status, refusal = ask(yard, "POST", f"/api/v1/history/{last['id']}/replay")

    assert (status, "secrets" in refusal["detail"]) == (422, True)
    assert "toolyard call old echo" in refusal["hint"]
    assert "hush" not in json.dumps(ask(yard, "GET", f"/api/v1/history/{last['id']}")[1])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/history/999999", 404),
        ("/api/v1/history/seven", 404),
        ("/api/v1/history?since=whenever", 422),
        ("/api/v1/history/timeline?since=whenever", 422),
        ("/api/v1/history/timeline?by=tool", 422),
        ("/api/v1/history/timeline?buckets=241", 422),
        ("/api/v1/history?limit=0", 422),
        ("/api/v1/history?before=-1", 422),
        ("/api/v1/history?outcome=odd", 422),
        (f"/api/v1/history?before={2**70}", 422),
    ],
)
def test_what_cannot_be_answered_is_refused(yard: RunningHub, path: str, status: int) -> None:
    found, refusal = ask(yard, "GET", path)

    assert (found, refusal["status"]) == (status, status)
    assert refusal["detail"]


def test_a_call_that_found_its_server_at_rest_tells_how_long_the_start_took(
    yard: RunningHub,
) -> None:
    ask(yard, "POST", "/api/v1/servers/old/deactivate")
    for _ in range(2):
        ask(yard, "POST", "/api/v1/call", {"server": "old", "tool": "echo", "arguments": {}})

    warm, cold = calls(yard, server="old", limit=2)

    assert 0 < cold["start_ms"] <= cold["ms"]
    assert warm["start_ms"] == 0


def test_pages_follow_each_other_to_the_end(yard: RunningHub) -> None:
    for number in range(5):
        asked = {"server": "new", "tool": "echo", "arguments": {"text": f"page {number}"}}
        ask(yard, "POST", "/api/v1/call", asked)
    seen: list[int] = []
    before = 0
    for _ in range(20):
        path = f"/api/v1/history?server=new&agent=control&limit=2&before={before}"
        page = ask(yard, "GET", path)[1]
        seen += [each["id"] for each in page["calls"]]
        before = page["next"]
        if before is None:
            break

    assert before is None
    assert len(seen) >= 5
    assert seen == sorted(set(seen), reverse=True)


def test_numbers_are_counted_per_server_and_tool(yard: RunningHub) -> None:
    for tool in ("echo", "fail"):
        ask(yard, "POST", "/api/v1/call", {"server": "new", "tool": tool, "arguments": {}})

    stats = ask(yard, "GET", "/api/v1/history/stats?server=new&since=1h")[1]["stats"]

    tools = {each["tool"]: each for each in stats}
    assert {"", "echo", "fail"} <= tools.keys()
    assert tools["fail"]["error_rate"] == 1.0
    assert tools[""]["calls"] == sum(each["calls"] for name, each in tools.items() if name)
    assert 0 < tools["echo"]["p50_ms"] <= tools["echo"]["p95_ms"]


def test_calls_are_drawn_along_time(yard: RunningHub) -> None:
    for tool in ("echo", "fail"):
        ask(yard, "POST", "/api/v1/call", {"server": "new", "tool": tool, "arguments": {}})

    status, drawn = ask(yard, "GET", "/api/v1/history/timeline?server=new&since=15m&buckets=30")

    assert (status, drawn["seconds"], len(drawn["total"]["calls"])) == (200, 30, drawn["buckets"])
    assert [series["name"] for series in drawn["series"]] == ["new"]
    assert drawn["series"][0]["all_calls"] == sum(drawn["total"]["calls"]) >= 2
    assert drawn["total"]["all_errors"] == sum(drawn["total"]["errors"]) >= 1
    assert 0 < drawn["total"]["all_p50_ms"] <= drawn["total"]["all_p95_ms"]


def test_numbers_are_those_of_the_calls_that_are_looked_for(yard: RunningHub) -> None:
    for tool, text in (("echo", "counted"), ("fail", "counted"), ("fail", "another")):
        asked = {"server": "new", "tool": tool, "arguments": {"text": text}}
        ask(yard, "POST", "/api/v1/call", asked)

    def count(query: str) -> dict[str, int]:
        stats = ask(yard, "GET", f"/api/v1/history/stats?server=new&{query}")[1]["stats"]
        return {each["tool"]: each["calls"] for each in stats if each["tool"]}

    assert count("text=counted") == {"echo": 1, "fail": 1}
    assert count("text=counted&outcome=failed") == {"fail": 1}
    assert "echo" not in count("outcome=failed")
    assert ask(yard, "GET", "/api/v1/history/stats?outcome=bad")[0] == 422


def test_metrics_are_what_prometheus_reads(yard: RunningHub) -> None:
    ask(yard, "POST", "/api/v1/call", {"server": "old", "tool": "fail", "arguments": {}})

    status, body = yard.get("/metrics")

    samples = {
        name: float(value)
        for name, _, value in (
            line.rpartition(" ") for line in body.decode().splitlines() if line[:1] != "#"
        )
    }
    assert status == 200
    assert body.endswith(b"\n")
    assert samples['toolyard_calls_total{server="old",outcome="tool-error"}'] >= 1
    assert samples['toolyard_servers{status="ready"}'] == 2
    assert samples["toolyard_servers_running"] == 2
    assert samples["toolyard_history_dropped_total"] == 0
    assert "toolyard_sessions" in samples
    prefix = 'toolyard_call_duration_seconds_bucket{server="old",le='
    buckets = [value for name, value in samples.items() if name.startswith(prefix)]
    assert buckets == sorted(buckets)
    assert buckets[-1] == samples['toolyard_call_duration_seconds_count{server="old"}'] >= 1
    assert samples['toolyard_call_duration_seconds_sum{server="old"}'] > 0


def test_metrics_need_the_token(yard: RunningHub) -> None:
    connection = http.client.HTTPConnection(yard.url.removeprefix("http://"), timeout=60)
    connection.request("GET", "/metrics")

    assert connection.getresponse().status == 401
    connection.close()


def test_the_operations_are_in_the_document(yard: RunningHub) -> None:
    paths = ask(yard, "GET", "/api/v1/openapi.json")[1]["paths"]

    assert {"/api/v1/history", "/api/v1/history/stats", "/metrics"} <= paths.keys()
    names = {each["name"] for each in paths["/api/v1/history"]["get"]["parameters"]}
    named = {"server", "tool", "agent", "caller", "outcome", "text", "since", "before", "limit"}
    assert named == names


def test_a_hub_whose_database_cannot_be_opened_serves_and_says_so() -> None:
    with new_home() as home:
        (home / "state" / "toolyard.db").mkdir(parents=True)
        with running_hub({"old": stdio_stub("old", home, "--era", "legacy")}, home=home) as hub:
            problems = {each["code"]: each for each in hub.status()["problems"]}
            refused, refusal = ask(hub, "GET", "/api/v1/history")

    assert "toolyard.db" in problems["database-failed"]["text"]
    assert problems["database-failed"]["hint"]
    assert (refused, "keeps no history" in refusal["detail"]) == (422, True)


def test_a_hub_that_is_told_so_keeps_no_history_but_counts() -> None:
    with new_home() as home:
        servers = {"old": stdio_stub("old", home, "--era", "legacy")}
        with running_hub(servers, home=home, env={"TOOLYARD_HISTORY": "off"}) as hub:
            ask(hub, "POST", "/api/v1/call", {"server": "old", "tool": "echo", "arguments": {}})
            refused, refusal = ask(hub, "GET", "/api/v1/history")
            metrics = hub.get("/metrics")[1].decode()

    assert (refused, "TOOLYARD_HISTORY=on" in refusal["hint"]) == (422, True)
    assert 'toolyard_calls_total{server="old",outcome="ok"} 1' in metrics


def test_calls_are_kept_when_the_hub_stops_and_starts_again() -> None:
    with new_home() as home:
        servers = {"old": stdio_stub("old", home, "--era", "legacy")}
        with running_hub(servers, home=home) as hub:
            ask(hub, "POST", "/api/v1/call", {"server": "old", "tool": "echo", "arguments": {}})
        (home / "config" / "servers.json").unlink()
        (home / "config").rmdir()
        with running_hub(servers, home=home) as hub:
            (kept,) = calls(hub)
            assert kept["tool"] == "echo"

            status, refusal = ask(hub, "POST", f"/api/v1/history/{kept['id']}/replay")

    assert (status, "TOOLYARD_HISTORY_BODIES=on" in refusal["hint"]) == (422, True)


# The command line.

Toolyard = Callable[..., tuple[int, str, str]]


@pytest.fixture
def toolyard(
    yard: RunningHub, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Toolyard:
    monkeypatch.setenv("TOOLYARD_HOME", str(yard.home))
    monkeypatch.setenv("TOOLYARD_TOKEN", TOKEN)

    def call(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(list(words))
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


def test_the_command_shows_calls_newest_first(yard: RunningHub, toolyard: Toolyard) -> None:
    for text in ("first", "second"):
        asked = {"server": "old", "tool": "fail", "arguments": {"text": text}}
        ask(yard, "POST", "/api/v1/call", asked)

    code, out, err = toolyard(
        "history", "--server", "old", "--failed", "--since", "1h", "--limit", "2"
    )

    title, *rows = out.splitlines()
    assert (code, title.split()[0], len(rows)) == (Exit.OK, "ID", 2)
    assert [row.split()[-1] for row in rows] == ["second", "first"]
    assert "--before" in err


def test_the_command_shows_one_call_and_repeats_it(yard: RunningHub, toolyard: Toolyard) -> None:
    asked = {"server": "old", "tool": "fail", "arguments": {"text": "sorry"}}
    ask(yard, "POST", "/api/v1/call", asked)
    found = json.loads(toolyard("history", "--text", "sorry", "--json")[1])["calls"][0]

    code, out, _ = toolyard("history", "show", str(found["id"]))
    assert code == Exit.OK
    assert '"text": "sorry"' in out

    code, out, err = toolyard("history", "replay", str(found["id"]))
    assert (code, out) == (Exit.REFUSED, "sorry\n")
    assert "answered with an error" in err


def test_the_command_shows_statistics(yard: RunningHub, toolyard: Toolyard) -> None:
    ask(yard, "POST", "/api/v1/call", {"server": "old", "tool": "echo", "arguments": {}})

    code, out, _ = toolyard("history", "--stats", "--server", "old")

    assert code == Exit.OK
    assert any(line.split()[:2] == ["old", "(all)"] for line in out.splitlines())


def test_statistics_hold_to_what_was_asked_for(yard: RunningHub, toolyard: Toolyard) -> None:
    for text in ("rare words", "other words"):
        asked = {"server": "old", "tool": "fail", "arguments": {"text": text}}
        ask(yard, "POST", "/api/v1/call", asked)
    ask(yard, "POST", "/api/v1/call", {"server": "old", "tool": "echo", "arguments": {}})

    _, out, _ = toolyard("history", "--stats", "--failed", "--text", "rare words", "--json")

    stats = {each["tool"]: each["calls"] for each in json.loads(out)["stats"]}
    assert stats == {"": 1, "fail": 1}
    code, _, err = toolyard("history", "--stats", "--limit", "2")
    assert (code, "--stats" in err) == (Exit.USAGE, True)


def test_a_call_that_is_not_there_ends_with_not_found(toolyard: Toolyard) -> None:
    code, _, err = toolyard("history", "show", "999999")

    assert (code, "no call 999999" in err) == (Exit.NOT_FOUND, True)
