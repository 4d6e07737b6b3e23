"""Times the way from `make up` to the first tool call of a real client, as a newcomer goes it.

    python scripts/first_call.py

The machine is warm: there is a clone, pip has the packages in its cache, and Codex is installed.
The home is empty but for the files of five clients with eighteen servers, three of them broken and
four with secrets. `make up` installs and starts the hub; `toolyard setup`, at a terminal, is
answered with one `y`; then Codex, which has no account, calls a tool by the file that setup wrote.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clients import ALONE, BOX, PACKAGES, TOP, can_be_alone, install
from node24 import node

sys.path.insert(0, str(TOP))

from tests.features.setup.machine import READY, TAKEN, fill
from tests.features.setup.person import in_front_of_person
from tests.fixtures.ports import free_port

LONGEST = 300.0
"""Seconds, in all."""
TOOL, WORD = "time__echo", "hello"


class Steps:
    """The seconds of each step."""

    def __init__(self) -> None:
        self.total = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step, and print it."""
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        self.total += took
        print(f"{name:40}{took:7.1f} s", flush=True)


class Codex:
    """Codex's app server: JSON lines, without an account."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._number = 0

    def ask(self, method: str, **params: Any) -> Any:
        """Ask; return the result."""
        self._number += 1
        self._write({"id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"codex: {method}: {message['error']}")
                return message["result"]
        raise SystemExit(f"codex ended before it answered {method}")

    def tell(self, method: str) -> None:
        """Tell something that has no answer."""
        self._write({"method": method})

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def environment(home: Path) -> dict[str, str]:
    """The environment of somebody with that home, and the package cache of this machine."""
    cache = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        "HOME": str(home),
        "PIP_CACHE_DIR": cache.stdout.strip(),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "TOOLYARD_HOME": str(home / "yard"),  # which clients are told, unlike the rest
        "TOOLYARD_PORT": str(free_port()),
        "XDG_CONFIG_HOME": str(home / "config"),
    }


def set_up(steps: Steps, program: Path, env: Mapping[str, str]) -> int:
    """Answer `toolyard setup`; return the number of questions."""
    with in_front_of_person([str(program), "setup"], env) as person:
        with steps.step("toolyard setup, to the plan"):
            person.wait_for("[y/N]")
        with steps.step("toolyard setup, to the last server"):
            person.type("y\n")
            code = person.wait_end()
    if code != 0 or f"{READY} of {TAKEN} servers can be used" not in person.screen:
        raise SystemExit(person.screen)
    return person.screen.count("[y/N]")


def call_a_tool(home: Path, env: Mapping[str, str], runtime: Path) -> None:
    """Have Codex call a tool of a server that another client had."""
    command = [str(BOX / "codex" / "node_modules" / ".bin" / "codex"), "app-server"]
    path = f"{runtime.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    with subprocess.Popen(
        [*(ALONE if can_be_alone() else ()), *command],
        env={**env, "PATH": path},
        cwd=home / "work",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        codex = Codex(process)
        codex.ask("initialize", clientInfo={"name": "first-call", "version": "1"})
        codex.tell("initialized")
        thread = codex.ask("thread/start", cwd=str(home / "work"))["thread"]["id"]
        place = {"threadId": thread, "server": "toolyard", "tool": TOOL}
        result = codex.ask("mcpServer/tool/call", **place, arguments={"text": WORD})
        process.terminate()
    if result["content"] != [{"type": "text", "text": WORD}]:
        raise SystemExit(f"codex: {TOOL} said {result}")


def main() -> int:
    """Go the way once."""
    runtime, steps = node(), Steps()
    install(runtime, "codex", PACKAGES["codex"])
    python = Path(sys.base_prefix) / "bin" / "python3"
    with tempfile.TemporaryDirectory(prefix="ty-", ignore_cleanup_errors=True) as name:
        home, clone = Path(name), Path(name) / "toolyard"
        subprocess.run(["git", "clone", "-q", str(TOP), str(clone)], check=True)
        env = environment(home)
        fill(home)
        program = clone / ".venv" / "bin" / "toolyard"
        try:
            with steps.step("make up"):
                order = ["make", "-s", "up", "ARGS=--detach", f"PYTHON={python}"]
                subprocess.run(order, cwd=clone, env=env, stdout=subprocess.DEVNULL, check=True)
            decisions = set_up(steps, program, env)
            with steps.step("codex, to the answer of its first call"):
                call_a_tool(home, env, runtime)
        finally:
            subprocess.run([program, "down"], env=env, stdout=subprocess.DEVNULL, check=False)
    print(f"{'in all':40}{steps.total:7.1f} s, {decisions} decision{'s' * (decisions != 1)}")
    return 0 if steps.total < LONGEST and decisions == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
