"""`export` and `apply` at the command line, where no hub runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.features.setup.person import at_terminal
from tests.features.transfer.yards import WHOLE
from toolyard.features.transfer.commands import LARGEST
from toolyard.features.transfer.yaml_text import read_yaml, write_yaml

pytestmark = pytest.mark.slow


@pytest.fixture
def file(home: Path) -> Path:
    """A document with something in every section."""
    path = home / "yard.yaml"
    path.write_text(write_yaml(WHOLE))
    return path


def servers_file(home: Path) -> Path:
    return home / "config" / "toolyard" / "servers.json"


def test_a_yard_is_written_and_applied(toolyard: Toolyard, home: Path, file: Path) -> None:
    applied = toolyard("apply", str(file), "--yes")
    assert applied.code == 0, applied.err
    assert "+ servers/git\n    git-mcp -p 1.10\n" in applied.out
    assert "  codex with local, docker, remote-docker, ssh, kubernetes: gains git\n" in applied.out
    assert "+ interceptors/check\n    check-calls --strict\n" in applied.out
    assert "made 26 of 26 changes" in applied.out
    exported = toolyard("export")
    assert (exported.code, exported.err) == (0, "")
    assert read_yaml(exported.out) == toolyard("export", "--json").json == WHOLE
    again = toolyard("apply", str(file), "--yes")
    assert (again.code, again.out) == (0, "there is nothing to change\n")


def test_a_document_comes_from_stdin_and_may_be_json(toolyard: Toolyard, home: Path) -> None:
    text = "// with a comment\n" + json.dumps(WHOLE)
    words = [sys.executable, "-m", "toolyard", "apply", "-", "--yes", "--json"]
    done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [change["done"] for change in json.loads(done.stdout)["changes"]] == [True] * 26
    assert toolyard("export", "--json").json == WHOLE


def test_nobody_is_asked_without_a_terminal(toolyard: Toolyard, home: Path, file: Path) -> None:
    refused = toolyard("apply", str(file))
    assert (refused.code, "cannot ask (no terminal)" in refused.err) == (2, True)
    assert toolyard("apply", str(file), "--json").code == 2
    assert not servers_file(home).exists()


def test_ctrl_c_at_the_question_leaves_everything_as_it_was(home: Path, file: Path) -> None:
    with at_terminal("apply", str(file)) as person:
        person.wait_for("Make 26 changes?")
        person.insist()
        assert person.wait_end() == 130
    assert not servers_file(home).exists()


def test_a_person_is_asked_once(toolyard: Toolyard, home: Path, file: Path) -> None:
    with at_terminal("apply", str(file)) as person:
        person.wait_for("Make 26 changes?")
        person.type("y\n")
        assert person.wait_end() == 0
    assert toolyard("export", "--json").json == WHOLE


def test_every_fault_of_a_document_is_told(toolyard: Toolyard, file: Path) -> None:
    file.write_text("version: 1\nservers: {a: {comand: x}, b: 5}\nprofile: {}\n")
    refused = toolyard("apply", str(file), "--yes")
    assert refused.code == 6
    for words in ("'profile' in a document", "server 'a': ", "'b' in 'servers' is not an object"):
        assert words in refused.err
    assert toolyard("apply", str(file), "--yes", "--json").json["error"]["code"] == "config"


def test_a_file_that_is_no_document_is_refused_with_a_sentence(
    toolyard: Toolyard, home: Path, file: Path
) -> None:
    missing = toolyard("apply", str(home / "none.yaml"))
    assert missing.code == 6 and "no such file" in missing.err
    file.write_text("a: *b\n")
    assert "cannot be read" in toolyard("apply", str(file)).err
    file.write_text('{"version": 1,')
    assert "cannot be read" in toolyard("apply", str(file)).err
    file.write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in toolyard("apply", str(file)).err
    file.write_bytes(b"#" * (LARGEST + 1))
    assert "has more than 8 MiB" in toolyard("apply", str(file)).err
