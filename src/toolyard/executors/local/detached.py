"""Finds the programs of an app on this machine, and starts one so that it outlives the hub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolyard.core.apps import PLACE, App, Install
from toolyard.core.errors import StartError
from toolyard.executors.local.marking import FORKING
from toolyard.executors.local.reaper import INSTANCE, OWNER

START_SECONDS: Final = 10.0
PLATFORM: Final = "macos" if sys.platform == "darwin" else "linux"
PRIVATE: Final = frozenset(
    {OWNER, INSTANCE, "TOOLYARD_TOKEN", "TOOLYARD_KEY", "TOOLYARD_DATABASE", "PGPASSWORD"}
)
"""Variables that would mark the program as one of our servers, or give it our secrets."""

# The program must not be our child: nobody would wait for its end, and the reaper would end it
# with the hub. So a process in between starts it, reports whether that worked, and exits.
_STARTER: Final = """\
import os, subprocess, sys
none = subprocess.DEVNULL
try:
    subprocess.Popen(sys.argv[1:], stdin=none, stdout=none, stderr=none, start_new_session=True)
except OSError as error:
    sys.exit(error.strerror or str(error))
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class InstalledApp:
    """A program of an app that is on this machine."""

    install: Install
    place: str

    @property
    def argv(self) -> tuple[str, ...]:
        """The command that starts it."""
        return tuple(word.replace(PLACE, self.place) for word in self.install.launch_on(PLATFORM))


def find_installed(app: App, env: Mapping[str, str]) -> tuple[InstalledApp, ...]:
    """Return the programs of an app that are on this machine, in the order of its definition."""
    installed = []
    for install in app.installs:
        places = (_expand(place, env) for place in install.places_on(PLATFORM))
        existing = next((place for place in places if place and os.path.exists(place)), "")
        if existing:
            installed.append(InstalledApp(install, existing))
    return tuple(installed)


def _expand(place: str, env: Mapping[str, str]) -> str:
    """Return a place with `~` and `%NAME%` replaced; empty if a variable is not set."""
    if place.startswith("~/"):
        home = env.get("HOME") or os.path.expanduser("~")
        place = home + place[1:]
    parts = place.split("%")
    for at in range(1, len(parts) - 1, 2):
        if not env.get(parts[at]):
            return ""
        parts[at] = env[parts[at]]
    return "".join(parts)


def launch(installed: InstalledApp, env: Mapping[str, str]) -> None:
    """Start a program that is nobody's child. Blocks for a moment; call it in a thread.

    Raises:
        StartError: It could not be started.
    """
    label = installed.install.label
    command = [sys.executable, "-I", "-S", "-c", _STARTER, *installed.argv]
    public = {name: value for name, value in env.items() if name not in PRIVATE}
    if not installed.argv:
        raise StartError(f"cannot determine how to start {label!r}", "add 'launch' to its app")
    try:
        code, stderr = _run(command, public)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StartError(f"cannot start {label!r}: {error}") from error
    if code:
        why = stderr.decode("utf-8", "replace").strip()[:200].lower()
        raise StartError(f"cannot start {label!r}: {why}", f"look at '{installed.place}'")


def _run(command: list[str], env: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a command to its end; return its exit code and stderr. It gets no server's mark."""
    none = subprocess.DEVNULL
    with FORKING:
        process = subprocess.Popen(
            command, env=env, stdin=none, stdout=none, stderr=subprocess.PIPE
        )
    with process:
        try:
            _, stderr = process.communicate(timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, stderr
