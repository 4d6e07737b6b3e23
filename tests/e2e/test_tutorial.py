"""The tutorial, typed by somebody whose home is empty."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hub import environment, new_home, running_hub
from tests.house.documented import typed
from tests.house.tree import ROOT

PAGE = ROOT / "docs" / "tutorial" / "first-steps.md"
NOT_HERE = ("npx ", "files__", "toolyard connect")
"""Lines that need a package of the network, or a person who confirms."""
BROKEN = ("toolyard add broken", "toolyard doctor")
"""Lines that are meant to show what is wrong."""


@pytest.fixture
def shell() -> Iterator[Path]:
    """A home with our command in a folder for programs."""
    with new_home() as home:
        program = home / "bin" / "toolyard"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m toolyard "$@"\n')
        program.chmod(0o755)
        yield home


def test_every_command_of_the_tutorial_does_what_it_says(shell: Path) -> None:
    written = typed(PAGE.read_text("utf-8"))
    lines = [line for line in written if not any(word in line for word in NOT_HERE)]
    assert len(lines) > 8
    env = environment(shell)
    env["PATH"] = f"{shell / 'bin'}:{env['PATH']}"

    ended = {}
    with running_hub({}, home=shell):
        for line in lines:
            done = subprocess.run(
                ["sh", "-c", line], env=env, cwd=shell, capture_output=True, text=True, check=False
            )
            ended[line] = (done.returncode, done.stdout + done.stderr)

    refused = [line for line, (code, _) in ended.items() if code and not line.startswith(BROKEN)]
    assert refused == [], ended
    assert "42.16" in next(said for line, (_, said) in ended.items() if "convert_units v" in line)
    code, said = ended["toolyard doctor"]
    assert (code, "no-such-program" in said) == (1, True)
