"""The control API keeps its contract: its document, tried with all it allows and forbids."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.hub import TOKEN, new_home, running_hub, stdio_stub

CONFIG = Path(__file__).with_name("schemathesis.toml")


@pytest.mark.timeout(1800)  # a minute's work for a whole core, and others share it
def test_nothing_the_document_allows_or_forbids_breaks_it(tmp_path: Path) -> None:
    with new_home() as home, running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        # A process of its own: it brings warnings and threads that are not ours.
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG)),
                *("run", f"{hub.url}/api/v1/openapi.json"),
            ],
            cwd=tmp_path,
            env={**os.environ, "HUB_URL": hub.url, "HUB_TOKEN": TOKEN, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, said[-8000:]
        assert "Fuzzing" in said and "Coverage" in said
        assert hub.get("/health/live")[0] == 200
        assert "Traceback" not in (home / "hub.err").read_text()
