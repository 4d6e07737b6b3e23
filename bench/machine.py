"""The machine and the moment of a measurement: what somebody must know who compares figures."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime
from pathlib import Path


def conditions() -> str:
    """The time, the commit, the interpreter, the cores and the load of the machine, in a line."""
    now = datetime.now().astimezone().isoformat(" ", "minutes")
    load = ", ".join(f"{share:.1f}" for share in os.getloadavg())
    cores = f"{os.cpu_count()} cores, load {load}"
    return f"{now}, commit {commit()}, Python {platform.python_version()}, {cores}"


def commit() -> str:
    """The commit that is checked out; "unknown" outside of Git."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    here = Path(__file__).parent
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
