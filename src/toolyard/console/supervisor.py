"""The program that starts the hub at login and keeps it running: systemd or launchd.

Both are spoken to by their own commands; on Linux, the question whose a process is needs none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol, TypeVar

from toolyard.core.errors import StartError
from toolyard.settings import RUN_USER, is_own

UNIT: Final = "toolyard.service"
LABEL: Final = "toolyard"
PATIENCE: Final = 60.0
"""Seconds for a command of the supervisor; stopping a hub may take most of it."""
START_PATIENCE: Final = 30.0
PAUSE: Final = 0.1

Found = TypeVar("Found")


class Supervisor(Protocol):
    """A program of the system that runs one hub for this user."""

    @property
    def name(self) -> str:
        """The word for it in answers."""

    @property
    def file(self) -> Path:
        """The file that describes the service."""

    @property
    def log_hint(self) -> str:
        """The command that shows the service's log."""

    @property
    def edit_hint(self) -> str:
        """The way to give the service more variables, which stays when it is installed again."""

    def find_fault(self) -> str:
        """Return why it cannot be used here; empty if it can."""

    def runs(self, pid: int) -> bool:
        """Return whether it is the one that runs this process."""

    def is_active(self) -> bool:
        """Return whether the service runs now."""

    def is_enabled(self) -> bool:
        """Return whether it starts the hub at login."""

    def lingers(self) -> bool | None:
        """Return whether the hub stays after logout; None if nobody can tell."""

    def enable(self) -> None:
        """Read the file, and start the hub at every login from now on."""

    def disable(self) -> None:
        """Start it at login no more."""

    def forget(self) -> None:
        """Notice that the file is gone."""

    def start(self) -> None:
        """Start the hub now."""

    def stop(self) -> None:
        """Stop the hub, if it runs it."""


@dataclass(frozen=True, slots=True)
class SystemdUser:
    """The systemd that belongs to a user's logins."""

    env: Mapping[str, str]
    name: ClassVar[str] = "systemd"
    log_hint: ClassVar[str] = "journalctl --user --unit toolyard"
    edit_hint: ClassVar[str] = "systemctl --user edit toolyard"

    @property
    def file(self) -> Path:
        """The unit in the user's configuration."""
        written = self.env.get("XDG_CONFIG_HOME", "")
        config = Path(written) if os.path.isabs(written) else _home(self.env) / ".config"
        return config / "systemd" / "user" / UNIT

    def find_fault(self) -> str:
        """Return why it cannot be used here; empty if it can."""
        return self._call("show", "--property=Version").fault

    def runs(self, pid: int) -> bool:
        """Return whether the process is in the unit's control group."""
        try:
            groups = Path(f"/proc/{pid}/cgroup").read_text("utf-8", "replace")
        except OSError:
            return False
        return any(UNIT in line.split("/") for line in groups.splitlines())

    def is_active(self) -> bool:
        """Return whether the unit runs."""
        return self.file.exists() and not self._call("is-active", "--quiet", UNIT).code

    def is_enabled(self) -> bool:
        """Return whether the unit is started at login."""
        return self.file.exists() and not self._call("is-enabled", "--quiet", UNIT).code

    def lingers(self) -> bool | None:
        """Return whether this user's systemd runs without a login."""
        words = ("show-user", "--property=Linger", "--value", str(os.getuid()))
        answer = _call(self.env, "loginctl", *words).output.strip()
        return {"yes": True, "no": False}.get(answer)

    def enable(self) -> None:
        """Read the unit, and start it at every login."""
        self._order("daemon-reload")
        self._order("enable", UNIT)

    def disable(self) -> None:
        """Start the unit at login no more."""
        self._order("disable", UNIT)

    def forget(self) -> None:
        """Notice that the unit is gone."""
        self._order("daemon-reload")

    def start(self) -> None:
        """Start the unit."""
        self._call("reset-failed", UNIT)  # five failures in a row would be held against it
        self._order("start", UNIT)

    def stop(self) -> None:
        """Stop the unit, if it runs."""
        if self.is_active():
            self._order("stop", UNIT)

    def _order(self, *words: str) -> None:
        _order(self.env, "systemctl", "--user", *words)

    def _call(self, *words: str) -> _Ended:
        return _call(self.env, "systemctl", "--user", *words)


@dataclass(frozen=True, slots=True)
class LaunchAgent:
    """The launchd of macOS, for a user who is logged in."""

    env: Mapping[str, str]
    name: ClassVar[str] = "launchd"
    log_hint: ClassVar[str] = "toolyard logs"
    edit_hint: ClassVar[str] = "launchctl setenv NAME VALUE"

    @property
    def file(self) -> Path:
        """The property list among the user's agents."""
        return _home(self.env) / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def find_fault(self) -> str:
        """Return why it cannot be used here; empty if it can."""
        return _call(self.env, "launchctl", "print", self._domain).fault

    def runs(self, pid: int) -> bool:
        """Return whether the process is the agent's, or the child of its launcher."""
        parent = _call(self.env, "ps", "-o", "ppid=", "-p", str(pid)).output.strip()
        lines = [line.strip() for line in self._print().output.splitlines()]
        return f"pid = {pid}" in lines or f"pid = {parent}" in lines

    def is_active(self) -> bool:
        """Return whether the agent runs."""
        return self.file.exists() and "state = running" in self._print().output

    def is_enabled(self) -> bool:
        """Return whether the agent is started at login: launchd takes whatever lies there."""
        return self.file.exists()

    def lingers(self) -> bool | None:
        """Return that an agent never outlives the login."""
        return False

    def enable(self) -> None:
        """Take back that it was disabled, if it was."""
        _order(self.env, "launchctl", "enable", self._target)

    def disable(self) -> None:
        """Nothing is to be done: without its file it does not start."""

    def forget(self) -> None:
        """Nothing is to be done: what was stopped is forgotten."""

    def start(self) -> None:
        """Load the agent, which starts it; start it again if it is loaded."""
        if self._print().code:
            _order(self.env, "launchctl", "bootstrap", self._domain, str(self.file))
        else:
            _order(self.env, "launchctl", "kickstart", self._target)

    def stop(self) -> None:
        """Unload the agent, which stops it."""
        if not self._print().code:
            _order(self.env, "launchctl", "bootout", self._target)

    @property
    def _domain(self) -> str:
        return f"gui/{os.getuid()}"

    @property
    def _target(self) -> str:
        return f"{self._domain}/{LABEL}"

    def _print(self) -> _Ended:
        return _call(self.env, "launchctl", "print", self._target)


def find_supervisor(env: Mapping[str, str] = os.environ) -> Supervisor:
    """The supervisor of this system; whether it can be used is for it to say."""
    return LaunchAgent(env) if sys.platform == "darwin" else SystemdUser(env)


def start_supervised(
    supervisor: Supervisor, look: Callable[[], Found | None], patience: float = START_PATIENCE
) -> Found:
    """Have the service start the hub, and wait until `look` returns something.

    Raises:
        StartError: It ended at once, or could not be reached in time.
    """
    supervisor.start()
    pause, deadline = threading.Event(), time.monotonic() + patience
    while time.monotonic() < deadline:
        is_active = supervisor.is_active()
        if (result := look()) is not None:
            return result
        if not is_active:
            break
        pause.wait(PAUSE)
    raise StartError("the service did not start the hub", f"read its log: {supervisor.log_hint}")


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a supervisor's command."""

    code: int
    output: str
    fault: str
    """The last line of its complaint; empty if it went well."""


def _call(env: Mapping[str, str], *words: str) -> _Ended:
    try:
        done = subprocess.run(
            words,
            env=_reaching(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        return _Ended(127, "", f"there is no {words[0]} on this machine")
    except subprocess.TimeoutExpired:
        return _Ended(124, "", f"{words[0]} did not answer within {PATIENCE:g} s")
    except OSError as error:
        return _Ended(126, "", f"{words[0]} cannot be run: {error.strerror}")
    complaint = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
    return _Ended(done.returncode, done.stdout, complaint[-1] if done.returncode else "")


def _order(env: Mapping[str, str], *words: str) -> None:
    ended = _call(env, *words)
    if ended.code:
        raise StartError(f"'{' '.join(words)}' failed: {ended.fault}", "")


def _reaching(env: Mapping[str, str]) -> dict[str, str]:
    """The environment with the runtime directory in it, which `su` and `ssh` may leave out."""
    usual = f"{RUN_USER}/{os.getuid()}"
    more = {"XDG_RUNTIME_DIR": usual} if not env.get("XDG_RUNTIME_DIR") and is_own(usual) else {}
    return {**env, **more}


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~"))
