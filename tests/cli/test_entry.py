from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest

import toolyard as package
from tests.cli.conftest import Toolyard
from toolyard.command_line import root
from toolyard.console.exits import MEANINGS, Exit

SOURCE = str(Path(package.__file__).parents[1])
ENV = {"PYTHONPATH": SOURCE}
HEAVY = ("asyncio", "msgspec", "rich", "aiohttp", "starlette", "uvicorn", "http.client", "keyring")


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env={**os.environ, **ENV}, capture_output=True, text=True
    )


def cpu_seconds(*words: str) -> float:
    """What a process costs; on a busy machine its duration would say more about the others."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert python(*words).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_is_there_in_less_than_150_ms() -> None:
    base = min(cpu_seconds("-c", "pass") for _ in range(5))
    help_ = min(cpu_seconds("-m", "toolyard", "--help") for _ in range(5))

    assert help_ - base < 0.150


def test_help_imports_no_command_and_nothing_heavy() -> None:
    script = (
        "import sys; from toolyard.command_line import run; run(['--help']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = python("-c", script).stderr.split()

    assert not set(HEAVY) & set(loaded)
    commands = [root.get_command(click.Context(root), name) for name in root.sentences]
    modules = {command.callback.__module__ for command in commands if command and command.callback}
    assert not modules & set(loaded)


@pytest.mark.parametrize("name", root.sentences)
def test_the_list_of_commands_says_what_the_command_says_of_itself(name: str) -> None:
    command = root.get_command(click.Context(root), name)

    assert command is not None
    assert command.name == name
    assert (command.help or "").split("\n")[0] == root.sentences[name]


@pytest.mark.parametrize("name", sorted(set(root.sentences) - {"mcp"}))
def test_every_command_can_answer_in_json(name: str) -> None:
    command = root.get_command(click.Context(root), name)

    assert command is not None
    assert "--json" in [option for each in command.params for option in each.opts]


def test_a_misspelt_command_gets_the_right_one_named(toolyard: Toolyard) -> None:
    done = toolyard("statsu")

    assert (done.code, done.out) == (Exit.USAGE, "")
    assert done.err.splitlines()[0] == "toolyard: no such command 'statsu'"
    assert "'status'" in done.err.splitlines()[1]


@pytest.mark.parametrize("words", [(), ("profile",), ("profile", "set")])
def test_help_says_what_the_flag_says(words: tuple[str, ...], toolyard: Toolyard) -> None:
    done = toolyard("help", *words)

    assert (done.code, done.out) == (Exit.OK, toolyard(*words, "--help").out)


def test_help_of_what_is_not_there_is_refused(toolyard: Toolyard) -> None:
    assert toolyard("help", "statsu").code == Exit.USAGE
    assert toolyard("help", "profile", "sett").code == Exit.USAGE
    assert "has no commands below it" in toolyard("help", "profile", "set", "all").err


def test_an_unknown_flag_is_one_sentence_and_a_hint(toolyard: Toolyard) -> None:
    done = toolyard("status", "--frobnicate")

    assert done.code == Exit.USAGE
    assert done.err.splitlines() == [
        "toolyard: no such option '--frobnicate'",
        "hint: see: toolyard status --help",
    ]


def test_a_missing_argument_is_named(toolyard: Toolyard) -> None:
    done = toolyard("remove")

    assert done.code == Exit.USAGE
    assert "missing argument 'NAME'" in done.err


@pytest.mark.parametrize(
    "words", [("--json", "statsu"), ("status", "--json", "--frobnicate"), ("--json", "remove")]
)
def test_an_error_on_the_command_line_is_json_too(
    words: tuple[str, ...], toolyard: Toolyard
) -> None:
    done = toolyard(*words)

    assert (done.code, done.err) == (Exit.USAGE, "")
    assert done.json["error"]["code"] == "usage"
    assert done.json["error"]["text"]
    assert done.json["error"]["hint"]


def test_a_setting_that_cannot_be_used_ends_every_command_that_needs_it(
    toolyard: Toolyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_PORT", "seven")

    done = toolyard("list")

    assert done.code == Exit.CONFIG
    assert done.err == (
        "toolyard: TOOLYARD_PORT is 'seven'\nhint: allowed is a whole number from 1 to 65535\n"
    )


def test_the_version_is_shown(toolyard: Toolyard) -> None:
    done = toolyard("--version")

    assert (done.code, package.__version__ in done.out) == (Exit.OK, True)


@pytest.mark.parametrize("words", [("list", "--json"), ("--json", "list")])
def test_json_may_stand_before_or_after_the_command(
    words: tuple[str, ...], toolyard: Toolyard
) -> None:
    assert toolyard(*words).json["hub"] is None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_asks_the_command_itself(shell: str, toolyard: Toolyard) -> None:
    done = toolyard("completions", shell)

    assert done.code == Exit.OK
    assert "_TOOLYARD_COMPLETE" in done.out


def test_completion_knows_commands_and_servers(toolyard: Toolyard) -> None:
    assert toolyard("add", "notes", "--", "cat").code == Exit.OK

    def complete(words: str, index: int) -> list[str]:
        env = {"_TOOLYARD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}
        done = subprocess.run(
            [sys.executable, "-m", "toolyard"],
            env={**os.environ, **ENV, **env},
            capture_output=True,
            text=True,
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert complete("toolyard sta", 1) == ["status"]
    assert complete("toolyard remove n", 2) == ["notes"]


def test_a_reader_that_has_enough_is_no_trouble() -> None:
    script = f"'{sys.executable}' -m toolyard --help | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, **ENV}, capture_output=True, text=True
    )

    assert "Traceback" not in done.stderr


def test_every_exit_code_has_a_meaning() -> None:
    assert list(MEANINGS) == list(Exit)
