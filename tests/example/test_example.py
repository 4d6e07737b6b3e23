"""The bundled example server, driven by the SDK's client in both eras and by plain lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

COMMAND = [sys.executable, "-m", "toolyard.example"]
# Found even where the package is not installed.
PLACE = {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(params=["legacy", "auto"])
def example(request: pytest.FixtureRequest) -> Client:
    """A client of the example, to be opened by the test, in the task that also closes it."""
    target = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=PLACE)
    return Client(target, mode=request.param, read_timeout_seconds=60)


async def outcome(live: Client, tool: str, **arguments: Any) -> Any:
    result = await live.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def complaint(live: Client, tool: str, **arguments: Any) -> str:
    result = await live.call_tool(tool, arguments)
    assert result.is_error
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


async def test_both_eras_are_spoken_and_every_tool_is_well_described(example: Client) -> None:
    async with example as live:
        assert live.protocol_version in ("2025-11-25", "2026-07-28")
        assert live.server_info is not None
        assert live.server_info.name == "toolyard-example"
        tools = (await live.list_tools()).tools
        assert [tool.name for tool in tools] == [
            "time_in",
            "convert_time",
            "convert_units",
            "days_between",
        ]
        for tool in tools:
            assert tool.description
            assert tool.output_schema
            assert tool.annotations
            assert tool.annotations.read_only_hint


async def test_time_in_gives_the_time_with_its_offset(example: Client) -> None:
    async with example as live:
        found = await outcome(live, "time_in", zone="Asia/Kolkata")
        assert found["utc_offset"] == "+05:30"
        assert found["time"].endswith("+05:30")


async def test_convert_time_crosses_midnight(example: Client) -> None:
    async with example as live:
        given = {
            "time": "2026-01-15T20:00",
            "from_zone": "America/New_York",
            "to_zone": "Asia/Tokyo",
        }
        found = await outcome(live, "convert_time", **given)
        assert found["to"]["time"] == "2026-01-16T10:00:00+09:00"
        assert found["days_later"] == 1
        assert "note" not in found


@pytest.mark.parametrize(
    ("time", "said"), [("2026-03-29T02:30", "skipped"), ("2026-10-25T02:30", "twice")]
)
async def test_convert_time_says_when_clocks_are_changed(
    example: Client, time: str, said: str
) -> None:
    async with example as live:
        given = {"time": time, "from_zone": "Europe/Paris", "to_zone": "UTC"}
        assert said in (await outcome(live, "convert_time", **given))["note"]


@pytest.mark.parametrize(
    ("value", "given", "wanted", "result"),
    [
        (26.2, "mi", "km", 42.1648128),
        (212, "fahrenheit", "C", 100),
        (1, "MiB", "kB", 1048.576),
        (100, "km/h", "m/s", 27.7777777778),
        (2, "Pounds", "kg", 0.90718474),
        (1, "us gallon", "l", 3.785411784),
    ],
)
async def test_convert_units_is_exact(
    example: Client, value: float, given: str, wanted: str, result: float
) -> None:
    async with example as live:
        found = await outcome(live, "convert_units", value=value, from_unit=given, to_unit=wanted)
        assert found["value"] == result


async def test_days_between_counts_weekdays(example: Client) -> None:
    async with example as live:
        found = await outcome(live, "days_between", start="2026-01-01", end="2026-01-11")
        assert found == {"days": 10, "weeks_and_days": "1 weeks and 3 days", "weekdays": 7}
        back = await outcome(live, "days_between", start="2026-01-11", end="2026-01-01")
        assert (back["days"], back["weekdays"]) == (-10, -7)


async def test_bad_arguments_are_tool_errors_that_say_what_is_right(example: Client) -> None:
    async with example as live:
        assert "Europe/Paris" in await complaint(live, "time_in", zone="Europe/Pariss")
        assert "Europe/Paris" in await complaint(live, "time_in", zone="paris")
        assert "'zone'" in await complaint(live, "time_in")
        assert "unknown argument 'zonee'; did you mean zone?" in await complaint(
            live, "time_in", zonee="UTC"
        )
        units = {"value": 1, "from_unit": "kilometrs", "to_unit": "m"}
        assert "kilometer" in await complaint(live, "convert_units", **units)
        units = {"value": 1, "from_unit": "km", "to_unit": "kg"}
        assert "measures length" in await complaint(live, "convert_units", **units)
        units = {"value": -300, "from_unit": "C", "to_unit": "K"}
        assert "absolute zero" in await complaint(live, "convert_units", **units)
        times = {"time": "noon", "from_zone": "UTC", "to_zone": "UTC"}
        assert "HH:MM" in await complaint(live, "convert_time", **times)
        times = {"time": "9999-12-31T23:59", "from_zone": "UTC", "to_zone": "Asia/Tokyo"}
        assert "9999" in await complaint(live, "convert_time", **times)
        assert "YYYY-MM-DD" in await complaint(
            live, "days_between", start="1.1.26", end="2026-01-01"
        )


async def test_prompt_resources_and_completion_work(example: Client) -> None:
    async with example as live:
        zones = {"zones": "Europe/Paris, Asia/Tokyo"}
        message = (await live.get_prompt("plan-meeting", zones)).messages[0]
        assert isinstance(message.content, types.TextContent)
        assert "Asia/Tokyo" in message.content.text
        units = (await live.read_resource("example://units")).contents[0]
        assert isinstance(units, types.TextResourceContents)
        assert {"symbol": "km", "kind": "length"}.items() <= json.loads(units.text)[6].items()
        for uri in ("example://zone/Europe/Paris", "example://zone/Europe%2FParis"):
            zone = (await live.read_resource(uri)).contents[0]
            assert isinstance(zone, types.TextResourceContents)
            assert json.loads(zone.text)["zone"] == "Europe/Paris"
        assert (await live.list_resource_templates()).resource_templates[0].name == "zone"
        template = types.ResourceTemplateReference(type="ref/resource", uri="example://zone/{name}")
        found = await live.complete(template, {"name": "name", "value": "par"})
        assert "Europe/Paris" in found.completion.values
        prompt = types.PromptReference(type="ref/prompt", name="plan-meeting")
        found = await live.complete(prompt, {"name": "zones", "value": "UTC, tok"})
        assert found.completion.values == ["UTC, Asia/Tokyo"]


async def test_unknown_things_are_refused(example: Client) -> None:
    async with example as live:
        with pytest.raises(MCPError, match="plan-meeting"):
            await live.get_prompt("other")
        with pytest.raises(MCPError, match="resource not found"):
            await live.read_resource("example://other")
        with pytest.raises(MCPError, match="time_in"):
            await live.call_tool("other")


def answers(*lines: str) -> list[Any]:
    """What it prints for these lines, after which its stdin is closed."""
    given = "".join(line + "\n" for line in lines)
    done = subprocess.run(
        COMMAND, input=given, capture_output=True, text=True, timeout=60, env=PLACE
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def test_garbage_gets_an_error_and_the_next_line_its_answer() -> None:
    codes = [
        answer["error"]["code"] if "error" in answer else answer["result"]
        for answer in answers("{", "[]", '"x"', "", '{"method":7}', request("ping"))
    ]
    assert codes == [-32700, -32600, -32600, -32600, {}]


def test_every_legacy_revision_is_kept_and_an_unknown_one_gets_our_newest() -> None:
    wanted = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]
    found = answers(*(request("initialize", protocolVersion=version) for version in wanted))
    spoken = [answer["result"]["protocolVersion"] for answer in found]
    assert spoken == [*wanted[:4], "2025-11-25"]


def test_a_modern_result_is_complete_dated_and_signed() -> None:
    (listed,) = answers(request("tools/list", _meta=META))
    result = listed["result"]
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
    assert result["ttlMs"] > 0
    assert "io.modelcontextprotocol/serverInfo" in result["_meta"]
    (plain,) = answers(request("tools/list"))
    assert list(plain["result"]) == ["tools"]


def test_a_modern_request_must_be_whole() -> None:
    version = "io.modelcontextprotocol/protocolVersion"
    lacking, future = answers(
        request("tools/list", _meta={version: "2026-07-28"}),
        request("tools/list", _meta={**META, version: "2030-01-01"}),
    )
    assert lacking["error"]["code"] == -32602
    assert future["error"]["code"] == -32022
    assert future["error"]["data"]["supported"] == ["2026-07-28"]


def test_notifications_and_stray_answers_are_taken_in_silence() -> None:
    note = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert answers(note, '{"jsonrpc":"2.0","id":1,"result":{}}') == []


def test_it_leans_on_nothing_but_the_standard_library_and_starts_lean() -> None:
    code = (
        "import sys, toolyard.example.__main__; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} "
        "- set(sys.stdlib_module_names))); "
        "print(*(name for name in sys.modules if name.startswith('toolyard.')))"
        "; print('asyncio' in sys.modules, 'zoneinfo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=PLACE
    )
    foreign, ours, heavy = done.stdout.splitlines()
    assert set(foreign.split()) <= {"__main__", "toolyard"}
    assert all(name.startswith("toolyard.example") for name in ours.split())
    assert heavy == "False False"
