"""Apps with variants, through a real hub: found, lost, replaced, and served as by their own hub."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, toolyard
from tests.e2e.talk import Talk, listening, talking, text_of
from tests.features.apps.variants import NAMES, Process, squatter, variants
from tests.fixtures.forking import run as run_forked
from tests.fixtures.ports import free_ports
from tests.fixtures.stub_run import recorded

INTERVAL = 700
"""Milliseconds: three misses take longer than a stub needs for a restart."""
TOOLS_CHANGED = "notifications/tools/list_changed"
OWN = ["yardstick_status", "yardstick_launch", "yardstick_refresh", "yardstick_call"]
ENV = {"YARDSTICK_SCAN_INTERVAL": str(INTERVAL), "KUNOBI_SCAN_ENABLED": "false"}


def definition(processes: dict[str, Process], place: Path) -> dict[str, Any]:
    places = {"linux": [str(place / "bin" / "yardstick")], "macos": ["/none"], "windows": ["/none"]}
    return {
        "name": "yardstick",
        "title": "Yardstick",
        "match": "yardstick",
        "environment": "YARDSTICK",
        "variants": {name: process.port for name, process in processes.items()},
        "installs": [
            {"label": "Yardstick", "variant": "stable", "places": places},
            {"label": "Yardstick Dev", "variant": "dev", "places": {"linux": ["/none"]}},
        ],
    }


@contextmanager
def app_hub(
    processes: dict[str, Process], place: Path, env: dict[str, str] | None = None
) -> Iterator[RunningHub]:
    """A hub that knows the app whose variants are these processes."""
    (place / "apps").mkdir()
    (place / "apps" / "yardstick.json").write_text(json.dumps(definition(processes, place)))
    with running_hub({}, home=place, env={**ENV, **(env or {})}) as hub:
        yield hub


@pytest.fixture
def place() -> Iterator[Path]:
    with new_home() as made:
        yield made


@pytest.fixture
def six(place: Path) -> Iterator[dict[str, Process]]:
    with variants(*NAMES, record=place) as made:
        yield made


def the_app(hub: RunningHub) -> dict[str, Any]:
    return next(each for each in hub.status()["apps"] if each["name"] == "yardstick")


def states(hub: RunningHub) -> dict[str, str]:
    return {each["name"]: each["status"] for each in the_app(hub)["variants"]}


async def until(holds: Callable[[], bool], within: float = 60.0) -> None:
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        await asyncio.sleep(0.02)


async def until_state(hub: RunningHub, name: str, state: str) -> None:
    await until(lambda: states(hub)[name] == state)


async def names(client: Talk) -> list[str]:
    return [tool["name"] for tool in (await client.result("tools/list"))["tools"]]


def changes(client: Talk) -> int:
    return sum(message["method"] == TOOLS_CHANGED for message in client.heard)


# Found, lost, restarted, replaced.


async def test_six_variants_come_go_and_come_back_with_one_word_each(
    six: dict[str, Process], place: Path
) -> None:
    with app_hub(six, place) as hub:
        async with talking(hub, app="yardstick") as client, talking(hub) as other:
            assert await names(client) == OWN
            for count, (name, process) in enumerate(six.items(), 1):
                process.start()
                await client.wait_heard(TOOLS_CHANGED, count)
                await until_state(hub, name, "connected")
                assert f"{name}__echo" in await names(client)
            assert f"{NAMES[0]}__echo" in await names(other)
            assert changes(client) == 6
            six["dev"].kill()
            await client.wait_heard(TOOLS_CHANGED, 7)
            assert "dev__echo" not in await names(client)
            assert "e2e__echo" in await names(client)
            six["dev"].start()
            await client.wait_heard(TOOLS_CHANGED, 8)
            assert text_of(await client.call("dev__echo", {"text": "again"})) == "again"
            assert changes(client) == 8


async def test_a_short_restart_is_told_to_nobody(six: dict[str, Process], place: Path) -> None:
    six["dev"].start()
    six["legacy"].start()
    async with AsyncExitStack() as stack:
        # Never gone for good, however long a start takes on this machine.
        patient = {"YARDSTICK_SCAN_INTERVAL": "500", "YARDSTICK_SCAN_MISSES": "1000"}
        hub = stack.enter_context(app_hub(six, place, patient))
        await until(lambda: states(hub)["dev"] == states(hub)["legacy"] == "connected")
        client = await stack.enter_async_context(talking(hub, app="yardstick"))
        modern = await stack.enter_async_context(talking(hub, "modern"))
        await stack.enter_async_context(listening(modern, toolsListChanged=True))
        heard = []
        for name in ("dev", "legacy"):
            # What is left of the arrivals has long been told when the first restart is over.
            heard.append((changes(client), changes(modern)))
            six[name].kill()
            await until_state(hub, name, "reconnecting")
            assert f"{name}__echo" in await names(client)
            six[name].start()
            await until_state(hub, name, "connected")
            assert text_of(await client.call(f"{name}__echo", {"text": "hi"})) == "hi"
        assert (changes(client), changes(modern)) == (0, heard[1][1])


async def test_a_restart_with_other_tools_is_noticed(six: dict[str, Process], place: Path) -> None:
    six["dev"].start()
    with app_hub(six, place) as hub:
        async with talking(hub, app="yardstick") as client:
            await until(lambda: states(hub)["dev"] == "connected")
            heard = changes(client)
            six["dev"].kill()
            six["dev"].start("--name", "Yardstick", "--tools", "2")
            await client.wait_heard(TOOLS_CHANGED, heard + 1)
            # A start that takes long on a busy machine is heard of twice: as gone, and as back.
            while len([n for n in await names(client) if n.startswith("dev__")]) <= 2:
                heard += 1
                await client.wait_heard(TOOLS_CHANGED, heard + 1)


async def test_a_stranger_on_the_port_gets_no_call_and_is_named(
    six: dict[str, Process], place: Path
) -> None:
    six["dev"].start()
    with app_hub(six, place) as hub:
        async with talking(hub, app="yardstick") as client:
            await until(lambda: states(hub)["dev"] == "connected")
            assert "dev__echo" in await names(client)
            heard = changes(client)
            six["dev"].kill()
            record = place / "weather.jsonl"
            six["dev"].start("--name", "weather", "--record", str(record), "--era", "legacy")
            await client.wait_heard(TOOLS_CHANGED, heard + 1)
            assert "dev__echo" not in await names(client)
            asked = {"variant": "dev", "tool": "echo", "arguments": {"text": "psst"}}
            refused = await client.call("yardstick_call", asked)
            assert refused["isError"]
            assert 'Variant "dev" is no longer available.' in text_of(refused)
            assert recorded(record, "call") == []
            (problem,) = [p for p in hub.status()["problems"] if p["code"] == "scan-conflict"]
            assert "it is 'weather' 1.0" in problem["text"]
            told = await client.result("prompts/get", {"name": "yardstick-doctor"})
            text = told["messages"][0]["content"]["text"]
            assert f"dev {six['dev'].port}: it is 'weather' 1.0" in text
            doctor = run(hub, "doctor", code=1)
            assert "it is 'weather' 1.0" in doctor
            assert f"looks at ports {', '.join(str(p.port) for p in six.values())}" in doctor


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user too")
async def test_another_users_listener_is_a_problem_and_offers_nothing(
    six: dict[str, Process], place: Path
) -> None:
    with squatter(six["dev"].port, 65534), app_hub(six, place) as hub:
        (problem,) = hub.status()["problems"]
        assert problem["code"] == "scan-foreign"
        assert states(hub)["dev"] == "not_detected"


async def test_a_stopped_hub_declares_nobody_gone(six: dict[str, Process], place: Path) -> None:
    six["dev"].start()
    with app_hub(six, place) as hub:
        async with talking(hub, app="yardstick") as client:
            await until(lambda: states(hub)["dev"] == "connected")
            heard = changes(client)
            hub.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(4 * INTERVAL / 1000)
            hub.process.send_signal(signal.SIGCONT)
            assert text_of(await client.call("dev__echo", {"text": "back"})) == "back"
            assert "dev__echo" in await names(client)
            assert changes(client) == heard


# Resources: all variants have the same ones.


@pytest.mark.parametrize("app", ["", "yardstick"], ids=["yard", "app"])
async def test_every_resource_carries_its_variant_whoever_else_runs(
    six: dict[str, Process], place: Path, app: str
) -> None:
    clusters = "yardstick-app://clusters"

    async def shown(client: Talk, name: str) -> tuple[str, str]:
        """The address and name of what one variant has, after reading it there."""
        uri = f"toolyard://at/{name}/{clusters}"
        (content,) = (await client.result("resources/read", {"uri": uri}))["contents"]
        assert content["uri"] == uri
        assert content["text"].startswith(f"{clusters} of Yardstick {name},")
        listed = (await client.result("resources/list"))["resources"]
        (item,) = [each for each in listed if each["uri"] == uri]
        return uri, item["name"]

    def start(name: str) -> None:
        six[name].start("--name", f"Yardstick {name}", "--resource", clusters)

    start("e2e")
    with app_hub(six, place) as hub:
        async with talking(hub, app=app) as client:
            await until_state(hub, "e2e", "connected")
            alone = await shown(client, "e2e")
            assert alone[1] == "e2e__clusters"
            start("dev")
            await until_state(hub, "dev", "connected")
            assert await shown(client, "e2e") == alone
            assert (await shown(client, "dev"))[1] == "dev__clusters"
            fault = await client.fault("resources/read", {"uri": clusters})
            assert f"toolyard://at/dev/{clusters}" in fault["message"]
            six["dev"].kill()
            await until_state(hub, "dev", "not_detected")
            assert await shown(client, "e2e") == alone
            await client.fault("resources/read", {"uri": clusters})
            assert [p for p in hub.status()["problems"] if p["code"] == "address-clash"] == []


# The hub of the app.


async def test_the_apps_own_hub_offers_what_it_always_did(
    six: dict[str, Process], place: Path
) -> None:
    for name in ("dev", "e2e"):
        six[name].start("--name", f"Yardstick {name}", "--only", "echo", "--tools-only")
    with app_hub(six, place) as hub:
        await until(lambda: states(hub)["dev"] == states(hub)["e2e"] == "connected")
        async with talking(hub, app="yardstick") as client:
            assert await names(client) == [*OWN, "dev__echo", "e2e__echo"]
            listed = (await client.result("resources/list"))["resources"]
            assert [item["uri"] for item in listed] == ["yardstick://status", "yardstick://tools"]
            prompts = (await client.result("prompts/list"))["prompts"]
            assert [item["name"] for item in prompts] == ["yardstick-setup", "yardstick-doctor"]
            text = text_of(await client.call("yardstick_status"))
        lines = text.splitlines()
        assert lines[:3] == ["Yardstick MCP Hub Status", "─" * 24, "Variants:"]
        assert lines[3] == f"  ✓ dev      (port {six['dev'].port}) — connected, 1 tool"
        assert lines[4] == f"  ✓ e2e      (port {six['e2e'].port}) — connected, 1 tool"
        assert lines[5] == f"  ✗ legacy   (port {six['legacy'].port}) — not detected"
        assert lines[9:13] == ["", "Installed on system: none", "", f"Scan interval: {INTERVAL}ms"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_status_and_catalog_have_the_keys_that_were_promised(
    six: dict[str, Process], place: Path, era: str
) -> None:
    six["dev"].start()
    with app_hub(six, place) as hub:
        await until(lambda: states(hub)["dev"] == "connected")
        async with talking(hub, era, app="yardstick", separator="/") as client:
            status = await read(client, "yardstick://status")
            catalog = await read(client, "yardstick://tools")
    assert status["variants"]["stable"] == {"port": six["stable"].port, "status": "not_detected"}
    dev = status["variants"]["dev"]
    assert (dev["port"], dev["status"]) == (six["dev"].port, "connected")
    assert "dev/echo" in dev["tools"]
    assert (status["installedVariants"], status["scanInterval"]) == ([], INTERVAL)
    assert catalog["callTool"] == "yardstick_call"
    assert set(catalog["callShape"]) == {"variant", "tool", "arguments"}
    assert set(catalog["variants"]) == set(NAMES)
    entry = catalog["variants"]["dev"]
    assert set(entry) == {"port", "status", "tools", "resources", "prompts"}
    echo = next(tool for tool in entry["tools"] if tool["name"] == "echo")
    assert echo["dynamicToolName"] == "dev/echo"
    assert echo["inputSchema"]["type"] == "object"
    note = entry["resources"][0]
    assert note["name"] == "readme"
    assert note["dynamicResourceUri"] == f"toolyard://at/dev/{note['uri']}"
    prompt = entry["prompts"][0]
    assert prompt["dynamicPromptName"] == f"dev/{prompt['name']}"


async def read(client: Talk, uri: str) -> dict[str, Any]:
    (content,) = (await client.result("resources/read", {"uri": uri}))["contents"]
    assert content["mimeType"] == "application/json"
    value: dict[str, Any] = json.loads(content["text"])
    return value


async def test_a_call_by_variant_and_tool_connects_before_any_scan_saw_it(
    six: dict[str, Process], place: Path
) -> None:
    with app_hub(six, place, {"YARDSTICK_SCAN_INTERVAL": "3600000"}) as hub:
        async with talking(hub, app="yardstick") as client:
            asked = {"variant": "dev", "tool": "echo", "arguments": {"text": "hello"}}
            gone = await client.call("yardstick_call", asked)
            assert gone["isError"]
            assert text_of(gone) == (
                'Variant "dev" is no longer available. '
                "Use yardstick_status/yardstick_refresh first."
            )
            six["dev"].start()
            assert text_of(await client.call("yardstick_call", asked)) == "hello"
            unknown = await client.call("yardstick_call", {"variant": "beta", "tool": "echo"})
            assert unknown["isError"]
            assert text_of(unknown) == (
                f'Unknown variant "beta". Available variants: {", ".join(NAMES)}'
            )
            mistyped = await client.call("yardstick_call", {"variant": "dev", "tool": "ecko"})
            assert mistyped["isError"]
            assert "echo" in text_of(mistyped)


async def test_refresh_looks_at_once_and_returns_the_rows(
    six: dict[str, Process], place: Path
) -> None:
    with app_hub(six, place, {"YARDSTICK_SCAN_INTERVAL": "3600000"}) as hub:
        async with talking(hub, app="yardstick") as client:
            assert "✗ dev" in text_of(await client.call("yardstick_status"))
            six["dev"].start()
            asked = [client.call("yardstick_refresh") for _ in range(3)]
            for result in await asyncio.gather(*asked):
                assert "✓ dev" in text_of(result)


async def test_a_follower_of_the_status_is_told_when_it_changes(
    six: dict[str, Process], place: Path
) -> None:
    with app_hub(six, place) as hub:
        async with talking(hub, app="yardstick") as client, talking(hub, app="yardstick") as deaf:
            await client.result("resources/subscribe", {"uri": "yardstick://status"})
            six["dev"].start()
            heard = await client.wait_heard("notifications/resources/updated")
            assert heard[0] == {"uri": "yardstick://status"}
            await deaf.wait_heard(TOOLS_CHANGED)
            assert all(m["method"] != "notifications/resources/updated" for m in deaf.heard)


async def test_launch_starts_what_is_installed_and_says_what_is_not(
    six: dict[str, Process], place: Path
) -> None:
    with app_hub(six, place) as hub:
        async with talking(hub, app="yardstick") as client:
            nothing = await client.call("yardstick_launch")
            assert nothing["isError"]
            assert text_of(nothing) == "Yardstick is not installed on this system."
            started = place / "started"
            _install(place, started)
            for wanted in ({}, {"variant": "Yardstick"}, {"variant": "stable"}):
                result = await client.call("yardstick_launch", wanted)
                assert not result["isError"], result
                assert "Launched Yardstick. Its tools appear as stable__*" in text_of(result)
            async with talking(hub, app="yardstick", separator="/") as other:
                result = await other.call("yardstick_launch")
                assert "Its tools appear as stable/*" in text_of(result)
            await until(lambda: started.exists() and len(started.read_text().split()) == 4)
            missing = await client.call("yardstick_launch", {"variant": "dev"})
            assert missing["isError"]
            assert text_of(missing) == '"dev" is not installed. Installed: Yardstick'
            status = text_of(await client.call("yardstick_status"))
            assert "Installed on system: Yardstick" in status
        parents = {int(word) for word in started.read_text().split()}
        assert hub.process.pid not in parents


def _install(place: Path, started: Path) -> None:
    """A program that writes down whose child it is."""
    (place / "bin").mkdir()
    program = place / "bin" / "yardstick"
    lines = [
        f"#!{sys.executable}",
        "import os, time",
        "end = time.monotonic() + 5",
        "while os.path.exists(f'/proc/{os.getppid()}/exe') and os.getppid() != 1:",
        "    if time.monotonic() > end or 'python' not in os.readlink(",
        "        f'/proc/{os.getppid()}/exe'):",
        "        break",
        "    time.sleep(0.01)",
        f"with open({str(started)!r}, 'a') as file:",
        "    file.write(f'{os.getppid()} ')",
    ]
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)


async def test_an_unknown_app_is_answered_with_those_that_exist(
    six: dict[str, Process], place: Path
) -> None:
    with app_hub(six, place) as hub:
        async with talking(hub, "modern", app="nothing") as client:
            fault = await client.fault("tools/list")
            assert "unknown app 'nothing'" in fault["message"]
            assert "yardstick" in fault["message"]


async def test_the_stdio_entry_stands_in_for_the_app(six: dict[str, Process], place: Path) -> None:
    six["dev"].start()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    with app_hub(six, place) as hub:
        await until(lambda: states(hub)["dev"] == "connected")
        said = "".join(json.dumps(each) + "\n" for each in asked)
        heard = run(hub, "mcp", "--app", "yardstick", "--separator=/", said=said)
    greeting, listed = sorted(map(json.loads, heard.splitlines()), key=lambda m: m["id"])
    assert greeting["result"]["serverInfo"]["name"] == "yardstick"
    assert "yardstick_call" in greeting["result"]["instructions"]
    assert "are named variant/tool" in greeting["result"]["instructions"]
    assert "dev/echo" in [tool["name"] for tool in listed["result"]["tools"]]


# Definitions at run time.


async def test_an_app_that_is_added_is_scanned_within_a_second_and_removed_likewise(
    place: Path,
) -> None:
    (port,) = free_ports(1)
    process = Process(port, "--name", "Yardstick")
    process.start()
    try:
        with running_hub({}, home=place, env=ENV) as hub:
            words = ("app", "add", "yardstick", "--variant", f"dev={port}")
            run(hub, *words, "--match", "YARD")
            await until(
                lambda: any(s["alias"] == "dev" and s["tools"] for s in hub.status()["servers"])
            )
            assert states(hub) == {"dev": "connected"}
            (place / "apps" / "yardstick.json").write_text("{")
            await until(lambda: any(p["code"] == "app-file" for p in hub.status()["problems"]))
            assert states(hub) == {"dev": "connected"}
            run(hub, "app", "remove", "yardstick")
            await until(lambda: [s["source"] for s in hub.status()["servers"]] == ["bundled"])
            assert [a["name"] for a in hub.status()["apps"]] == ["kunobi"]
    finally:
        process.kill()


def run(hub: RunningHub, *words: str, said: str = "", code: int = 0) -> str:
    done = run_forked(toolyard(*words), env=hub.env, said=said)
    assert done.returncode == code, done.stderr
    return done.stdout


# The app that comes with us.


async def test_kunobi_needs_no_configuration_but_its_own_variables(place: Path) -> None:
    dev, single = free_ports(2)
    processes = [Process(dev, "--name", "Kunobi Dev"), Process(single, "--name", "kunobi-mcp")]
    env = {
        "KUNOBI_SCAN_PORTS": f"3200,dev:{dev}",
        "KUNOBI_MCP_URL": f"http://127.0.0.1:{single}/mcp",
        "KUNOBI_SCAN_INTERVAL": "soon",
    }
    for process in processes:
        process.start()
    try:
        with running_hub({}, home=place, env=env) as hub:
            async with talking(hub, app="kunobi") as client:
                tools = (await client.result("tools/list"))["tools"]
                status = await read(client, "kunobi://status")
                catalog = await read(client, "kunobi://tools")
            problems = hub.status()["problems"]
    finally:
        for process in processes:
            process.kill()
    own = ["kunobi_status", "kunobi_launch", "kunobi_refresh", "kunobi_call"]
    assert [tool["name"] for tool in tools[:4]] == own
    call = tools[3]
    assert call["description"] == (
        "Stable tool entrypoint for Kunobi operations. Call a variant tool via (variant, tool, "
        'arguments), e.g. variant="dev", tool="k8s". Use kunobi://tools to discover full '
        "downstream tool schemas and metadata."
    )
    assert call["inputSchema"]["required"] == ["variant", "tool"]
    assert list(call["inputSchema"]["properties"]) == ["variant", "tool", "arguments"]
    assert {"dev__echo", "legacy__echo"} <= {tool["name"] for tool in tools}
    seen = {name: variant["status"] for name, variant in status["variants"].items()}
    assert seen == {"stable": "not_detected", "dev": "connected", "legacy": "connected"}
    assert status["scanInterval"] == 5000
    assert catalog["callShape"] == {
        "variant": "dev",
        "tool": "k8s",
        "arguments": {"action": "list", "variant": "events"},
    }
    assert [(p["code"], p["subject"]) for p in problems] == [
        ("app-setting", "KUNOBI_SCAN_INTERVAL")
    ]
