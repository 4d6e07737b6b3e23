from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from tests.cli.stand_in import StandIn
from toolyard.command_line import root


def complete(words: list[str], incomplete: str) -> list[str]:
    shell = ShellComplete(root, {}, "toolyard", "_TOOLYARD_COMPLETE")
    return [item.value for item in shell.get_completions(words, incomplete)]


@pytest.mark.parametrize("command", ["tools", "call"])
def test_a_full_name_is_completed(command: str, hub: StandIn) -> None:
    assert complete([command], "files__") == ["files__read"]
    assert complete([command], "x") == []


def test_a_tool_is_completed_after_its_server(hub: StandIn) -> None:
    assert complete(["call", "files"], "r") == ["read"]
    assert complete(["call", "files", "read"], "r") == []


@pytest.mark.parametrize("words", [["tools"], ["call"], ["call", "files"]])
def test_without_a_hub_nothing_is_completed_and_nothing_said(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert complete(words, "f") == []
    assert capfd.readouterr() == ("", "")


def test_a_hub_that_refuses_completes_nothing(
    hub: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    hub.refuse = (404, {"title": "there is nothing"})

    assert complete(["tools"], "f") == []
    assert capfd.readouterr() == ("", "")
