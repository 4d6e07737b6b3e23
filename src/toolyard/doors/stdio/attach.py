"""The stdio entry for clients: finds the running hub, or starts one, and attaches the client to it.

Clients wait for it each time one of their windows opens, so it imports next to nothing: no
click, no asyncio, no settings.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
import time

from toolyard.console.exits import Exit
from toolyard.core.errors import ToolyardError
from toolyard.doors.stdio.attached import Attached, aside, complain
from toolyard.doors.stdio.conversation import Conversation
from toolyard.records.directories import socket_path

TYPE_CHECKING = False  # checkers know this name; to import it would cost what is saved here
if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolyard.console.context import ServeRemote, ServeStdio

STATE_PATIENCE = 5.0
"""Seconds within which a hub that can be reached must have described itself."""
STATE_PAUSE = 0.1
RUN_USER = "/run/user"
REMOVED = "Toolyard was removed: install it again, and connect your clients again"
"""The hint if there is nothing left to start; said without importing anything."""
FLAGS = (
    *("--server", "--app", "--separator", "--profile", "--agent", "--executor", "--config"),
    "--hub",
)
NOT_REMOTE = ("app", "separator", "agent", "executor", "config", "standalone")
"""Options that mean nothing to a hub that a member uses from elsewhere."""


class McpOptions:
    """The options of `toolyard mcp`."""

    def __init__(self) -> None:
        self.server = ""
        self.app = ""
        self.separator = ""
        self.profile = ""
        self.agent = ""
        self.executor = ""
        self.config = ""
        self.hub = ""
        self.standalone = False


def parse(words: list[str]) -> McpOptions | None:
    """Read the words after `mcp`; return None if only the full command line can read them."""
    options = McpOptions()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--standalone":
            options.standalone = True
        elif name in FLAGS:
            value = value if equals else next(rest, "")
            if not value or value.startswith("-"):
                return None
            setattr(options, name[2:], value)
        else:
            return None
    return options


def run(options: McpOptions, serve_stdio: ServeStdio, serve_remote: ServeRemote) -> int:
    """Serve the client on stdin and stdout until it leaves; return the exit code.

    `serve_stdio` is a hub for this client alone, and `serve_remote` one elsewhere, if it wants one.
    """
    try:
        if options.hub:
            return _remote(options, serve_remote)
        if options.standalone:
            return _standalone(options, serve_stdio)
        entry = _Entry(options)
        sock = entry.open()
    except ToolyardError as error:
        complain(str(error), error.hint)
        return int(getattr(error, "code", Exit.FAILED))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    conversation = Conversation({"version": 2, "cwd": _cwd(), **view_options(options)})
    return Attached(conversation, entry.connect, entry.revive).run(sock)


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was deleted under us


def view_options(options: McpOptions) -> dict[str, str]:
    """Return the options for the hub: which part of the yard to show, and in which view."""
    fields = {"server": options.server, "app": options.app, "separator": options.separator}
    fields |= {"profile": options.profile, "agent": options.agent, "executor": options.executor}
    return {key: value for key, value in fields.items() if value or key == "server"}


def run_dir(env: os._Environ[str] | dict[str, str]) -> str:
    """Return the hub's run directory: what `read_settings` says, only faster."""
    if env.get("TOOLYARD_RUNTIME_DIR") or sys.platform == "darwin":
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
        status = os.stat(directory)
    except OSError:
        return False
    is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022
    return is_private and os.path.isabs(directory) and status.st_uid == os.geteuid()


def _standalone(options: McpOptions, serve_stdio: ServeStdio) -> int:
    if options.server:
        raise ToolyardError(
            "--server and --standalone do not go together", "leave one out; see toolyard mcp --help"
        )
    wishes = {"cwd": _cwd(), **view_options(options)}
    serve_stdio({"config_file": options.config or None}, wishes)
    return Exit.OK


def _remote(options: McpOptions, serve_remote: ServeRemote) -> int:
    given = [name for name in NOT_REMOTE if getattr(options, name)]
    if given or (options.profile and options.server):
        raise ToolyardError(
            f"--{given[0] if given else 'profile --server'} does not go with --hub",
            "with --hub, name one --profile or one --server, or neither",
        )
    serve_remote(options.hub, options.profile, options.server)
    return Exit.OK


class _Entry:
    """Finds the hub, or starts one."""

    def __init__(self, options: McpOptions) -> None:
        self._options = options
        self._directory = run_dir(os.environ)
        self._path = socket_path(self._directory)

    def open(self) -> socket.socket:
        """Connect to the hub; start one in the background if there is none."""
        sock = self.connect()
        if sock is None:
            return self._start(self._flags())
        # In a thread: a hub that is just starting writes its description a little later.
        aside(self._compare)
        return sock

    def _compare(self) -> None:
        """Warn about what this client sets and the running hub does not use."""
        state = _read_state(self._directory)
        if self._options.config:
            _check_config(state.config, self._options.config)
        ignored = _ignored(state.variables, os.environ)
        if ignored:
            complain(
                f"the running hub has other values for {', '.join(ignored)}; "
                "it ignores those of this client",
                "set them in a terminal and run there: toolyard restart; "
                "or give this client a hub of its own: toolyard mcp --standalone",
            )

    def revive(self) -> socket.socket:
        """Start a hub like the one that has ended, unless another client has."""
        sock = self.connect()
        if sock is not None:
            return sock
        try:
            from toolyard.console.flags import as_words, recall
        except ImportError as error:
            raise ToolyardError("cannot start a hub: its files are gone", REMOVED) from error
        return self._start(as_words(recall(self._directory)) or self._flags())

    def connect(self) -> socket.socket | None:
        """Connect to the hub, if there is one."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(self._path)
        except OSError:
            sock.close()
            return None
        return sock

    def _start(self, flags: list[str]) -> socket.socket:
        from toolyard.console.background import start_until

        return start_until(self._directory, flags, self.connect)

    def _flags(self) -> list[str]:
        config = self._options.config
        return ["--config", os.path.abspath(os.path.expanduser(config))] if config else []


class _HubFacts:
    """The part of a hub's description of itself that matters to a client."""

    def __init__(self, config: str, variables: Mapping[str, object]) -> None:
        self.config = config
        """The servers file it reads."""
        self.variables = variables
        """The values in force there, by environment variable."""


def _read_state(directory: str) -> _HubFacts:
    """Return what the hub says of itself; nothing if it writes nothing in time."""
    pause, deadline = threading.Event(), time.monotonic() + STATE_PATIENCE
    while time.monotonic() < deadline:
        try:
            with open(os.path.join(directory, "hub.json"), "rb") as file:
                state = json.load(file)
                os.kill(state["pid"], 0)  # or it is that of a hub before, which has crashed
                config, variables = state.get("config", ""), state.get("variables")
                return _HubFacts(str(config), variables if isinstance(variables, dict) else {})
        except (OSError, ValueError, TypeError, KeyError):
            pause.wait(STATE_PAUSE)
    return _HubFacts("", {})


def _check_config(file: str, config: str) -> None:
    """Warn if the running hub reads another file than the one that this client names."""
    if file and os.path.realpath(file) != os.path.realpath(os.path.expanduser(config)):
        complain(
            f"the running hub reads '{file}', not '{config}'",
            "run: toolyard restart, or set TOOLYARD_HOME for a hub of its own",
        )


def _ignored(variables: Mapping[str, object], env: Mapping[str, str]) -> list[str]:
    """Return the variables that are set here and have another value in the hub."""
    differing = [
        name for name, value in variables.items() if env.get(name, value) not in ("", value)
    ]
    if not differing:
        return []
    from toolyard.core.errors import ConfigError
    from toolyard.settings import in_force, read_settings

    try:
        ours = in_force(read_settings({}, env))
    except ConfigError:
        return differing
    # One value can be written in several ways.
    return [name for name in differing if ours.get(name) != variables[name]]
