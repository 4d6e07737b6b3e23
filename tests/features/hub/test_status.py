from __future__ import annotations

import pytest

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import INSTANCE, SERVER, StandIn
from toolyard.console.exits import Exit

BROKEN = {"code": "exited", "text": "it ended", "hint": "see its log", "subject": "bad@configured"}


@pytest.mark.parametrize("command", ["status", "down"])
def test_without_a_hub_there_is_a_sentence_a_hint_and_a_code(
    command: str, toolyard: Toolyard
) -> None:
    done = toolyard(command)

    assert (done.code, done.out) == (Exit.NO_HUB, "")
    assert done.err.startswith("toolyard: no hub is running\nhint: ")


def test_without_a_hub_the_error_is_json_if_asked(toolyard: Toolyard) -> None:
    done = toolyard("status", "--json")

    assert (done.code, done.json["error"]["code"]) == (Exit.NO_HUB, "no-hub")


def test_status_shows_the_hub_its_servers_and_their_problems(
    toolyard: Toolyard, hub: StandIn
) -> None:
    hub.status["servers"] = [
        SERVER,
        {**SERVER, "alias": "bad", "state": "failing", "problem": BROKEN},
        {**SERVER, "alias": "off", "state": "disabled", "enabled": False},
    ]
    hub.status["problems"] = [BROKEN]

    done = toolyard("status")

    assert done.code == Exit.OK
    assert hub.status["url"] in done.out
    assert "1:01:11" in done.out
    assert "/open?code=once" in done.out
    rows = {line.split()[0]: line.split() for line in done.out.splitlines() if line}
    assert rows["files"][1:6] == ["ready", "stdio", "1", "0", "2"]
    assert rows["bad"][1] == "failing"
    assert rows["off"][1] == "disabled"
    assert "hint:  see its log" in done.out


def test_status_names_the_replicas_that_live(toolyard: Toolyard, hub: StandIn) -> None:
    replica = {"address": "", "version": "1", "schema": 2, "draining": False, "own": False}
    one = {**replica, "id": "a", "own": True, "runs": ["clock@configured", "notes@configured"]}
    hub.replicas = [one, {**replica, "id": "b", "draining": True, "runs": []}]

    shown = toolyard("status").out

    assert "replicas: a (this hub, runs clock, notes), b (draining)\n" in shown


def test_status_says_which_servers_are_called_in_turn(toolyard: Toolyard, hub: StandIn) -> None:
    hub.status["servers"] = [{**SERVER, "asks": ["it asks, so clients call one at a time"]}]

    assert "note: files: it asks, so clients call one at a time" in toolyard("status").err


def test_status_is_the_hubs_own_answer_as_json(toolyard: Toolyard, hub: StandIn) -> None:
    said = toolyard("status", "--json").json
    assert {key: said[key] for key in hub.status} == hub.status
    assert said["instances"] == hub.instances


def test_memory_that_nobody_knows_is_said_to_be_unknown(toolyard: Toolyard, hub: StandIn) -> None:
    there = {**INSTANCE, "executor": "cluster", "where": "pod yard/time", "memory": None}
    hub.instances = [there, {**there, "executor": "", "where": "https://x/mcp"}]

    shown = toolyard("status", "--instances").out.splitlines()

    assert "unknown" in shown[1]
    assert "unknown" not in shown[2]


def test_a_text_of_a_server_cannot_write_to_the_terminal(toolyard: Toolyard, hub: StandIn) -> None:
    evil = {**BROKEN, "text": "it\x1b]0;owned\x07 ended\nstatus: fine"}
    hub.status["servers"] = [{**SERVER, "problem": evil}]
    hub.status["problems"] = [evil]

    done = toolyard("status")

    assert "\x1b" not in done.out
    assert "\nstatus: fine" not in done.out


def test_another_token_is_refused_with_what_to_do(
    toolyard: Toolyard, hub: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_TOKEN", "another-token-than-the-hubs")

    done = toolyard("status")

    assert done.code == Exit.REFUSED
    assert "TOOLYARD_TOKEN" in done.err.splitlines()[1]
    assert "another-token" not in done.err


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, Exit.NOT_FOUND),
        (409, Exit.REFUSED),
        (422, Exit.CONFIG),
        (502, Exit.FAILED),
        (504, Exit.TIMEOUT),
    ],
)
def test_what_the_hub_says_no_to_is_said_in_its_words(
    status: int, code: Exit, toolyard: Toolyard, hub: StandIn
) -> None:
    hub.refuse = (status, {"title": "t", "detail": "it does not want to", "hint": "ask again"})

    done = toolyard("status")

    assert done.code == code
    assert done.err == "toolyard: it does not want to\nhint: ask again\n"


@pytest.mark.parametrize("body", ["<html>", "[]"])
def test_an_answer_that_makes_no_sense_is_one_sentence(
    body: str, toolyard: Toolyard, hub: StandIn
) -> None:
    hub.refuse = (200, body)

    done = toolyard("status")

    assert done.code == Exit.FAILED
    assert "cannot read the answer" in done.err
