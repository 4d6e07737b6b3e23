from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.executors.local.program import locate


def tool(folder: Path, name: str = "tool", mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


def test_a_bare_name_is_looked_up_on_the_path_the_server_will_have(tmp_path: Path) -> None:
    file = tool(tmp_path / "bin")

    program = locate("x", Command(("tool", "-v")), {"PATH": f"/none{os.pathsep}{file.parent}"})

    assert (program.path, program.argv) == (str(file), ("tool", "-v"))


def test_a_path_is_relative_to_the_working_folder(tmp_path: Path) -> None:
    file = tool(tmp_path / "bin")

    assert locate("x", Command(("bin/tool",), cwd=str(tmp_path)), {}).path == str(file)


@pytest.mark.parametrize(
    ("command", "text", "hint"),
    [
        (Command(()), "its command is empty", "name a program"),
        (Command(("",)), "its command is empty", "name a program"),
        (Command(("tool", "a\0b")), "zero byte", "remove it"),
        (Command(("/no/such/tool",)), '"/no/such/tool" does not exist', "correct the path"),
        (Command(("~/tool",)), "does not exist", '"~" is not expanded'),
        (Command(("/",)), '"/" is a folder', "name a file"),
        (Command(("npx",)), '"npx" was not found on the PATH', "install Node.js; looked in /none"),
        (Command(("true",), cwd="/no/such"), '"/no/such" does not exist', "create the folder"),
        (Command(("true",), cwd="/dev/null"), '"/dev/null" is not a folder', "correct `cwd`"),
    ],
)
def test_a_command_that_cannot_start_says_why_and_what_to_do(
    command: Command, text: str, hint: str
) -> None:
    with pytest.raises(StartError) as caught:
        locate("x", command, {"PATH": "/none"})

    assert text in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize("by_path", [True, False])
def test_a_file_that_is_not_executable_is_named(tmp_path: Path, by_path: bool) -> None:
    file = tool(tmp_path / "bin", mode=0o644)
    word = str(file) if by_path else "tool"

    with pytest.raises(StartError, match="is not executable") as caught:
        locate("x", Command((word,)), {"PATH": str(file.parent)})

    assert f"chmod +x {file}" in caught.value.hint


@pytest.mark.parametrize("pair", [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "secret\0")])
def test_a_variable_that_cannot_be_set_is_named_without_its_value(pair: tuple[str, str]) -> None:
    with pytest.raises(StartError, match="environment variable") as caught:
        locate("x", Command(("true",)), dict([pair]))

    assert "secret" not in str(caught.value)
