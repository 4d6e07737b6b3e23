from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.tree import ROOT
from toolyard.command_line import root
from toolyard.settings import SETTINGS


def test_the_reference_pages_say_what_the_code_does() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_command_and_setting_has_its_place() -> None:
    pages = ROOT / "docs" / "reference"

    commands = Path(pages / "cli.md").read_text("utf-8")
    settings = Path(pages / "settings.md").read_text("utf-8")

    assert [name for name in root.sentences if f"\n## {name}\n" not in commands] == []
    assert [each.name for each in SETTINGS if f"`{each.variable}`" not in settings] == []


def test_examples_in_the_help_stand_on_lines_of_their_own() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")

    assert "\\b" not in page and "\b" not in page
    examples = [line for line in page.splitlines() if line.startswith("  toolyard ")]
    assert len(examples) > 20
    assert [line for line in examples if line.count("  toolyard ") != 1] == []
    assert "  toolyard connect --all --dry-run\n  toolyard connect vscode --project .\n" in page
