"""The stdio entry for clients: attaches to the running hub and passes bytes both ways.

Clients wait for it each time one of their windows opens, so it imports next to nothing: no
click, no asyncio, no settings.
"""

from __future__ import annotations

import json
import os
import select
import socket
import stat
import sys
import threading
import time

from toolyard.cli.exits import Exit
from toolyard.core.errors import ToolyardError
from toolyard.stores.places import socket_path

CHUNK = 256 * 1024
FAREWELL = 10.0
"""Seconds the hub has to say its last words after the client has said its own."""
LOOK = 0.1
"""Seconds between looks whether the client still reads them."""
RUN_USER = "/run/user"
FLAGS = ("--server", "--app", "--separator", "--profile", "--agent", "--executor", "--config")


class Wish:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.server = ""
        self.app = ""
        self.separator = ""
        self.profile = ""
        self.agent = ""
        self.executor = ""
        self.config = ""
        self.standalone = False


def parse(words: list[str]) -> Wish | None:
    """Read the words after `mcp`; None if there is anything that needs a full reading."""
    wish = Wish()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--standalone":
            wish.standalone = True
        elif name in FLAGS:
            value = value if equals else next(rest, "")
            if not value or value.startswith("-"):
                return None
            setattr(wish, name[2:], value)
        else:
            return None
    return wish


def run(wish: Wish) -> int:
    """Serve the client on stdin and stdout until one side ends; give the exit code."""
    try:
        if wish.standalone:
            return _standalone(wish)
        sock = _open(wish)
    except ToolyardError as error:
        complain(str(error), error.hint)
        return int(getattr(error, "code", Exit.FAILED))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    with sock:
        return _pump(sock, preamble(_cwd(), wish))


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was deleted under us


def complain(text: str, hint: str) -> None:
    """Say on stderr what went wrong; stdout belongs to MCP."""
    print(f"toolyard: {text}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr, flush=True)


def preamble(cwd: str, wish: Wish) -> bytes:
    """The one line that tells the hub who is coming; messages follow."""
    said = {"version": 1, "cwd": cwd, **wishes(wish)}
    return json.dumps({"toolyard": said}).encode() + b"\n"


def wishes(wish: Wish) -> dict[str, str]:
    """What the hub must know of the wish: which part of the yard to show, and how."""
    said = {"server": wish.server, "app": wish.app, "separator": wish.separator}
    said |= {"profile": wish.profile, "agent": wish.agent, "executor": wish.executor}
    return {key: value for key, value in said.items() if value or key == "server"}


def run_dir(env: os._Environ[str] | dict[str, str]) -> str:
    """Where the hub's run directory is: what `read_settings` says, only faster."""
    if env.get("TOOLYARD_RUNTIME_DIR") or sys.platform in ("win32", "darwin"):
        from toolyard.settings import read_settings

        return str(read_settings({}, env).runtime_dir)
    if home := env.get("TOOLYARD_HOME", ""):
        return os.path.abspath(os.path.expanduser(home)) + "/run"
    runtime = env.get("XDG_RUNTIME_DIR", "").strip() or f"{RUN_USER}/{os.geteuid()}"
    if _is_own(runtime):
        return f"{runtime.rstrip('/')}/toolyard"
    state = env.get("XDG_STATE_HOME", "").strip()
    if not os.path.isabs(state):
        state = (env.get("HOME") or os.path.expanduser("~")) + "/.local/state"
    return f"{state.rstrip('/')}/toolyard/run"


def _is_own(directory: str) -> bool:
    try:
        seen = os.stat(directory)
    except OSError:
        return False
    private = stat.S_ISDIR(seen.st_mode) and not seen.st_mode & 0o022
    return private and os.path.isabs(directory) and seen.st_uid == os.geteuid()


def _standalone(wish: Wish) -> int:
    if wish.server:
        raise ToolyardError(
            "--server and --standalone do not go together", "leave one out; see toolyard mcp --help"
        )
    from toolyard.cli.serving import serve_stdio

    serve_stdio({"config_file": wish.config or None}, wishes(wish))
    return Exit.OK


def _open(wish: Wish) -> socket.socket:
    """Connect to the hub; start one in the background if there is none."""
    if not hasattr(socket, "AF_UNIX"):
        raise ToolyardError("this system has no Unix sockets", "run: toolyard mcp --standalone")
    directory = run_dir(os.environ)
    path = socket_path(directory)
    sock = _connect(path)
    if sock is not None:
        if wish.config:
            _check_config(directory, wish.config)
        return sock
    from toolyard.cli.background import start_until

    flags = ["--config", os.path.abspath(os.path.expanduser(wish.config))] if wish.config else []
    return start_until(directory, flags, lambda: _connect(path))


def _connect(path: str) -> socket.socket | None:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        return None
    return sock


def _check_config(directory: str, config: str) -> None:
    """Say so if the hub that runs reads another file than the one that was asked for."""
    try:
        with open(os.path.join(directory, "hub.json"), "rb") as file:
            has = json.load(file).get("config", "")
    except (OSError, ValueError, AttributeError):
        return
    if has and os.path.realpath(has) != os.path.realpath(os.path.expanduser(config)):
        complain(
            f"the hub that is running reads '{has}', not '{config}'",
            "run: toolyard restart, or set TOOLYARD_HOME for a hub of its own",
        )


def _pump(sock: socket.socket, first: bytes) -> int:
    said_all, over = threading.Event(), threading.Event()
    up = threading.Thread(target=_send, args=(sock, first, said_all, over), daemon=True)
    up.start()
    try:
        _receive(sock)
    except BrokenPipeError:
        return Exit.OK  # nobody reads any more: the client is gone
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    finally:
        over.set()
    if said_all.is_set():
        return Exit.OK
    complain("the hub went away", "start the client's connection again; it starts a new hub")
    return Exit.FAILED


def _send(
    sock: socket.socket, first: bytes, said_all: threading.Event, over: threading.Event
) -> None:
    try:
        sock.sendall(first)
        while data := _read():
            sock.sendall(data)
        said_all.set()
        sock.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + FAREWELL
        while not over.wait(LOOK) and time.monotonic() < deadline and _is_read():
            pass
        if not over.is_set():
            sock.shutdown(socket.SHUT_RDWR)  # which wakes the one who receives
    except OSError:
        return  # the hub is gone; the one who receives says so


def _is_read() -> bool:
    """Whether somebody still reads our answers: a client that was killed does not."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(1, 0)  # errors are always told
    return not poll.poll(0)


def _read() -> bytes:
    while True:
        try:
            return os.read(0, CHUNK)
        except BlockingIOError:  # some clients share a pipe that does not block
            select.select([0], [], [])
        except OSError:
            return b""  # a stdin that cannot be read is one that has ended


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(1, rest) :]
        except BlockingIOError:
            select.select([], [1], [])


def _receive(sock: socket.socket) -> None:
    while True:
        try:
            data = sock.recv(CHUNK)
        except ConnectionError:
            return
        if not data:
            return
        _write(data)
