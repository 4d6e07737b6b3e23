"""Records anew what Toolyard answers: golden files in `tests/golden/`, which tests compare.

    python scripts/golden.py [WORDS]    all of them, or those of tests that match the words

Afterwards look at the difference: each line of it is a change that somebody will notice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(words: list[str]) -> int:
    """Run the tests of the golden files so that they write instead of comparing."""
    chosen = ["-k", " ".join(words)] if words else []
    command = [sys.executable, "-m", "pytest", "tests/golden", "-q", *chosen]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "GOLDEN": "write"}).returncode
    subprocess.run(["git", "diff", "--stat", "--", "tests/golden"], cwd=ROOT)
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
