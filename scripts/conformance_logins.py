"""The scenarios of the official suite in which the hub is a client that has to be let in.

The suite plays the servers, and starts `tests/conformance/hub_client.py` as the client: a hub, and
a person who logs in. One scenario after the other, each with a hub of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node24 import SUITE

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "tests" / "conformance" / "hub_client.py"
PATIENCE = 300.0
SCENARIO = re.compile(r"^ +- (auth/\S+)", re.MULTILINE)
EXTENSIONS = ("auth/client-credentials-basic", "auth/client-credentials-jwt")
"""Scenarios of extensions, which the suite leaves open; the hub has them, so it has to pass."""


@dataclass(frozen=True, slots=True)
class LoginScore:
    """What the suite said of one scenario."""

    scenario: str
    revision: str
    is_green: bool
    seconds: float
    log: Path


def list_scenarios(runtime: Path, revision: str) -> list[str]:
    """The scenarios of a revision that are about authorization, and those of our extensions."""
    command = [str(runtime), str(SUITE), "list", "--client", "--requirements", revision]
    words = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    scored = words.stdout.partition("never scored")[0]
    return [*SCENARIO.findall(scored), *EXTENSIONS]


def run_login(runtime: Path, out: Path, scenario: str, revision: str) -> LoginScore:
    """Run one scenario; all that was said stays in a file."""
    began = time.monotonic()
    folder = out / f"logins-{revision}"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{scenario.partition('/')[2]}.log"
    client = f"{sys.executable} {CLIENT}"
    asked = ["--scenario", scenario, "--timeout", str(int(PATIENCE * 1000))]
    # Extensions are on no revision's list, and run at the wire of the newest.
    asked += [] if scenario in EXTENSIONS else ["--spec-version", revision]
    command = [str(runtime), str(SUITE), "client", "--command", client, *asked]
    with log.open("wb") as said:
        code = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False
        ).returncode
    is_green = code == 0 and "OVERALL: PASSED" in log.read_text(errors="replace")
    return LoginScore(scenario, revision, is_green, time.monotonic() - began, log)


def run_logins(runtime: Path, out: Path, revisions: Sequence[str], only: str = "") -> bool:
    """Run all scenarios, or one; True if every one is green, and there was one."""
    scores = []
    for revision in revisions:
        for scenario in list_scenarios(runtime, revision):
            if only in ("", scenario):
                scores.append(score := run_login(runtime, out, scenario, revision))
                verdict = "ok" if score.is_green else "FAILED"
                print(f"{verdict:7} {revision} {scenario}  {score.seconds:.1f} s", flush=True)
    for score in scores:
        if not score.is_green:
            print(f"  {score.scenario}: see {score.log}")
    passed = sum(score.is_green for score in scores)
    print(f"logins: {passed}/{len(scores)} scenarios")
    return bool(scores) and passed == len(scores)
