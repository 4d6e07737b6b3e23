from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Toolyard
from tests.cli.stand_in import SERVER, StandIn
from tests.fixtures.keyrings import InMemory
from toolyard.console.exits import Exit
from toolyard.core.errors import ConfigError
from toolyard.core.transports import read_transport


@pytest.fixture
def file(home: Path) -> Path:
    return home / "config" / "toolyard" / "servers.json"


def entries(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())["mcpServers"]
    return found


def test_a_command_is_added_as_it_was_given(toolyard: Toolyard, file: Path) -> None:
    done = toolyard("add", "files", "-e", "A=b=c", "--", "sh", "-c", "x y", "--json")

    assert done.code == Exit.OK
    assert done.err == "note: no hub is running; start one with: toolyard up --detach\n"
    assert str(file) in done.out
    assert entries(file) == {
        "files": {"command": "sh", "args": ["-c", "x y", "--json"], "env": {"A": "b=c"}}
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_address_is_added_with_its_headers(toolyard: Toolyard, file: Path) -> None:
    header = "Authorization: Bearer ${TOKEN}"

    assert toolyard("add", "docs", "--url", "https://example.com/mcp", "-H", header).code == 0

    assert entries(file)["docs"] == {
        "type": "http",
        "url": "https://example.com/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    }


TOKEN = "ghp_notARealTokenOnlyForThisTest0123"


def test_a_token_moves_into_the_store_and_its_name_is_told(
    toolyard: Toolyard, file: Path, a_keyring: InMemory
) -> None:
    header = f"Authorization: Bearer {TOKEN}"

    done = toolyard("add", "git", "-e", f"GIT_TOKEN={TOKEN}", "-e", "MODE=x", "--", "sh")
    toolyard("add", "web", "--url", "https://example.com/mcp", "-H", header)
    toolyard(
        "add", "box", "--executor", "engine", "--image", "a/b", "-e", f"BOX_TOKEN={TOKEN[::-1]}"
    )

    assert "moved secrets into your store: git-token" in done.err
    assert entries(file)["git"]["env"] == {"GIT_TOKEN": "${keyring:git-token}", "MODE": "x"}
    assert entries(file)["web"]["headers"] == {
        "Authorization": "Bearer ${keyring:web-authorization}"
    }
    assert entries(file)["box"] == {
        "env": {"BOX_TOKEN": "${keyring:box-token}"},
        "executor": {"name": "engine", "image": "a/b"},
    }
    assert sorted(a_keyring.kept.values()) == sorted([TOKEN, TOKEN, TOKEN[::-1]])
    assert TOKEN not in file.read_text() + done.out + done.err


def test_a_token_stays_in_the_file_if_that_is_wanted(
    toolyard: Toolyard, file: Path, a_keyring: InMemory
) -> None:
    assert toolyard("add", "git", "-e", f"GIT_TOKEN={TOKEN}", "--plain", "--", "sh").code == 0

    assert entries(file)["git"]["env"] == {"GIT_TOKEN": TOKEN}
    assert a_keyring.kept == {}


def test_no_token_is_stored_for_a_server_that_is_refused(
    toolyard: Toolyard, file: Path, a_keyring: InMemory
) -> None:
    toolyard("add", "git", "--", "sh")

    assert toolyard("add", "git", "-e", f"T_TOKEN={TOKEN}", "--", "sh").code == Exit.REFUSED

    assert a_keyring.kept == {}


def test_an_image_is_added_as_it_is(toolyard: Toolyard, file: Path) -> None:
    assert toolyard("add", "time", "--executor", "engine", "--image", "mcp/time").code == 0

    assert entries(file)["time"] == {"executor": {"name": "engine", "image": "mcp/time"}}
    assert toolyard("add", "x", "--image", "mcp/time").code == Exit.USAGE
    assert toolyard("add", "x", "--executor", "engine").code == Exit.USAGE


def test_all_that_can_be_said_is_written(toolyard: Toolyard, file: Path, tmp_path: Path) -> None:
    words = ["--cwd", str(tmp_path), "--timeout", "30", "--disabled", "-t", "stdio"]
    assert toolyard("add", "a", *words, "--", "sh").code == 0
    assert toolyard("add", "b", "--url", "http://localhost:1/sse", "-t", "sse").code == 0

    found = entries(file)
    assert found["a"] == {
        "command": "sh",
        "args": [],
        "cwd": str(tmp_path),
        "timeout": 30,
        "disabled": True,
    }
    assert found["b"]["type"] == "sse"
    spelled = ("--url", "http://localhost:1/mcp", "-t", "streamable-http")
    assert toolyard("add", "c", *spelled).code == 0
    assert entries(file)["c"]["type"] == "http"


@pytest.mark.parametrize("word", ["ws", "pigeon"])
def test_a_transport_that_is_not_spoken_is_refused_as_everywhere(
    word: str, toolyard: Toolyard, file: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_transport(word)

    done = toolyard("add", "a", "--url", "http://localhost:1/mcp", "-t", word)

    assert done.code == Exit.CONFIG
    assert str(caught.value) in done.err and caught.value.hint in done.err
    assert not file.exists()


def test_an_address_that_is_none_is_refused_as_everywhere(toolyard: Toolyard, file: Path) -> None:
    done = toolyard("add", "a", "--url", "http://[::1/mcp")

    assert done.code == Exit.CONFIG
    assert "'url' is not an http address" in done.err
    assert not file.exists()


def test_a_running_hub_is_asked_to_write(toolyard: Toolyard, hub: StandIn, file: Path) -> None:
    done = toolyard("add", "new", "--", "sh")

    assert (done.code, done.err) == (Exit.OK, "")
    entry = {"command": "sh", "args": []}
    assert ("/api/v1/servers", {"name": "new", "entry": entry}) in hub.asked
    assert not file.exists()


def shows(hub: StandIn, **state: Any) -> Callable[[], None]:
    """Have the hub show the server `new` in a state."""
    new = {**SERVER, "name": "new", "alias": "new", **state}
    return lambda: hub.status.update(servers=[SERVER, new])


def add(toolyard: Toolyard, hub: StandIn, *flags: str, **state: Any) -> Done:
    """Add the server `new`, which the hub shows in this state from then on."""
    hub.status["servers"] = [SERVER]
    hub.asked.clear()
    hub.after(2, shows(hub, **state))  # the first question is which servers there are
    return toolyard("add", "new", *flags, "--", "sh")


def test_a_server_is_waited_for_until_it_is_ready(toolyard: Toolyard, hub: StandIn) -> None:
    hub.after(4, shows(hub, status="starting", tools=0))
    hub.after(6, shows(hub, tools=14, resources=0))

    done = add(toolyard, hub, status="known", tools=0)

    assert (done.code, done.err) == (Exit.OK, "")
    assert done.out.splitlines()[-1] == "'new' is ready, 14 tools"
    assert len(hub.asked) >= 6


def test_one_that_would_rest_is_started(toolyard: Toolyard, hub: StandIn) -> None:
    hub.after(6, shows(hub))

    done = add(toolyard, hub, status="known")

    assert done.out.splitlines()[-1] == "'new' is ready, 1 tool, 2 resources"
    asked = [path for path, _ in hub.asked]
    assert asked.count("/api/v1/servers/new%40configured/refresh") == 1


def test_what_is_wrong_with_a_new_server_is_said_at_once(toolyard: Toolyard, hub: StandIn) -> None:
    problem = {"code": "server-start", "text": "no", "hint": "do", "subject": "new@configured"}
    state = {"status": "failing", "problem": problem}

    done = add(toolyard, hub, **state)
    told = add(toolyard, hub, "--json", **state)
    unwatched = add(toolyard, hub, "--no-wait", **state)

    assert done.code == told.code == Exit.FAILED
    assert "problem: no" in done.out and "hint:  do" in done.out
    assert (told.json["status"], told.json["problem"]) == ("failing", problem)
    assert (unwatched.code, "problem" in unwatched.out) == (Exit.OK, False)


def test_a_warning_beside_a_server_that_is_ready_is_no_failure(
    toolyard: Toolyard, hub: StandIn
) -> None:
    problem = {"code": "server-lists", "text": "a list", "hint": "do", "subject": ""}

    done = add(toolyard, hub, problem=problem)

    assert done.code == Exit.OK
    assert "'new' is ready, 1 tool, 2 resources" in done.out and "problem: a list" in done.out


def test_one_that_is_disabled_is_not_waited_for(toolyard: Toolyard, hub: StandIn) -> None:
    done = add(toolyard, hub, "--disabled", status="known", tools=0, enabled=False)

    assert done.code == Exit.OK


def test_ctrl_c_ends_the_waiting_alone(toolyard: Toolyard, hub: StandIn) -> None:
    hub.after(5, lambda: os.kill(os.getpid(), signal.SIGINT))

    done = add(toolyard, hub, status="starting", tools=0)

    assert done.code == Exit.INTERRUPTED
    assert "stopped waiting; 'new' stays added" in done.err


def test_a_hub_that_does_not_show_it_is_pointed_out(toolyard: Toolyard, hub: StandIn) -> None:
    hub.notices = False

    done = toolyard("add", "new", "--", "sh")

    assert done.code == Exit.OK
    assert "does not show it yet" in done.err


def test_another_file_can_be_edited(toolyard: Toolyard, tmp_path: Path, file: Path) -> None:
    mine = tmp_path / "mine.json"

    assert toolyard("add", "a", "--config", str(mine), "--", "sh").code == 0

    assert "a" in entries(mine)
    assert not file.exists()


def test_a_name_in_use_is_not_replaced_unless_told(toolyard: Toolyard, file: Path) -> None:
    toolyard("add", "a", "--", "sh")

    refused = toolyard("add", "a", "--", "cat")
    assert refused.code == Exit.REFUSED
    assert "--force" in refused.err
    assert entries(file)["a"]["command"] == "sh"

    assert toolyard("add", "a", "--force", "--", "cat").code == Exit.OK
    assert entries(file)["a"]["command"] == "cat"


def test_a_program_that_is_not_there_is_noted_but_added(toolyard: Toolyard, file: Path) -> None:
    done = toolyard("add", "a", "--", "no-such-program")

    assert done.code == Exit.OK
    assert "not found" in done.err
    assert "a" in entries(file)


@pytest.mark.parametrize(
    "words",
    [
        ("a",),
        ("a", "--url", "http://x/", "--", "sh"),
        ("a", "--url", "http://x/", "-e", "A=b"),
        ("a", "--url", "http://x/", "-t", "stdio"),
        ("a", "--url", "http://x/", "--cwd", "."),
        ("a", "-H", "A: b", "--", "sh"),
        ("a", "-t", "http", "--", "sh"),
        ("a", "-e", "secret-without-a-name", "--", "sh"),
        ("a", "--url", "http://x/", "-H", "secret-without-a-name"),
        ("a", "--timeout", "0", "--", "sh"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    words: tuple[str, ...], toolyard: Toolyard, file: Path
) -> None:
    done = toolyard("add", *words)

    assert done.code == Exit.USAGE
    assert len(done.err.splitlines()) == 2
    assert "secret" not in done.err
    assert not file.exists()


@pytest.mark.parametrize("words", [("a b", "--", "sh"), ("a", "--url", "ftp://x/")])
def test_what_cannot_be_used_is_not_written(
    words: tuple[str, ...], toolyard: Toolyard, file: Path
) -> None:
    assert toolyard("add", *words).code == Exit.CONFIG
    assert not file.exists()


def test_a_server_is_switched_off_and_on_and_removed(toolyard: Toolyard, file: Path) -> None:
    toolyard("add", "a", "--", "sh")

    assert toolyard("server", "disable", "a").code == Exit.OK
    assert entries(file)["a"]["disabled"] is True
    assert toolyard("server", "enable", "a").code == Exit.OK
    assert not entries(file)["a"].get("disabled")
    done = toolyard("remove", "a", "--json")
    assert done.json == {"done": "removed", "server": "a", "file": str(file)}
    assert entries(file) == {}


@pytest.mark.parametrize("words", [("remove",), ("server", "enable"), ("server", "disable")])
def test_an_unknown_server_gets_the_closest_named(
    words: tuple[str, ...], toolyard: Toolyard
) -> None:
    toolyard("add", "notes", "--", "sh")

    done = toolyard(*words, "nots")

    assert done.code == Exit.NOT_FOUND
    assert "nots" in done.err.splitlines()[0]
    assert "notes" in done.err.splitlines()[1]


def test_a_broken_file_is_left_as_it_is(toolyard: Toolyard, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {')

    done = toolyard("add", "a", "--", "sh")

    assert done.code == Exit.CONFIG
    assert "line 1" in done.err
    assert file.read_text() == '{"mcpServers": {'


@pytest.mark.parametrize(
    "words", [("npx", "-y", "bar"), ("-e", "A=b", "npx", "--yes", "bar"), ("uvx", "x", "-y")]
)
def test_a_command_without_the_dashes_before_it_is_told_where_they_go(
    words: tuple[str, ...], toolyard: Toolyard, file: Path
) -> None:
    done = toolyard("add", "foo", *words)

    assert done.code == Exit.USAGE
    assert "put -- before the server's command: toolyard add foo -- " in done.err
    assert not file.exists()


def test_an_option_that_is_misspelt_is_no_part_of_a_command(toolyard: Toolyard) -> None:
    assert "put --" not in toolyard("add", "foo", "--evn", "A=b", "--", "sh").err
    assert "put --" not in toolyard("add", "--evn", "A=b", "foo", "sh").err


def test_a_bad_entry_can_be_taken_out(toolyard: Toolyard, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"bad": {"url": 5}, "good": {"command": "sh"}}}')

    assert toolyard("remove", "bad").code == Exit.OK
    assert list(entries(file)) == ["good"]


def test_replacing_a_server_does_not_keep_where_it_ran_and_for_whom(
    toolyard: Toolyard, file: Path, tmp_path: Path
) -> None:
    toolyard("add", "a", "--executor", "engine", "--project", str(tmp_path), "--", "sh")
    assert entries(file)["a"]["project"] == str(tmp_path)

    assert toolyard("add", "a", "--force", "--", "cat").code == Exit.OK
    assert entries(file)["a"] == {"command": "cat", "args": []}
