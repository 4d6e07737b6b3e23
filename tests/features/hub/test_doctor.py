from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Toolyard
from tests.cli.stand_in import SERVER, StandIn
from toolyard.console.exits import Exit

ENDED = {"code": "exited", "text": "it ended", "hint": "see its log", "subject": "files@configured"}


def wrong(done: Done) -> list[str]:
    return [each["code"] for each in done.json["findings"] if not each["ok"]]


def write(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.json"
    file.write_text(text)
    return str(file)


def test_a_fresh_machine_is_well(toolyard: Toolyard) -> None:
    done = toolyard("doctor")

    assert done.code == Exit.OK
    assert done.out.endswith("no problems\n")


def test_every_trouble_of_the_file_is_named_with_what_to_do(
    toolyard: Toolyard, tmp_path: Path
) -> None:
    file = write(
        tmp_path,
        """{"mcpServers": {
            "good": {"command": "sh"},
            "empty": {},
            "gone": {"command": "no-such-program"},
            "unset": {"command": "sh", "env": {"A": "${NO_SUCH_VARIABLE}"}},
            "off": {"command": "no-such-program", "disabled": true}
        }}""",
    )

    done = toolyard("doctor", "--json", "--config", file)

    assert done.code == Exit.FAILED
    assert wrong(done) == ["config-entry", "not-found", "config-unset"]
    assert all(each["hint"] for each in done.json["findings"] if not each["ok"])
    shown = toolyard("doctor", "--config", file)
    assert f"where: {file}:3" in shown.out
    assert shown.out.endswith("3 problems\n")


def test_a_file_that_was_named_must_be_there(toolyard: Toolyard, tmp_path: Path) -> None:
    done = toolyard("doctor", "--json", "--config", str(tmp_path / "no.json"))

    assert (done.code, wrong(done)) == (Exit.FAILED, ["config-missing"])


def test_tokens_that_cannot_be_read_are_told_without_a_hub_too(
    toolyard: Toolyard, home: Path
) -> None:
    assert toolyard("token", "create", "agent").code == Exit.OK
    (home / "state" / "toolyard" / "tokens.json").write_text('{"version": 999, "tokens": {}}')

    done = toolyard("doctor", "--json")

    assert (done.code, wrong(done)) == (Exit.FAILED, ["tokens-file"])
    refused = toolyard("token", "create", "other")
    assert refused.code == Exit.FAILED and "newer toolyard" in refused.err


def test_the_problems_of_a_running_hub_are_told(toolyard: Toolyard, hub: StandIn) -> None:
    hub.status["problems"] = [ENDED]

    assert wrong(toolyard("doctor", "--json")) == ["exited"]


def test_a_server_that_is_just_starting_is_waited_for(toolyard: Toolyard, hub: StandIn) -> None:
    hub.status["servers"] = [{**SERVER, "status": "starting"}]

    def fail() -> None:
        hub.status["servers"] = [{**SERVER, "status": "failing", "problem": ENDED}]
        hub.status["problems"] = [ENDED]

    hub.after(3, fail)

    assert wrong(toolyard("doctor", "--json")) == ["exited"]


def test_a_hub_of_another_version_should_be_restarted(toolyard: Toolyard, hub: StandIn) -> None:
    hub.status["version"] = "0.0.1"

    assert wrong(toolyard("doctor", "--json")) == ["version"]


def test_a_hub_that_does_not_answer_is_a_finding(toolyard: Toolyard, hub: StandIn) -> None:
    hub.refuse = (502, {"title": "no"})

    assert wrong(toolyard("doctor", "--json")) == ["hub-unreachable"]


def test_a_token_file_open_to_others_is_a_finding(toolyard: Toolyard, home: Path) -> None:
    toolyard("doctor")
    (home / "runtime" / "toolyard" / "token").chmod(0o644)

    assert wrong(toolyard("doctor", "--json")) == ["run-dir"]


def test_clients_that_start_a_program_which_is_gone_are_one_problem_with_one_action(
    toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home / "bin"))
    entries = {"cursor": ["mcp"], "windsurf": ["mcp"], "gemini": ["mcp", "--profile", "small"]}
    files = {"cursor": ".cursor/mcp.json", "gemini": ".gemini/settings.json"}
    for client, args in entries.items():
        path = home / files.get(client, ".codeium/windsurf/mcp_config.json")
        path.parent.mkdir(parents=True)
        entry = {"command": str(home / "old" / "bin" / "toolyard"), "args": args}
        path.write_text(json.dumps({"mcpServers": {"toolyard": entry}}))

    done = toolyard("doctor", "--json")

    assert wrong(done) == ["client-program"]
    (finding,) = (each for each in done.json["findings"] if not each["ok"])
    assert "Cursor starts the hub with" in finding["text"] and "which is gone" in finding["text"]
    again = "toolyard connect cursor windsurf && toolyard connect gemini --profile small"
    assert finding["hint"] == f"connect again: {again}"
    assert "which is gone" in toolyard("clients").err

    for order in again.split(" && "):
        assert toolyard(*order.split()[1:], "--yes").code == Exit.OK
    assert toolyard("doctor").code == Exit.OK
