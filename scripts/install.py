"""Installs locked packages and shows how far it is, where pip would be silent or say everything.

    python scripts/install.py requirements/runtime.txt [WHAT FOR]

On a terminal one line counts; elsewhere there is a line for every tenth package.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from pathlib import Path

COLLECTING = re.compile(r"\s*Collecting ([\w.-]+)|Requirement already satisfied: ([\w.-]+)")
LAST_LINES = 20
STEP = 10


def pip(requirements: str) -> list[str]:
    """The command that installs exactly what is locked."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-color", "install"]
    return [*command, "--progress-bar", "off", "--require-hashes", "-r", requirements]


def show(text: str, *, last: bool = False) -> None:
    """Write over the line before on a terminal; elsewhere below it."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="\n" if last else "", flush=True)
    else:
        print(text, flush=True)


def install(requirements: str, purpose: str) -> int:
    """Run pip, count what it fetches, and return its exit code; a failure shows its last lines."""
    lines = Path(requirements).read_text("utf-8").splitlines()
    total = sum("==" in line and not line.startswith((" ", "#")) for line in lines)
    what = f"{total} locked packages{purpose}"
    show(f"installing {what} ...")
    last: deque[str] = deque(maxlen=LAST_LINES)
    count = 0
    with subprocess.Popen(
        pip(requirements), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line)
            if match := COLLECTING.match(line):
                count += 1
                if sys.stdout.isatty() or count % STEP == 0:
                    show(f"fetching {count} of {total}: {match[1] or match[2]}")
            elif line.startswith("Installing collected packages"):
                show(f"unpacking {what} ...")
    if process.returncode:
        show("".join(last), last=True)
    else:
        show(f"installed {what}", last=True)
    return process.returncode


if __name__ == "__main__":
    sys.exit(install(sys.argv[1], f" {' '.join(sys.argv[2:])}".rstrip()))
