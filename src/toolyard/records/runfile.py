"""The running hub as others see it: its lock, its run file, its token, its socket and its log."""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from toolyard import __version__
from toolyard.core.errors import StoreError, ToolyardError
from toolyard.records.directories import make_private, socket_path
from toolyard.records.files import locked, read_bounded, write_atomic

TOKEN_BYTES = 32
TOKEN_SHORTEST = 32
"""Characters; a shorter file was cut off or written by hand."""


class AlreadyRunningError(ToolyardError):
    """Another hub of this user has the lock; without a `url` it is just starting or stopping."""

    def __init__(self, state: HubState | None) -> None:
        self.pid = state.pid if state else None
        self.url = state.url if state else ""
        text = "another hub is just starting or stopping"
        if state:
            text = f"a hub is already running at {state.address} (pid {state.pid})"
        super().__init__(text, "use it as it is, or run: toolyard restart")


@dataclass(frozen=True, slots=True)
class HubState:
    """What a running hub says of itself."""

    pid: int
    start_time: int
    """When the process started, as the kernel counts; with the pid it names it for good."""
    url: str
    port: int
    version: str
    started_at: float
    """Seconds since 1970."""
    config: str = ""
    """The servers file it reads."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The values in force of what environment variables can set, by variable."""
    public: str = ""
    """Its address for those who are not on this machine."""

    @classmethod
    def of_this_process(
        cls,
        url: str,
        port: int,
        version: str = __version__,
        config: str = "",
        variables: Mapping[str, str] | None = None,
        public: str = "",
    ) -> HubState:
        """The state of a hub that has just begun to serve in this process."""
        pid = os.getpid()
        start, now = process_start(pid) or 0, time.time()
        return cls(pid, start, url, port, version, now, config, variables or {}, public)

    @property
    def address(self) -> str:
        """The address that clients are given."""
        return self.public or self.url

    @property
    def is_alive(self) -> bool:
        """Whether that very process still runs."""
        return process_start(self.pid) == self.start_time


class RunDir:
    """The directory in which a user's hub can be found; made on first use, for its owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def socket(self) -> Path:
        """The socket clients attach to; in a short directory of its own if this path is too long.

        Raises:
            StoreError: That directory is not ours.
        """
        return Path(socket_path(str(self.path)))

    @property
    def log(self) -> Path:
        """What a hub in the background writes to."""
        return self.path / "hub.log"

    @contextmanager
    def hold(self, deadline: float = 0.0) -> Iterator[None]:
        """Be the one hub of this user, waiting `deadline` seconds for another that is leaving.

        Raises:
            AlreadyRunningError: Another process is.
            StoreError: The lock cannot be used.
        """
        make_private(str(self.path))
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.path / "hub", deadline))
            except StoreError as error:
                if error.__cause__ is not None:  # about the file, not about a holder
                    raise
                raise AlreadyRunningError(self.read()) from None
            yield

    def write(self, state: HubState) -> None:
        """Tell others where the hub is.

        Raises:
            StoreError: It could not be written.
        """
        make_private(str(self.path))
        write_atomic(self._file, json.dumps(asdict(state), indent=2).encode() + b"\n")

    def clear(self) -> None:
        """Take the run file away; no harm if there is none, or if it must stay: its hub is gone."""
        with suppress(OSError):
            self._file.unlink()

    def read(self) -> HubState | None:
        """Give the running hub; None if there is none, or the one that wrote the file has died."""
        try:
            plain = json.loads(read_bounded(self._file))
            state = _state(plain)
        except (OSError, ValueError, TypeError, AttributeError, StoreError):
            return None
        return state if state.is_alive else None

    def token(self) -> str:
        """Give the token of the HTTP doors; made once and kept across restarts.

        Raises:
            StoreError: The file cannot be used.
        """
        make_private(str(self.path))
        file = self.path / "token"
        with suppress(FileNotFoundError):
            return _read_token(file)
        with locked(file):  # of two that make one, the second must take the first's
            with suppress(FileNotFoundError):
                return _read_token(file)
            token = secrets.token_urlsafe(TOKEN_BYTES)
            write_atomic(file, token.encode() + b"\n")
            return token

    @property
    def _file(self) -> Path:
        return self.path / "hub.json"


def process_start(pid: int) -> int | None:
    """Give when a living process started; 0 where the system does not tell, None if it is gone."""
    if sys.platform != "linux":
        return 0 if _exists(pid) else None
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The program's name stands in parentheses and may hold anything, parentheses included.
    after = line[line.rindex(b")") + 2 :].split()
    return None if after[0] in b"ZX" else int(after[19])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _state(plain: Any) -> HubState:
    """Read what some version wrote: keys we do not know are left out, those we need must be there.

    Raises:
        AttributeError, TypeError, ValueError: It is something else.
    """
    names = {member.name for member in fields(HubState)}
    members = {key: value for key, value in plain.items() if key in names}
    if not isinstance(members.get("pid"), int) or not isinstance(members.get("url"), str):
        raise ValueError("not a run file")
    return HubState(**members)


def _read_token(file: Path) -> str:
    if stat.S_IMODE(file.lstat().st_mode) & 0o077:
        raise StoreError(
            f"the token file '{file}' is open to others",
            "delete it; a new token is made at the next start",
        )
    token = read_bounded(file, 4096).decode("ascii", "replace").strip()
    if len(token) < TOKEN_SHORTEST or not all("!" <= character <= "~" for character in token):
        raise StoreError(
            f"the token file '{file}' is damaged",
            "delete it; a new token is made at the next start",
        )
    return token
