"""`edit`: the user's editor is a small program that changes the file it is given."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from toolyard.console.exits import Exit

TEXT = """{
  "mcpServers": {
    // for notes
    "notes": {
      "command": "sh", // a shell
      "args": ["-c", "x"],
      "autoApprove": ["log"],
      "executor": "box"
    },
    "other": {"command": "cat"}
  }
}
"""


@pytest.fixture
def file(home: Path) -> Path:
    path = home / "config" / "toolyard" / "servers.json"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    return path


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of the terminal that the user types at."""
    ours, theirs = os.openpty()
    with open(theirs) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


def use_editor(monkeypatch: pytest.MonkeyPatch, home: Path, *changes: tuple[str, str]) -> None:
    """Let the editor replace a text by another, each time it is opened the next of these."""
    program = home / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        f"changes = {list(changes)!r}\n"
        f"turn = pathlib.Path({str(home / 'turn')!r})\n"
        "number = len(turn.read_text()) if turn.exists() else 0\n"
        "turn.write_text('x' * (number + 1))\n"
        "old, new = changes[number]\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "assert old in file.read_text(), file.read_text()\n"
        "file.write_text(file.read_text().replace(old, new))\n"
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {program}")


def test_a_changed_member_is_written_and_all_else_stays(
    toolyard: Toolyard, file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_editor(monkeypatch, home, ('"x"', '"y"'))

    done = toolyard("edit", "notes", "--json")

    assert done.json == {"done": "edited", "server": "notes", "file": str(file)}
    assert file.read_text() == TEXT.replace('["-c", "x"]', '["-c", "y"]')


def test_a_member_that_is_taken_out_is_gone(
    toolyard: Toolyard, file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_editor(monkeypatch, home, (',\n  "executor": "box"', ""))

    assert toolyard("edit", "notes").code == Exit.OK
    assert "executor" not in file.read_text()
    assert "// a shell" in file.read_text() and "autoApprove" in file.read_text()


def test_nothing_is_written_if_nothing_changed(
    toolyard: Toolyard, file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_editor(monkeypatch, home, ("{", "{ "))
    before = file.stat()

    assert toolyard("edit", "notes", "--json").json == {"done": "unchanged", "server": "notes"}
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"command": "sh"', '"command": 5', "'command'"),
        ('"executor"', '"excutor"', "there is no 'excutor'"),
        ('"sh",', '"sh" :', "line"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(
    toolyard: Toolyard,
    file: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    told: str,
) -> None:
    use_editor(monkeypatch, home, (old, new))

    done = toolyard("edit", "notes")

    assert done.code == Exit.CONFIG
    assert told in done.err
    assert file.read_text() == TEXT


def test_after_a_mistake_the_editor_is_offered_again_with_the_same_text(
    toolyard: Toolyard,
    file: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    terminal: int,
) -> None:
    use_editor(monkeypatch, home, ('"sh"', "5"), ("5", '"bash"'))
    os.write(terminal, b"y\n")

    done = toolyard("edit", "notes")

    assert done.code == Exit.OK, done.err
    assert "this cannot be used" in done.err
    assert file.read_text() == TEXT.replace('"sh"', '"bash"')


def test_an_entry_that_is_wrong_can_be_mended(
    toolyard: Toolyard, file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('{"mcpServers": {"bad": {"command": 5}}}')
    use_editor(monkeypatch, home, ("5", '"sh"'))

    assert toolyard("edit", "bad").code == Exit.OK
    assert file.read_text() == '{"mcpServers": {"bad": {"command": "sh"}}}'


def test_an_unknown_server_is_not_edited(toolyard: Toolyard, file: Path) -> None:
    done = toolyard("edit", "nots")

    assert done.code == Exit.NOT_FOUND
    assert "there are: notes" in done.err
