"""Telemetry is off unless asked for, and trouble with it never reaches a call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.control.company import entry
from tests.doors.doors import open_doors
from tests.fixtures.collector import collecting
from tests.fixtures.ports import free_port
from toolyard.features.telemetry.model import ExportPlan, read_plan

HERE = "http://127.0.0.1:4318"
OFF = """
import asyncio, sys
from pathlib import Path
from toolyard.app.house import House
from toolyard.links.patience import Patience
from toolyard.settings import read_settings

async def build():
    house = House(read_settings({}, {"TOOLYARD_HOME": sys.argv[1]}), Patience())
    assert house.relay._trace is None
    async def leave(): pass
    await house.live(leave)

asyncio.run(build())
print([name for name in sys.modules if name.partition(".")[0] in ("opentelemetry", "requests")])
"""


def test_nothing_is_loaded_where_nobody_asked(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFF, str(home)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize(
    ("environ", "plan"),
    [
        ({}, ExportPlan()),
        ({"OTEL_SERVICE_NAME": "x"}, ExportPlan()),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": HERE + "/"},
            ExportPlan(f"{HERE}/v1/traces", f"{HERE}/v1/metrics"),
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, "OTEL_SDK_DISABLED": "true"}, ExportPlan()),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, ExportPlan("http://localhost:4318/v1/traces")),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, "OTEL_TRACES_EXPORTER": "none"},
            ExportPlan(metrics=f"{HERE}/v1/metrics"),
        ),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t.example/x"},
            ExportPlan("https://t.example/x"),
        ),
    ],
)
def test_the_usual_variables_say_what_is_exported(
    environ: dict[str, str], plan: ExportPlan
) -> None:
    assert read_plan(environ) == plan


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
    ],
)
def test_a_variable_that_cannot_be_followed_is_a_problem(name: str, value: str) -> None:
    plan = read_plan({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, name: value})

    assert not plan.traces
    assert {problem.code for problem in plan.problems} == {"telemetry-settings"}
    assert value in plan.problems[0].text and name in plan.problems[0].hint


async def test_a_collector_that_is_away_is_one_problem_until_it_is_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"http://127.0.0.1:{port}/v1/traces")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    async with open_doors(home, {"s": entry("s", "--only", "echo")}) as doors:
        await doors.settled()
        assert await doors.text("s__echo", text="hello") == "hello"
        (problem,) = await doors.until(doors.problems)
        assert problem["code"] == "telemetry-collector"
        with collecting(port):

            async def is_back() -> bool:
                assert await doors.text("s__echo", text="hello") == "hello"
                return not await doors.problems()

            await doors.until(is_back)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len([text for text in warnings if "collector" in text]) == 1


async def test_a_value_that_the_library_refuses_is_a_problem_and_calls_go_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    async with open_doors(home) as doors:
        (problem,) = await doors.problems()
        assert problem["code"] == "telemetry-settings"
        assert await doors.text("toolyard_status")
