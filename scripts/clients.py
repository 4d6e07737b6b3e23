"""Real clients, fetched once into `.cache/clients/`, and the tests that run them.

They are large (1.6 GB in all), so they are no part of `make test`. Where the system allows it, the
tests run without a network, so that nothing of a client can leave this machine.

    python scripts/clients.py [ARGS OF PYTEST]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from node24 import node, npm

TOP = Path(__file__).resolve().parent.parent
BOX = TOP / ".cache" / "clients"
PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code@2.1.325",
    "codex": "@openai/codex@0.166.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "qwen": "@qwen-code/qwen-code@0.24.4",
    "opencode": "opencode-ai@1.18.33",
    "copilot": "@github/copilot@1.0.102",
}
TESTS = tuple(f"tests/features/{name}/real.py" for name in ("clients", "setup", "authorization"))
QUIET = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
ALONE = ("unshare", "-n", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def install(runtime: Path, name: str, package: str) -> None:
    """Fetch a client, unless this very version is there; a failure leaves it out."""
    box = BOX / name
    stamp = box / "installed"
    if stamp.exists() and stamp.read_text() == package:
        return
    print(f"fetching {package} ...", flush=True)
    shutil.rmtree(box, ignore_errors=True)
    box.mkdir(parents=True)
    command = [*npm(runtime), "install", "--prefix", str(box), "--loglevel=error", *QUIET, package]
    env = {**os.environ, "PATH": f"{runtime.parent}{os.pathsep}{os.environ['PATH']}"}
    if subprocess.run(command, env=env, check=False).returncode == 0:
        stamp.write_text(package)


def can_be_alone() -> bool:
    """Whether a process may be cut off from the network here."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


def main() -> int:
    """Fetch what is missing, and run the tests."""
    runtime = node()
    for name, package in PACKAGES.items():
        install(runtime, name, package)
    command = [sys.executable, "-m", "pytest", *TESTS, *sys.argv[1:]]
    alone = can_be_alone()
    print(f"running {'without' if alone else 'with'} a network", flush=True)
    env = {**os.environ, "REAL_CLIENTS": str(BOX), "REAL_NODE": str(runtime)}
    done = subprocess.run([*(ALONE if alone else ()), *command], cwd=TOP, env=env, check=False)
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
