"""Interrupts first starts by npx and uvx at random moments: the next start must work, also by hand.

    python tests/stress/launchers.py                     twenty moments for each launcher
    python tests/stress/launchers.py --moments 5         fewer
    python tests/stress/launchers.py --launcher npx      one launcher
    python tests/stress/launchers.py --seed 7            the same moments again
    python tests/stress/launchers.py --rounds 8-14       some of the rounds of these moments

Each round has a home and a package cache of its own, so the package is really installed. The hub
is stopped, restarted or killed while its launcher is at work; in every fourth round the launcher is
killed with it, as by a machine that runs out of memory. Then a hub is started again, and its server
must answer; and then the launcher must, without a hub.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.hub import environment, new_home, toolyard
from tests.fixtures.ports import free_port
from toolyard.records.runfile import RunDir

LAUNCHES = {
    "npx": ("npx", "-y", "@modelcontextprotocol/server-memory"),
    "uvx": ("uvx", "mcp-server-time"),
}
HOW = ("restart", "down", "kill", "kill all")
PATIENCE = 240.0
PAUSE = threading.Event()
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "hand", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Round:
    """One interrupted start."""

    how: str
    moment: float
    was_running: bool
    ready_after: float | None
    by_hand: bool

    @property
    def is_good(self) -> bool:
        return self.ready_after is not None and self.by_hand


class Yard:
    """A home in which nothing was ever installed."""

    def __init__(self, home: Path, argv: tuple[str, ...], tools: Path) -> None:
        self.home = home
        self.argv = argv
        entry = {"command": argv[0], "args": list(argv[1:])}
        (home / "servers.json").write_text(json.dumps({"mcpServers": {"it": entry}}))
        self.env = {
            **environment(home),
            **{k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "NODE_"))},
            "PATH": os.pathsep.join((str(tools), os.environ["PATH"])),
            "TOOLYARD_PORT": str(free_port()),
            "npm_config_cache": str(home / "npm"),
            "npm_config_userconfig": os.path.expanduser("~/.npmrc"),
            "UV_CACHE_DIR": str(home / "uv"),
            "UV_PYTHON": sys.executable,
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            toolyard(*words), env=self.env, capture_output=True, text=True, check=False
        )

    def interrupt(self, how: str) -> bool:
        """End the hub in a way; return whether its launcher was at work."""
        launchers = self._launchers()
        if how in ("restart", "down"):
            self.run(how)
        else:
            state = RunDir(self.home / "run").read()
            pids = [state.pid] if state else []
            for pid in (*pids, *(launchers if how == "kill all" else ())):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return bool(launchers)

    def wait_ready(self) -> float | None:
        """Seconds until the server answers; None if it does not."""
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            status = self._status()
            if status in ("ready", "idle"):
                return time.monotonic() - began
            if status == "known":  # it was ready before the interruption, and rests until a call
                self.run("server", "start", "it")
            elif not status:
                self.run("up", "--detach")
            PAUSE.wait(1.0)
        return None

    def _status(self) -> str:
        """The status of the server; empty if no hub runs."""
        told = self.run("status", "--json")
        return json.loads(told.stdout)["servers"][0]["status"] if told.returncode == 0 else ""

    def answers_by_hand(self) -> bool:
        """Start the launcher as a person would; return whether its server answers."""
        process = subprocess.Popen(
            self.argv,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(GREETING) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        with suppress(ProcessLookupError):  # not every server ends when its stdin does
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)
        return '"serverInfo"' in line

    def _launchers(self) -> list[int]:
        """The processes that carry the mark of the hub of this home."""
        marked = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environ = (folder / "environ").read_bytes()
            except OSError:
                continue
            if f"HOME={self.home}\0".encode() in environ and b"TOOLYARD_OWNER=" in environ:
                marked.append(int(folder.name))
        return marked


def first_start(argv: tuple[str, ...], tools: Path) -> float:
    """Seconds of a first start that nobody interrupts."""
    with new_home() as home:
        yard = Yard(home, argv, tools)
        yard.run("up", "--detach")
        took = yard.wait_ready()
        yard.run("down")
    if took is None:
        raise SystemExit(f"{argv[0]} does not work here, without any interruption")
    return took


def play(argv: tuple[str, ...], tools: Path, how: str, moment: float) -> Round:
    """Interrupt one first start, and see what becomes of the next."""
    with new_home() as home:
        yard = Yard(home, argv, tools)
        yard.run("up", "--detach")
        PAUSE.wait(moment)
        was_running = yard.interrupt(how)
        ready_after = yard.wait_ready()
        yard.run("down")
        return Round(how, moment, was_running, ready_after, yard.answers_by_hand())


def tools_folder(folder: Path) -> Path:
    """A folder with uvx; installed there unless the machine has it."""
    if shutil.which("uvx") is None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "uv"], check=True)
    return folder / "bin"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--launcher", choices=list(LAUNCHES))
    parser.add_argument("--rounds", metavar="FIRST-LAST", help="only these, counted from 1")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    fractions = [chance.random() for _ in range(options.moments)]
    first, last = map(int, (options.rounds or f"1-{options.moments}").split("-"))
    bad = 0
    with tempfile.TemporaryDirectory(prefix="ty-tools-") as folder:
        tools = tools_folder(Path(folder))
        for launcher in [options.launcher] if options.launcher else LAUNCHES:
            argv = LAUNCHES[launcher]
            took = first_start(argv, tools)
            print(f"{launcher}: a first start takes {took:.1f} s; seed {options.seed}", flush=True)
            for number in range(first - 1, last):
                how = HOW[number % len(HOW)]
                played = play(argv, tools, how, took * fractions[number])
                bad += not played.is_good
                after = "never" if played.ready_after is None else f"{played.ready_after:.1f} s"
                print(
                    f"  {number + 1:2} {how:8} at {played.moment:4.1f} s"
                    f" (launcher {'at work' if played.was_running else 'not there'}):"
                    f" ready {after}, by hand {'yes' if played.by_hand else 'NO'}",
                    flush=True,
                )
    print(f"{bad} of the starts after an interruption failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
