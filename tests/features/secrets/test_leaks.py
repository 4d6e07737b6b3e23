"""Two hundred secrets on every way into a hub that logs all it can: none comes out again."""

from __future__ import annotations

import base64
import json
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.e2e.hub import RunningHub, new_home, running_hub, toolyard
from tests.fixtures.forking import run as run_forked
from tests.fixtures.ports import free_port

CRASHING = """
import base64, json, os, sys, urllib.parse
told = [*sys.argv[1:], *os.environ.values()]
for value in told:
    print("starting with", value, file=sys.stderr)
    print(base64.b64encode(b"x" + value.encode()).decode(), file=sys.stderr)
print(json.dumps(dict(os.environ)), urllib.parse.urlencode(os.environ), file=sys.stderr)
sys.stderr.write("cut in ")
sys.stderr.flush()
for letter in told[0]:
    sys.stderr.write(letter)
    sys.stderr.flush()
raise RuntimeError(repr(told))
"""


def markers(count: int) -> list[str]:
    return [f"mark-{secrets.token_hex(12)}" for _ in range(count)]


def yard(home: Path, env: dict[str, str]) -> dict[str, Any]:
    """Servers that hold secrets in every place an entry has, and fail in every way."""
    literal, told, filed = markers(50), markers(50), markers(20)
    arguments, headers, addresses, passwords = markers(20), markers(30), markers(20), markers(10)
    env |= {f"GIVEN_{number}": value for number, value in enumerate(told)}
    for number, value in enumerate(filed):
        file = home / f"secret-{number}"
        file.write_text(value)
        file.chmod(0o600)
    variables = {f"SETTING_{number}": value for number, value in enumerate(literal)}
    variables |= {f"VAR_{number}": f"${{GIVEN_{number}}}" for number in range(len(told))}
    variables |= {f"FILE_{n}": f"${{file:{home}/secret-{n}}}" for n in range(len(filed))}
    closed = f"127.0.0.1:{free_port()}"
    servers: dict[str, Any] = {
        "crashing": {"command": sys.executable, "args": ["-c", CRASHING, *arguments]},
        "absent": {"command": "no-such-program", "args": ["--token", arguments[0]]},
        "closed": {
            "url": f"http://{closed}/mcp?" + "&".join(f"k{n}={v}" for n, v in enumerate(addresses)),
            "headers": {f"X-Part-{n}": f"Bearer {v}" for n, v in enumerate(headers)},
        },
        "wrong": {"url": f"http://{closed}/ä?key={addresses[0]}"},
    }
    servers["crashing"]["env"] = variables
    for number, value in enumerate(passwords):
        servers[f"door-{number}"] = {"url": f"http://me:{value}@{closed}/mcp"}
    env["ALL_MARKERS"] = " ".join(
        literal + told + filed + arguments + headers + addresses + passwords
    )
    return servers


def written(home: Path) -> dict[str, str]:
    """All that the hub wrote: its log, those of servers, what it remembers."""
    inputs = {home / "config"}
    return {
        str(file.relative_to(home)): file.read_text("utf-8", "replace")
        for file in home.rglob("*")
        if file.is_file()
        and not inputs.intersection(file.parents)
        and not file.name.startswith("secret-")
    }


def said(hub: RunningHub) -> dict[str, str]:
    out = {"status": json.dumps(hub.status(), ensure_ascii=False)}
    for words in (("status",), ("doctor",), ("logs", "crashing"), ("logs",)):
        done = run_forked(toolyard(*words), env=hub.env)
        out[" ".join(words)] = done.stdout + done.stderr
    return out


def forms(marker: str) -> list[str]:
    """What would give a marker away; of base64 a part that does not depend on what is around."""
    encoded = [base64.b64encode(b"x" * n + marker.encode()).decode()[4:24] for n in range(3)]
    return [marker, quote(marker), *encoded]


def test_two_hundred_secrets_leave_no_trace_in_what_is_written_or_shown(
    record_property: Callable[[str, object], None],
) -> None:
    env = {"TOOLYARD_LOG_LEVEL": "debug"}
    with new_home() as home:
        servers = yard(home, env)
        all_markers = env.pop("ALL_MARKERS").split()
        assert len(set(all_markers)) == 200
        with running_hub(servers, home=home, env=env) as hub:
            shown = said(hub)
        shown |= written(home)

    log = next(text for name, text in shown.items() if name.endswith("crashing.log"))
    assert log.count("[secret]") >= 200, "the server did not say what it was to say"
    leaks = [
        (place, marker)
        for marker in all_markers
        for place, text in shown.items()
        if any(form in text for form in forms(marker))
    ]
    record_property(
        "figure", f"{len(all_markers)} secrets, {len(shown)} places, {len(leaks)} leaks"
    )
    assert leaks == []
