"""Whatever a person, a program or a client sees of Toolyard is as it was recorded.

A difference is either a mistake, or it is written into the change: run `scripts/golden.py`, look
at the difference, and commit it with the reason.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest

from tests.doors.doors import open_doors
from tests.golden import agent_topics, client_topics, outside_topics, yard_topics
from tests.golden.commands import help_pages
from tests.golden.files import DOCUMENT, HERE, documented, operation_of, recorded_calls
from tests.golden.plain import plain, written
from tests.golden.recorder import Recorder

Topic = Callable[[Recorder], Awaitable[None]]
API: tuple[Topic, ...] = (
    yard_topics.health,
    yard_topics.yard,
    yard_topics.events,
    yard_topics.servers_,
    yard_topics.adding,
    yard_topics.trust,
    yard_topics.sharing,
    yard_topics.tools,
    yard_topics.calls,
    yard_topics.history,
    agent_topics.agents,
    agent_topics.resolving,
    agent_topics.policies,
    agent_topics.executors,
    agent_topics.profiles,
    agent_topics.passports,
    agent_topics.tokens,
    agent_topics.marks,
    agent_topics.interceptors,
    agent_topics.rules,
    agent_topics.limits,
    agent_topics.members,
    agent_topics.transfer,
    outside_topics.catalog,
    outside_topics.published,
    outside_topics.secrets,
    outside_topics.clients,
    outside_topics.setup,
    outside_topics.apps,
    outside_topics.announced,
    outside_topics.packages,
)
CLIENT: tuple[Topic, ...] = (client_topics.legacy, client_topics.modern)


def name_of(topic: Topic) -> str:
    """The name of a topic's file."""
    return topic.__name__.strip("_")


def check(name: str, text: str) -> None:
    """Compare with what was recorded, or record it anew."""
    file = HERE / name
    if os.environ.get("GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
        return
    recorded = file.read_text("utf-8") if file.exists() else ""
    lines = difflib.unified_diff(recorded.splitlines(), text.splitlines(), "recorded", "now", n=2)
    difference = "\n".join(lines)
    assert recorded == text, (
        f"{name} differs; run scripts/golden.py, and look at the difference:\n{difference[:8000]}"
    )


@pytest.fixture(autouse=True)
def surroundings(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of this machine but its shell: no clients, no launchers, no apps, no keyring."""
    monkeypatch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    monkeypatch.setenv("TOOLYARD_HOME", str(home))
    monkeypatch.setenv("KUNOBI_SCAN_ENABLED", "false")
    ring = keyring.get_keyring()
    yield
    keyring.set_keyring(ring)


@pytest.mark.parametrize("topic", API, ids=name_of)
async def test_the_control_api_answers_as_recorded(topic: Topic, home: Path) -> None:
    record = Recorder(home)
    await topic(record)
    check(f"api/{name_of(topic)}.json", written(plain_calls(record, home)) + "\n")


@pytest.mark.parametrize("topic", CLIENT, ids=name_of)
async def test_a_client_sees_what_was_recorded(topic: Topic, home: Path) -> None:
    record = Recorder(home)
    await topic(record)
    check(f"client/{name_of(topic)}.json", written(plain_calls(record, home)) + "\n")


def plain_calls(record: Recorder, home: Path) -> list[Any]:
    """The calls of a topic without what differs from run to run."""
    return [
        {key: plain(value, home, numbers=key == "answer") for key, value in call.items()}
        for call in record.calls
    ]


async def test_the_openapi_document_is_as_recorded(home: Path) -> None:
    async with open_doors(home) as doors:
        document = await doors.get("/api/v1/openapi.json")
    check(DOCUMENT, written(plain(shortened(document), home)) + "\n")


def shortened(document: dict[str, Any]) -> dict[str, Any]:
    """A document of the same meaning, in which the refusal of all operations stands once."""
    paths = document["paths"]
    (refusal,) = {json.dumps(refusal): refusal for refusal in _refusals(paths)}.values()
    reference = {"$ref": "#/components/responses/Refusal"}
    for operation in (operation for methods in paths.values() for operation in methods.values()):
        answers = operation["responses"]
        operation["responses"] = {
            code: reference if answers[code] == refusal else answers[code] for code in answers
        }
    components = {**document["components"], "responses": {"Refusal": refusal}}
    return {**document, "components": components}


def _refusals(paths: dict[str, Any]) -> Iterator[Any]:
    for operation in (operation for methods in paths.values() for operation in methods.values()):
        yield from (answer for code, answer in operation["responses"].items() if code >= "400")


def test_the_help_of_every_command_is_as_recorded() -> None:
    check("help.txt", help_pages())


def test_every_operation_has_a_recorded_call() -> None:
    operations = set(documented())
    called = {operation_of(call["call"]) for call in recorded_calls()}
    called.add(f"GET /api/v1/{DOCUMENT}")
    assert operations - called == set(), "record a call of these in a topic"
