"""Make a running MCP server known in a file that any program may read.

For authors of servers. One module, standard library only: import it, or copy it into your own code.

    with announce("weather", url="http://127.0.0.1:8000/mcp"):
        uvicorn.run(app, port=8000)

The entry leaves the file before the port closes, whoever handles SIGTERM and SIGINT.

The format and its rules are an open specification: docs/reference/announce-file.md.
"""

from __future__ import annotations

import _thread
import atexit
import codecs
import contextlib
import functools
import json
import logging
import os
import secrets
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring_ascii as _quote
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

FORMAT = "1.0"
PLACE = os.path.join(".nisaba", "mcp_servers.json")
LIMIT = 8 * 1024 * 1024
"""Bytes of a file; ten thousand servers need fewer."""
LOCK_WAIT = 5.0
"""Seconds; a holder needs a millisecond, so whoever holds longer is stuck."""
LAST_WAIT = 1.0
"""Seconds a signal may be held up; an entry that stays is known as dead by its pid."""
SIGNALS_SHORTEST, SIGNALS_LONGEST = 0.05, 30.0
"""Seconds between looks whether somebody put handlers of signals over ours, growing."""
FRESH = 0.5
"""Seconds for which a process that was looked at closely is only asked whether it is there, and a
file that was cleaned up is only changed: readers leave out the dead anyway, and others wait."""

Entry = dict[str, Any]
"""A server as the file has it; whoever announced it wrote what it holds."""
_Process = tuple[Any, Any, Any, Any]
_Given = TypeVar("_Given")
LIVE, DEAD, ELSEWHERE, UNCLEAR = "live", "dead", "elsewhere", "unclear"

_plain = json.JSONEncoder(allow_nan=False).encode
_threads = threading.Lock()
_held: int | None = None
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


class Reading(NamedTuple):
    """All entries of a file, living or not, and what was wrong with it."""

    servers: dict[str, Entry]
    problem: str | None


class Announcements:
    """The servers announced in one file: safe for threads and processes, and with kill -9.

    Changes never raise: they log and give back what went wrong, or None. A server must not fail
    because nobody can find it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(os.path.abspath(default_path() if path is None else path))
        self._good, self._cleaned = b"{}", -FRESH
        self._seen: dict[_Process, float] = {}

    def register_server(self, server_id: str, server_info: Entry) -> str | None:
        """Add or replace an entry, and drop those of our dead processes."""
        return self._change(server_id, server_info, LOCK_WAIT)

    def unregister_server(self, server_id: str, wait: float = LOCK_WAIT) -> str | None:
        """Remove an entry; it need not be there."""
        return self._change(server_id, None, wait) if os.path.lexists(self.path) else None

    def list_servers(self) -> dict[str, Entry]:
        """Give the entries whose processes live on this machine; takes no lock."""
        servers = self.read().servers
        return {key: servers[key] for key, state in self._judge(servers).items() if state == LIVE}

    def read(self) -> Reading:
        """Give all entries; those of the last good reading if the file cannot be read."""
        problem = None
        for _ in range(2):  # somebody may be writing in place
            try:
                content = _read(self.path)
                servers = _parse(content)["servers"]
            except FileNotFoundError:
                self._good = b"{}"
                return Reading({}, None)
            except (OSError, ValueError) as error:
                problem = f"cannot read '{self.path}': {error}"
                _pause(0.01)
            else:
                self._good = content
                return Reading(servers, None)
        return Reading(_parse(self._good)["servers"], problem)

    def _change(self, server_id: str, entry: Entry | None, wait: float) -> str | None:
        try:
            problem = _alone(self.path, wait, lambda: self._rewrite(server_id, entry))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            problem = f"cannot change '{self.path}': {error}"
        if problem:
            log.warning("%s", problem)
        return problem

    def _rewrite(self, server_id: str, entry: Entry | None) -> str | None:
        document, text, problem = _open_document(self.path)
        servers, before = document["servers"], len(document["servers"])
        if time.monotonic() > self._cleaned + FRESH:
            self._clean(servers)
        if entry is None and server_id not in servers and len(servers) == before:
            return problem
        changed = _splice(text, servers, server_id, entry) if len(servers) == before else None
        if changed is None:
            servers[server_id] = entry
            if entry is None:
                del servers[server_id]
            changed = _text(document)
        _replace(self.path, changed.encode())
        return problem

    def _clean(self, servers: dict[str, Entry]) -> None:
        """Drop the entries of our dead processes, and what writers left that were killed."""
        user = _user()
        for key, state in self._judge(servers).items():
            if state == DEAD and servers[key].get("user", user) == user:
                del servers[key]
        _sweep(self.path)
        self._cleaned = time.monotonic()

    def _judge(self, servers: dict[str, Entry]) -> dict[str, str]:
        """Judge all entries, each process once."""
        now, host, trusted = time.monotonic(), socket.gethostname(), self._seen
        judged: dict[_Process, str] = {}
        fresh: dict[_Process, float] = {}
        verdicts = {}
        for key, entry in servers.items():
            process = _process(entry)
            try:
                if (verdict := judged.get(process)) is None:
                    until = trusted.get(process, 0.0)  # one looked at just now need only be there
                    recent = now < until and _exists(process[0])
                    verdict = judged[process] = LIVE if recent else _verdict(process, host)
                    if verdict is LIVE:
                        fresh[process] = until if recent else now + FRESH
            except TypeError:  # a list where a text should be
                verdict = UNCLEAR
            verdicts[key] = verdict
        self._seen = fresh
        return verdicts


MCPServerRegistry = Announcements
"""The name under which the format's first implementation has it."""


class Announcement:
    """One announced server, from the moment its port accepts connections until it is closed."""

    def __init__(self, file: Announcements, entry: Entry, heartbeat: float, patience: float):
        self.id = f"{entry['name']}_{entry['pid']}"
        self.problem: str | None = None
        """What went wrong, if anything did."""
        self._file, self._entry = file, entry
        self._heartbeat, self._patience = heartbeat, patience
        self._tried, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="announce", daemon=True)
        self._open = False

    def __enter__(self) -> Announcement:
        try:
            self._thread.start()
        except RuntimeError as error:  # there are too many threads
            self.problem = f"cannot announce '{self.id}': {error}"
            log.warning("%s", self.problem)
            return self
        self._open = True
        atexit.register(self.close)
        _signals.follow(self.withdraw)
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Announcement:
        return self.__enter__()

    async def __aexit__(self, *exc: object) -> None:
        import asyncio

        _signals.forget(self.withdraw)
        try:
            await asyncio.to_thread(self.close)
        except RuntimeError:  # another kind of event loop, or one that is ending
            self.close()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is announced; False if it could not be, or not in time."""
        return self._tried.wait(timeout) and self.id in self._file.read().servers

    def close(self) -> None:
        """Withdraw the entry; may be called again."""
        atexit.unregister(self.close)
        _signals.forget(self.withdraw)
        self.withdraw(LOCK_WAIT)

    def _run(self) -> None:
        try:
            if not self._await_port():
                self.problem = f"'{self.id}' accepted no connection, so it was not announced"
                return
            # Again and again: an entry that was lost with its file comes back.
            while not self._stop.is_set():
                _signals.reclaim()  # a server that takes connections has set its handlers
                self.problem = self._file.register_server(self.id, self._beat())
                self._tried.set()
                self._await_beat()
        except Exception as error:  # whatever it is, the server goes on
            self.problem = f"cannot announce '{self.id}': {error}"
        finally:
            if self.problem and not self._stop.is_set():
                log.warning("%s", self.problem)
            self._tried.set()

    def _beat(self) -> Entry:
        return {**self._entry, "heartbeat": _now()} if self._heartbeat else self._entry

    def _await_beat(self) -> None:
        """Wait until the entry is to be written again, with an eye on the handlers of signals."""
        end = time.monotonic() + self._heartbeat if self._heartbeat else None
        pause = SIGNALS_SHORTEST
        while end is None or time.monotonic() < end:
            rest = pause if end is None else min(pause, max(0.0, end - time.monotonic()))
            if self._stop.wait(rest):
                return
            _signals.reclaim()
            pause = min(pause * 2, SIGNALS_LONGEST)

    def _await_port(self) -> bool:
        end, pause = time.monotonic() + self._patience, 0.01
        while not self._stop.is_set():
            if _accepts(self._entry):
                return not self._stop.is_set()
            if time.monotonic() > end:
                break
            self._stop.wait(pause)
            pause = min(pause * 1.5, 0.5)
        return False

    def withdraw(self, wait: float) -> None:
        """Take the entry out of the file, and never put it in again."""
        if self._open and os.getpid() == self._entry["pid"]:  # a forked child must not
            self._open = False
            self._stop.set()
            self._thread.join(wait)
            self._file.unregister_server(self.id, wait)


class _Signals:
    """Sees that entries leave the file before anything else is done about SIGTERM and SIGINT.

    Servers set handlers of their own when they start, which is after their announcement began:
    these close the port, and wait for clients that wait for the entry to leave. So ours is put over
    theirs once the server takes connections. Only the main thread can do that; another signal, of
    which nobody takes notice otherwise, makes it do so wherever it is.
    """

    STOPPING = (signal.SIGTERM, signal.SIGINT)
    NUDGE = getattr(signal, "SIGURG", None)
    MOST = 32
    """Handlers of others that ours is put over; more are no server's."""

    def __init__(self) -> None:
        self._followers: list[Callable[[float], None]] = []
        self._ours: list[tuple[Any, Any]] = []
        """Our handlers, and those that they were put over."""
        self._before_nudge: Any = None

    def follow(self, withdraw: Callable[[float], None]) -> None:
        """Call this as soon as the process is told to stop; elsewhere than here it cannot be."""
        if threading.current_thread() is threading.main_thread():
            self._followers.append(withdraw)
            self._catch()
            if self.NUDGE is not None and signal.getsignal(self.NUDGE) != self._nudged:
                self._before_nudge = signal.signal(self.NUDGE, self._nudged)

    def forget(self, withdraw: Callable[[float], None]) -> None:
        """Call it no more; without any to call, the handlers are what they were."""
        if withdraw in self._followers:
            self._followers.remove(withdraw)
        if not self._followers and threading.current_thread() is threading.main_thread():
            for number in self.STOPPING:
                while (handlers := self._find(number)) is not None:
                    signal.signal(number, handlers[1])
            self._ours.clear()
            if self.NUDGE is not None and signal.getsignal(self.NUDGE) == self._nudged:
                signal.signal(self.NUDGE, self._before_nudge or signal.SIG_DFL)

    def reclaim(self) -> None:
        """Have the main thread put our handlers over those that others set; from any thread."""
        if self._followers and self.NUDGE is not None and any(map(self._is_covered, self.STOPPING)):
            main = threading.main_thread().ident
            if main is not None and signal.getsignal(self.NUDGE) == self._nudged:
                signal.pthread_kill(main, self.NUDGE)

    def _find(self, number: int) -> tuple[Any, Any] | None:
        """Give our handler of a signal and what it was put over, if it is the one in force."""
        handler = signal.getsignal(number)
        return next((pair for pair in self._ours if pair[0] is handler), None)

    def _is_covered(self, number: int) -> bool:
        idle = signal.getsignal(number) in (None, signal.SIG_IGN)
        return not idle and self._find(number) is None

    def _catch(self) -> None:
        for number in self.STOPPING:
            if self._is_covered(number) and len(self._ours) < self.MOST:
                previous = signal.getsignal(number)
                ours = functools.partial(self._stopping, previous)
                self._ours.append((ours, previous))
                signal.signal(number, ours)

    def _nudged(self, number: int, frame: Any) -> None:
        self._catch()
        if callable(self._before_nudge):
            self._before_nudge(number, frame)

    def _stopping(self, previous: Any, number: int, frame: Any) -> None:
        for withdraw in list(self._followers):
            withdraw(LAST_WAIT)
        if callable(previous):
            previous(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


_signals = _Signals()


def announce(
    name: str,
    url: str | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    transports: Iterable[Entry] = (),
    tools: Iterable[str] | None = None,
    version: str | None = None,
    nonce: str | None = None,
    stdio: bool = False,
    heartbeat: float = 30.0,
    patience: float = 60.0,
) -> Announcement:
    """Announce a server for as long as a `with` or `async with` block lasts.

    It enters the file once its port accepts connections, at the latest `patience` seconds from
    now, and leaves it on every way out: the end of the block, an exception, exit, SIGTERM, SIGINT.

    Args:
        url: The address of its MCP endpoint, with the path.
        path: The file; the project's or the user's by default, see `default_path`.
        transports: Further ways to reach it, as the specification has them.
        tools: The names of its tools.
        nonce: What it echoes, so that a client knows it has reached this very server.
        stdio: Whether it speaks on its own stdin and stdout, too.
        heartbeat: Seconds between signs of life; 0 for none.
    """
    entry = describe(
        name, url, transports=transports, tools=tools, version=version, nonce=nonce, stdio=stdio
    )
    return Announcement(Announcements(path), entry, heartbeat, patience)


def describe(
    name: str,
    url: str | None = None,
    *,
    transports: Iterable[Entry] = (),
    tools: Iterable[str] | None = None,
    version: str | None = None,
    nonce: str | None = None,
    stdio: bool = False,
) -> Entry:
    """Give the entry of a server in this process; the arguments are those of `announce`."""
    names = None if tools is None else list(tools)
    optional = {
        "start_time": (_look(os.getpid()) or (b"", None))[1],
        "boot_id": _boot_id(),
        "host": socket.gethostname(),
        "user": _user(),
        "transports": list(transports) or None,
        "capabilities": None if names is None else {"tools": {"count": len(names), "names": names}},
        "version": version,
        "nonce": nonce,
    }
    return {
        "name": name,
        "pid": os.getpid(),
        "stdio_active": stdio,
        "http": _http(url),
        "started_at": _now(),
        "cwd": _cwd(),
        **{key: value for key, value in optional.items() if value is not None},
    }


def judge(entry: Entry) -> str:
    """Tell whether the process of an entry lives: live, dead, elsewhere (not to be known), unclear.

    Permission denied means alive. Start time and boot id tell a process from a later one with its
    pid, and from processes of other machines and containers.
    """
    return _verdict(_process(entry), socket.gethostname())


def _process(entry: Any) -> _Process:
    """Give what tells the process of an entry from others."""
    get = entry.get if isinstance(entry, dict) else {}.get
    return get("pid"), get("start_time"), get("boot_id"), get("host")


def _verdict(process: _Process, hostname: str) -> str:
    pid, start, boot, host = process
    if type(pid) is not int or pid <= 0:
        return UNCLEAR
    lives = boot is None or boot == (_boot_id() or boot)
    if lives and (state := _look(pid)):
        lives = state[0] not in (b"Z", b"X") and start in (None, state[1])
    elif lives:
        lives = _exists(pid)
    if host is None or host == hostname:
        return LIVE if lives else DEAD
    # The name of a machine may change; the same process since the same boot is the same.
    return LIVE if lives and boot is not None and start is not None else ELSEWHERE


def project_paths(folder: str | os.PathLike[str]) -> list[Path]:
    """Give the files of a project: of a folder and its parents up to the root of its repository."""
    start = Path(os.path.abspath(folder))
    folders = [start, *start.parents]
    root = next((n for n, candidate in enumerate(folders) if (candidate / ".git").exists()), 0)
    return [candidate / PLACE for candidate in folders[: root + 1]]


def user_path() -> Path:
    """Give the file of the user, for servers of no project."""
    if own := os.environ.get("TOOLYARD_HOME"):
        return Path(own) / "state" / "mcp_servers.json"
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        state = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        state = os.path.join(home, "Library", "Application Support")
    else:
        state = os.environ.get("XDG_STATE_HOME", "")
        state = state if os.path.isabs(state) else os.path.join(home, ".local", "state")
    return Path(state) / "toolyard" / "mcp_servers.json"


def default_path() -> Path:
    """Give the file below the working directory, or the user's where there can be no project.

    That is the home directory, the root of the file system, and where we may not write.
    """
    cwd = _cwd()
    no_project = {os.path.expanduser("~"), os.path.abspath(os.sep)}
    if os.path.realpath(cwd) in map(os.path.realpath, no_project) or not os.access(cwd, os.W_OK):
        return user_path()
    return Path(cwd) / PLACE


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return os.path.expanduser("~")


def _pause(seconds: float) -> None:
    """Wait a moment where there is nothing to wait on; always inside a loop that ends."""
    time.sleep(seconds)  # noqa: TID251 - no event loop here


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _user() -> int | str:
    """Give who we are: a number where users have numbers."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    return os.getuid()


@functools.cache
def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return None


def _http(url: str | None) -> Entry:
    """Give the `http` part; a server that listens everywhere is reached on the loopback."""
    try:
        parts = urlsplit(url or "")
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:  # which is told once it is knocked at
        host, port = "", 0
    if url and host in ("0.0.0.0", "::"):  # noqa: S104 - it is compared, not bound
        url = url.replace("[::]" if host == "::" else host, "localhost", 1)
    if not url:
        return {"enabled": False}
    return {"enabled": True, "host": host, "port": port, "url": url}


def _accepts(entry: Entry) -> bool:
    """Tell whether a server takes connections; one that has neither port nor socket is ready."""
    paths = [
        transport["path"]
        for transport in entry.get("transports", ())
        if transport.get("type") == "unix"
    ]
    try:
        if entry["http"]["enabled"]:
            parts = urlsplit(entry["http"]["url"])
            if not parts.hostname:
                raise ValueError(f"'{entry['http']['url']}' is not an address")
            port = parts.port or entry["http"]["port"]
            socket.create_connection((parts.hostname, port), timeout=1.0).close()
        elif paths:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(paths[0])
    except OSError:
        return False
    return True


def _look(pid: int) -> tuple[bytes, int] | None:
    """Give the state of a process and its start in clock ticks after boot, where Linux tells."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | _BINARY)
        try:
            text = os.read(fd, 4096)
        finally:
            os.close(fd)
        fields = text.rpartition(b")")[2].split(None, 20)  # a name may have blanks and brackets
        return fields[0], int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def _exists(pid: int) -> bool:
    if sys.platform == "win32":  # where os.kill(pid, 0) is Ctrl-C
        import ctypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        if not (handle := kernel.OpenProcess(0x100000, False, pid)):  # SYNCHRONIZE
            return bool(ctypes.get_last_error() == 5)  # access denied
        waiting = kernel.WaitForSingleObject(handle, 0)
        kernel.CloseHandle(handle)
        return bool(waiting == 0x102)  # it has not ended
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _after_fork() -> None:
    """Free a child of the locks that other threads of its parent held."""
    global _threads, _held
    _threads = threading.Lock()
    if _held is not None:
        os.close(_held)
        _held = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _alone(path: Path, seconds: float, work: Callable[[], _Given]) -> _Given:
    """Do something while holding the lock file beside a file.

    That is never deleted: two could hold two of one name.
    """
    global _held
    lock = _threads
    if not lock.acquire(timeout=seconds):
        raise TimeoutError(f"another thread changed it for {seconds:g} seconds")
    try:
        _held = fd = _open_lock(path)
        if _lock(fd, take=True):
            return _release_after(fd, work)
        return _in_turn(fd, seconds, work)
    finally:
        _held = None
        lock.release()


def _in_turn(fd: int, seconds: float, work: Callable[[], _Given]) -> _Given:
    """Wait for the lock in a thread, for flock has no deadline, and work there: no turn is idle.

    To try again and again would take the processor from whoever holds it.
    """
    claim, ended = threading.Lock(), threading.Lock()
    outcome: list[Any] = []
    ended.acquire()

    def take() -> None:
        while not (_lock(fd, take=True, patient=True) or claim.locked()):
            _pause(0.01)  # only on Windows, where one cannot wait
        if not claim.acquire(blocking=False):  # it comes too late
            return _release_after(fd, lambda: None)
        try:
            outcome[:] = _release_after(fd, work), None
        except BaseException as error:
            outcome[:] = None, error
        return ended.release()

    try:
        with contextlib.suppress(RuntimeError):  # the interpreter is ending: no more threads
            _thread.start_new_thread(take, ())
            ended.acquire(timeout=seconds)
    finally:
        late = claim.acquire(blocking=False)
    if late:
        raise TimeoutError(f"another process held the lock for {seconds:g} seconds")
    if not outcome:  # it began in time, and is at it
        ended.acquire()
    result, error = outcome
    if error:
        raise error
    return result  # type: ignore[no-any-return]


def _release_after(fd: int, work: Callable[[], _Given]) -> _Given:
    try:
        return work()
    finally:
        _lock(fd, take=False)  # a child forked meanwhile may have the descriptor, too
        os.close(fd)


def _open_lock(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | _NO_FOLLOW | _NO_WAIT | _BINARY
    try:
        return os.open(f"{path}.lock", flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(f"{path}.lock", flags, 0o600)


def _lock(fd: int, take: bool, patient: bool = False) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK if take else msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            how = fcntl.LOCK_EX if patient else fcntl.LOCK_EX | fcntl.LOCK_NB
            fcntl.flock(fd, how if take else fcntl.LOCK_UN)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _read(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | _NO_WAIT | _BINARY)  # a pipe must not hold us up
    try:
        status, content = os.fstat(fd), b""
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        while len(content) <= LIMIT and (more := os.read(fd, min(status.st_size, LIMIT) + 1)):
            content += more
    finally:
        os.close(fd)
    if len(content) > LIMIT:
        raise OSError(f"it is larger than {LIMIT} bytes")
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse)


def _decoded(content: bytes) -> str:
    """Decode without the codec 'utf-8-sig': its first use opens a file, and there may be none."""
    return content.removeprefix(codecs.BOM_UTF8).decode()


def _parse(content: bytes) -> Entry:
    """Give the document.

    Raises:
        ValueError: It is none.
        OSError: It is of a later format, which is not ours to change.
    """
    try:
        document = _decoder.decode(_decoded(content))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(document, dict) or not isinstance(document.setdefault("servers", {}), dict):
        raise ValueError("it has no object called 'servers'")
    if str(document.setdefault("version", FORMAT)).split(".")[0] != FORMAT.split(".")[0]:
        raise OSError(f"it has version {document['version']!r}, and {FORMAT} is what we know")
    return document


def _open_document(path: Path) -> tuple[Entry, str, str | None]:
    """Give the document to change, and its text.

    One that cannot be read is set aside, and that is told.
    """
    if os.path.islink(path):
        raise OSError("it is a symbolic link")
    for pause in (0.02, 0.05, 0.1):  # for those who write in place
        try:
            content = _read(path)
            return _parse(content), _decoded(content), None
        except FileNotFoundError:
            return {"version": FORMAT, "servers": {}}, "", None
        except ValueError as error:
            why = error
            _pause(pause)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.corrupt-{stamp}-{secrets.token_hex(3)}")
    os.rename(path, aside)
    problem = f"'{path}' was no announce file ({why}); it was set aside as '{aside.name}'"
    return {"version": FORMAT, "servers": {}}, "", problem


def _replace(path: Path, content: bytes) -> None:
    """Put a whole new file in the place of the old: any reader and any crash sees one of them."""
    if len(content) > LIMIT:
        raise OSError(f"it would be larger than {LIMIT} bytes")
    folder, name = os.path.split(path)
    temp = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, 0o600)
    try:
        try:
            with contextlib.suppress(FileNotFoundError):
                if sys.platform != "win32":
                    os.fchmod(fd, stat.S_IMODE(os.lstat(path).st_mode))
            while content:
                content = content[os.write(fd, content) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        _rename(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp)
        raise


def _rename(temp: str, path: Path) -> None:
    for last in [False] * 50 + [True]:
        try:
            os.replace(temp, path)
            break
        except PermissionError:
            if last or sys.platform != "win32":
                raise
            _pause(0.01)  # on Windows, somebody may be reading it just now
    if sys.platform != "win32":
        fd = os.open(os.path.dirname(path), os.O_RDONLY | _BINARY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sweep(path: Path) -> None:
    """Remove what writers left that were killed."""
    start = f".{path.name}."
    for name in os.listdir(path.parent):
        if name.startswith(start) and name.endswith(".tmp"):
            pid = name[len(start) :].partition("-")[0]
            if not (pid.isdigit() and _exists(int(pid))):
                with contextlib.suppress(OSError):
                    os.unlink(path.parent / name)


_HEAD, _END, _TAIL = f'{{\n  "version": "{FORMAT}",\n  "servers": {{', "\n    }", "\n  }\n}"


def _splice(text: str, servers: Entry, key: str, entry: Entry | None) -> str | None:
    """Change one entry in a text that is laid out as ours are; None if it is not.

    No string of JSON has a line break in it, so lines and margins tell where entries begin and end.
    """
    name, count = f"\n    {_quote(key)}: ", len(servers)
    start = text.find(name)
    ours = text.startswith(_HEAD) and text.endswith(_END + _TAIL)
    if not (ours and text.count('\n    "') == text.count(_END) == count):
        return None
    if (start >= 0) != (key in servers) or (entry is None and count == 1):
        return None
    new = "" if entry is None else name + _text(entry, "    ")
    if start < 0:
        return f"{text[: -len(_TAIL)]},{new}{_TAIL}"
    end = text.index(_END, start) + len(_END)
    if not new and text[end] == ",":
        end += 1
    elif not new:  # the last one takes the comma before it along
        start -= 1
    return text[:start] + new + text[end:]


def _text(value: Any, margin: str = "") -> str:
    """Write as `json.dumps(value, indent=2)` does, in a fifth of its time: the lock is held."""
    inner = margin + "  "
    if type(value) is str:
        return _quote(value)
    if value and isinstance(value, dict):
        lines = [
            # Texts and numbers, which are most of it, without a call of this.
            f"{inner}{_quote(key)}: "
            f"{_quote(v) if type(v) is str else repr(v) if type(v) is int else _text(v, inner)}"
            for key, v in value.items()
        ]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if value and isinstance(value, (list, tuple)):
        return "[\n" + ",\n".join([inner + _text(item, inner) for item in value]) + f"\n{margin}]"
    return _plain(value)
