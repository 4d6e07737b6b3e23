"""Run the official MCP conformance suite through the hub.

    python scripts/conformance.py                      the whole matrix, as `make conformance`
    python scripts/conformance.py --direct             the fixture server alone, without a hub
    python scripts/conformance.py --behind stdio --requirements 2025-11-25
    python scripts/conformance.py --fleet              three hubs with a database, behind HAProxy
    python scripts/conformance.py --scenario ping      one scenario, with everything it says
    python scripts/conformance.py --logins             the hub as a client that has to be let in

Each row starts the fixture server, a hub before it, and the suite against the hub. What they said
stays in `.cache/conformance/`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance_logins import run_logins
from node24 import SUITE, install, node

from tests.e2e.hub import TOKEN
from tests.fixtures.postgres import running_postgres
from tests.fleet.balanced import balanced_in_front_of
from tests.fleet.balancer import find_haproxy

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / ".cache" / "conformance"
FIXTURE = ROOT / "tests" / "fixtures" / "everything.py"
LEGACY = "2025-11-25"
REVISIONS = ("2026-07-28", LEGACY)

START_PATIENCE = 30.0  # seconds until a server or the hub must listen
ROW_PATIENCE = 300.0  # a green row takes about ten seconds; a hung one ends here
STOP_PATIENCE = 10.0

# The suite has no option for headers, and the hub lets nobody in without its token. Node announces
# every request before it is sent, for both of its HTTP clients: there the header is added.
PRELOAD = """\
import channel from "node:diagnostics_channel";
const value = `Bearer ${process.env.TOOLYARD_TOKEN}`;
channel.subscribe("undici:request:create", (event) => {
  event.request.addHeader("authorization", value);
});
channel.subscribe("http.client.request.created", (event) => {
  event.request.setHeader("authorization", value);
});
"""

OURS = "tasks-"
"""Scenarios of an extension, which the suite leaves open; the hub passes it on, so it has to."""
SUMMARY = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed$", re.MULTILINE)
UNSCORED = re.compile(r"^  [✓✗] (\S+) \(", re.MULTILINE)


class BrokenRunError(Exception):
    """A row could not be run at all."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the matrix: what is behind the hub, and what the suite asks of it."""

    behind: str
    requirements: str
    era: str | None = None
    before: str = "hub"
    """A `hub` or a `fleet` is before the server; `direct` is nothing."""

    @property
    def name(self) -> str:
        """A name that is also a folder."""
        era = f"-{self.era}" if self.era else ""
        return f"{self.before}-{self.behind}{era}-{self.requirements}"


@dataclass(frozen=True, slots=True)
class Score:
    """What the suite said of one row."""

    row: Row
    scored: tuple[str, ...]
    failed: tuple[str, ...]
    unscored_failed: int
    warnings: tuple[str, ...]
    seconds: float
    trouble: str = ""

    @property
    def green(self) -> bool:
        """Did every scored scenario pass, and was there one?"""
        return bool(self.scored) and not self.failed and not self.trouble


def free_port() -> int:
    """A port of the loopback that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running(
    command: Sequence[str],
    port: int,
    log: Path,
    env: dict[str, str] | None = None,
    token: str = "",
) -> Iterator[None]:
    """A process that listens on a port while the block lasts; with a token, a ready hub."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    try:
        wait_for(process, lambda: listens(port) and (not token or is_ready(port, token)), log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def listens(port: int) -> bool:
    """Whether somebody accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def is_ready(port: int, token: str) -> bool:
    """Whether the hub there knows what its servers offer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
        connection.request("GET", "/health/ready", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status == 200
    return False


def wait_for(process: subprocess.Popen[bytes], is_there: Callable[[], bool], log: Path) -> None:
    """Return as soon as the process is there; raise when it ended before, or took too long."""
    deadline = time.monotonic() + START_PATIENCE
    while time.monotonic() < deadline:
        if is_there():
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(0.05)
            tail = "".join(f"\n    {line}" for line in log.read_text().splitlines()[-15:])
            raise BrokenRunError(f"{log.stem} ended with {code} before it was ready:{tail}")
    raise BrokenRunError(f"{log.stem} was not ready within {START_PATIENCE:.0f} s; see {log}")


def fixture(transport: str, era: str | None, port: int = 0) -> list[str]:
    """The command that starts the fixture server."""
    command = [sys.executable, str(FIXTURE), transport]
    command += ["--port", str(port)] if transport == "http" else []
    return command + ([f"--{era}-only"] if era else [])


def start_hub(
    config: Path, port: int, token: str, folder: Path
) -> contextlib.AbstractContextManager[None]:
    """A hub in front of one server, unprefixed, with a home of its own."""
    command = [sys.executable, "-m", "toolyard", "up", "--config", str(config), "--port", str(port)]
    command += ["--separator", "none", "--expose", "all"]
    home = folder / "home"
    home.mkdir(exist_ok=True, mode=0o700)
    # The hub of the person who runs this must neither be found nor be disturbed.
    own = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE")}
    own |= {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "TOOLYARD_TOKEN": token}
    return running(command, port, folder / "hub.log", {**os.environ, **own}, token)


@contextlib.contextmanager
def running_fleet(entry: dict[str, Any], folder: Path) -> Iterator[int]:
    """Three hubs in front of one server, unprefixed, behind a balancer; the port of that.

    Raises:
        BrokenRunError: There is no PostgreSQL or no HAProxy.
    """
    if find_haproxy() is None:
        raise BrokenRunError("HAProxy is not installed; run: scripts/haproxy.sh")
    wishes = {"TOOLYARD_SEPARATOR": "none", "TOOLYARD_EXPOSE": "all"}
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(running_postgres())
        except RuntimeError as error:
            raise BrokenRunError(str(error)) from error
        runner = stack.enter_context(asyncio.Runner())
        fleet = contextlib.AsyncExitStack()
        stack.callback(lambda: runner.run(fleet.aclose()))
        servers = {"everything": entry}
        made = balanced_in_front_of(servers, folder, server.new_yard(), **wishes)
        yield runner.run(fleet.enter_async_context(made)).port


@contextlib.contextmanager
def target(row: Row, folder: Path, token: str) -> Iterator[str]:
    """The address the suite shall test, with all that is behind it running."""
    with contextlib.ExitStack() as stack:
        entry: dict[str, Any]
        if row.behind == "http":
            port = free_port()
            command = fixture("http", row.era, port)
            stack.enter_context(running(command, port, folder / "fixture.log"))
            entry = {"url": f"http://127.0.0.1:{port}/mcp"}
        else:
            program, *arguments = fixture("stdio", row.era)
            entry = {"command": program, "args": arguments}
        if row.before == "hub":
            config, port = folder / "servers.json", free_port()
            config.write_text(json.dumps({"mcpServers": {"everything": entry}}, indent=2))
            stack.enter_context(start_hub(config, port, token, folder))
        elif row.before == "fleet":
            port = stack.enter_context(running_fleet(entry, folder))
        yield f"http://127.0.0.1:{port}/mcp"


def suite(runtime: Path, folder: Path, token: str, *arguments: str) -> tuple[int, str]:
    """Run the suite; what it exits with, and what it says."""
    preload = folder / "token.mjs"
    preload.write_text(PRELOAD)
    command = [str(runtime), "--import", preload.as_uri(), str(SUITE), "server", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "TOOLYARD_TOKEN": token},
            timeout=ROW_PATIENCE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired:
        raise BrokenRunError(f"the suite did not end within {ROW_PATIENCE:.0f} s") from None
    said = done.stdout.decode(errors="replace")
    (folder / "suite.log").write_text(said)
    return done.returncode, said


def complaints(folder: Path, scored: Sequence[str], status: str) -> tuple[str, ...]:
    """The checks of scored scenarios that ended this way, with the suite's words."""
    found = []
    for scenario in scored:
        for file in folder.glob(f"server-{scenario}-20*/checks.json"):
            for check in json.loads(file.read_text()):
                if check["status"] == status:
                    reason = " ".join(check.get("errorMessage", "").split())[:300]
                    found.append(f"{scenario}: {check['id']}: {reason}")
    return tuple(found)


def score(row: Row, folder: Path, code: int, said: str, seconds: float) -> Score:
    """What the words of the suite mean."""
    ran = {name: int(failed) for name, _, failed in SUMMARY.findall(said)}
    optional = set(UNSCORED.findall(said.rpartition("Not scored for")[2]))
    # The suite's own verdict counts too: never green on words we could not read.
    disagrees = (code != 0) != any(ran[name] for name in ran if name not in optional)
    unscored = (
        optional if row.before == "direct" else {n for n in optional if not n.startswith(OURS)}
    )
    scored = tuple(name for name in ran if name not in unscored)
    failed = tuple(name for name in scored if ran[name])
    return Score(
        row=row,
        scored=scored,
        failed=failed,
        unscored_failed=sum(ran[name] > 0 for name in unscored if name in ran),
        warnings=complaints(folder, scored, "WARNING"),
        seconds=seconds,
        trouble=f"the suite exited with {code}; see {folder}" if disagrees or not ran else "",
    )


def prepare(row: Row) -> tuple[Path, str]:
    """An empty folder for what this row leaves behind, and a token for its hub."""
    folder = OUT / row.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder, TOKEN if row.before == "fleet" else secrets.token_urlsafe(24)


def run_row(runtime: Path, row: Row) -> Score:
    """Run one row from start to end; it never raises."""
    began = time.monotonic()
    folder, token = prepare(row)
    try:
        with target(row, folder, token) as url:
            asked = ("--url", url, "--requirements", row.requirements, "-o", str(folder))
            code, said = suite(runtime, folder, token, *asked)
    except BrokenRunError as error:
        return Score(row, (), (), 0, (), time.monotonic() - began, str(error))
    return score(row, folder, code, said, time.monotonic() - began)


def run_scenario(runtime: Path, row: Row, scenario: str) -> int:
    """Run one scenario and show all of it."""
    folder, token = prepare(row)
    with target(row, folder, token) as url:
        asked = ("--url", url, "--scenario", scenario, "--spec-version", row.requirements)
        code, said = suite(runtime, folder, token, *asked)
    print(said)
    return code


def line(result: Score) -> str:
    """One row of the table."""
    passed = f"{len(result.scored) - len(result.failed)}/{len(result.scored)}"
    return (
        f"{'ok' if result.green else 'FAILED':7} {result.row.name:34} {passed:>7} scored"
        f"  {len(result.warnings):>2} warnings  {result.unscored_failed:>2} unscored failing"
        f"  {result.seconds:5.1f} s"
    )


def details(result: Score) -> Iterator[str]:
    """Why a row is not green, and what it was warned of."""
    if result.trouble:
        yield f"  {result.row.name}: {result.trouble}"
    folder = OUT / result.row.name
    for text in complaints(folder, result.failed, "FAILURE"):
        yield f"  {result.row.name}: failed: {text}"
    for text in result.warnings:
        yield f"  {result.row.name}: warning: {text}"


def options() -> argparse.Namespace:
    """What the person asked for."""
    parser = argparse.ArgumentParser(description="Run the official MCP suite through the hub.")
    before = parser.add_mutually_exclusive_group()
    before.add_argument("--direct", action="store_true", help="the fixture alone, without a hub")
    before.add_argument("--fleet", action="store_true", help="through a balancer on three hubs")
    before.add_argument("--logins", action="store_true", help="only the hub as a client")
    parser.add_argument("--behind", choices=("http", "stdio"), help="only with this transport")
    parser.add_argument("--requirements", choices=REVISIONS, help="only this revision")
    parser.add_argument("--era", choices=("legacy", "modern"), help="a server of one era only")
    parser.add_argument("--scenario", help="one scenario, shown in full")
    return parser.parse_args()


def matrix(chosen: argparse.Namespace) -> list[Row]:
    """The rows to run: the suite cannot speak stdio, so a direct run is over HTTP."""
    transports = [chosen.behind] if chosen.behind else ["http", "stdio"]
    if chosen.direct:
        transports = ["http"]
    revisions = [chosen.requirements] if chosen.requirements else REVISIONS
    before = "direct" if chosen.direct else "fleet" if chosen.fleet else "hub"
    rows = [Row(t, r, chosen.era, before) for t in transports for r in revisions]
    if not chosen.direct and not chosen.era and LEGACY in revisions:
        # The suite's legacy client before a server of one era alone: the bridge, and no bridge.
        # A legacy server cannot say all that the suite asks of a modern one; tests/e2e has those.
        rows += [Row(t, LEGACY, era, before) for t in transports for era in ("modern", "legacy")]
    return rows


def main() -> int:
    """Run the program."""
    chosen, runtime = options(), node()
    install(runtime)
    rows = matrix(chosen)
    revisions = [chosen.requirements] if chosen.requirements else REVISIONS
    if chosen.logins or (chosen.scenario or "").startswith("auth/"):
        return 0 if run_logins(runtime, OUT, revisions, chosen.scenario or "") else 1
    if chosen.scenario:
        return max(run_scenario(runtime, row, chosen.scenario) for row in rows)
    results = []
    for row in rows:
        print(f"running {row.name} ...", flush=True)
        results.append(run_row(runtime, row))
    print("\n".join(["", *(line(result) for result in results)]))
    print("\n".join(text for result in results for text in details(result)))
    is_partial = chosen.direct or chosen.fleet or chosen.behind or chosen.era
    lets_in = is_partial or run_logins(runtime, OUT, revisions)
    return 0 if lets_in and all(result.green for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
