"""Presses Ctrl-C at random moments of a setup: every file must be as it was, and no hub left.

    python tests/stress/setup_interrupts.py                 ten moments
    python tests/stress/setup_interrupts.py --moments 3     fewer
    python tests/stress/setup_interrupts.py --seed 7        the same moments again

Each round has a home of its own with the files of five clients. A setup that was done before the
moment came is undone by `toolyard undo`, with the same result for the clients' files.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.features.setup.machine import contents, fill
from tests.features.setup.person import SOURCE, Person, in_front_of_person
from tests.fixtures.ports import free_port
from toolyard.console.exits import Exit

TOOLYARD = (sys.executable, "-m", "toolyard")
ENDS = (0, Exit.INTERRUPTED, -signal.SIGINT)
"""The last, before our first line is run."""


@dataclass(frozen=True, slots=True)
class Home:
    """A machine with five clients, and nothing of ours."""

    path: Path
    env: Mapping[str, str]

    @classmethod
    def make(cls, path: Path) -> Home:
        kinds = ("CONFIG", "STATE", "CACHE", "DATA")
        env = {f"XDG_{kind}_HOME": str(path / kind.lower()) for kind in kinds}
        for folder in env.values():
            Path(folder).mkdir(mode=0o700)
        env |= {"HOME": str(path), "XDG_RUNTIME_DIR": str(path), "PYTHONPATH": SOURCE}
        env |= {"TOOLYARD_PORT": str(free_port()), "PATH": str(path / "bin")}
        return cls(path, env | {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"})

    def run(self, *words: str) -> int:
        command = [*TOOLYARD, *words]
        done = subprocess.run(command, env=self.env, capture_output=True, cwd=self.path)
        return done.returncode

    def kept(self) -> list[Path]:
        """Everything that a user would call theirs, and that was not there before."""
        folders = (self.path / "config" / "toolyard", self.path / "state" / "toolyard" / "secrets")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return [f for f in files if f.suffix != ".lock" and f.name != "toolyard-backups"]


def play(home: Home, moment: float) -> tuple[str, float]:
    """Interrupt one setup; return what is wrong afterwards, and the seconds it took."""
    before = fill(home.path)
    began = time.monotonic()
    with in_front_of_person([*TOOLYARD, "setup", "--yes"], home.env) as person:
        timer = threading.Timer(moment, _interrupt, [person])
        timer.start()
        code = person.wait_end()
        timer.cancel()
    took = time.monotonic() - began
    if code == 0:
        home.run("undo", "--yes")
    problems = [] if code in ENDS else [f"it ended with {code}: {person.screen}"]
    problems += [str(path) for path, data in contents(before).items() if data != before[path]]
    if code != 0:
        problems += [*map(str, home.kept())]
        problems += ["a hub runs"] if home.run("status") != Exit.NO_HUB else []
    home.run("down")
    return ", ".join(problems), took


def _interrupt(person: Person) -> None:
    try:
        person.interrupt()
    except OSError:
        return  # it ended just now


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    bad, whole = 0, 0.0
    for number in range(options.moments + 1):
        with tempfile.TemporaryDirectory(prefix="ty-", ignore_cleanup_errors=True) as folder:
            moment = chance.uniform(0.0, whole) if number else 3600.0
            wrong, took = play(Home.make(Path(folder)), moment)
        if not number:
            whole = took
            print(f"a setup takes {whole:.1f} s; seed {options.seed}", flush=True)
        bad += bool(wrong)
        if number or wrong:
            print(f"  {number:2} at {moment:5.1f} s: {wrong or 'as it was'}", flush=True)
    print(f"{bad} of the setups left something behind")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
