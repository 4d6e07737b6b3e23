"""A client that stays attached while hubs come and go: lines both ways, and the change between.

One thread carries the client's lines to the hub. The other, the main one, carries the hub's lines
to the client, and finds the next hub when this one has ended.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
import time

from toolyard.console.exits import Exit
from toolyard.core.errors import ToolyardError
from toolyard.doors.stdio.conversation import HOLDING, Conversation, is_request, pong, read, refusal

TYPE_CHECKING = False  # checkers know this name; to import it would cost what is saved here
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 256 * 1024
LONGEST = 64 * 1024 * 1024
"""Bytes of a client's line that are kept until it ends; no hub takes one as long."""
MOST_HELD = 32 * 1024 * 1024
"""Bytes of requests that wait for the next hub."""
FAREWELL = 10.0
"""Seconds that the hub has for its last answers after the client closed its side."""
LOOK = 0.1
"""Seconds between two checks that the client still reads them."""
RESTART_PATIENCE = 45.0
"""Seconds until a hub that is restarted must be back: what is under way ends, then its servers do,
and then the new one starts."""
CRASH_PATIENCE = (0.1, 1.0)
"""Seconds, at random between these, in which somebody else may start the next hub after one that
crashed: a service manager may, and of many clients one is enough."""
FAILED_PAUSE = 5.0
"""Seconds after a start that failed in which requests get its error and no further start."""
PAUSES = (0.05, 0.25, 1.0)
"""Seconds between two attempts to connect: at first, while a hub is expected, while none is."""
FOREVER = float("inf")


class Attached:
    """Serves the client on stdin and stdout through one hub after another."""

    def __init__(
        self,
        conversation: Conversation,
        connect: Callable[[], socket.socket | None],
        start: Callable[[], socket.socket],
    ) -> None:
        self._conversation = conversation
        self._connect = connect
        self._start = start
        self._turn = threading.Condition()
        """Held while bytes go to the hub, and to change any of what follows."""
        self._sock: socket.socket | None = None
        self._crashed = 0
        """The process of a hub that ended without a word: for a moment, its socket outlives it."""
        self._first: list[bytes] = []
        """The lines that a new hub gets before any other."""
        self._holds = False
        """True while requests wait for the next hub although this one is still there."""
        self._held: list[bytes] = []
        self._is_input_over = False
        self._why = ""
        self._failed_at = -FAILED_PAUSE
        self._output = threading.Lock()

    def run(self, sock: socket.socket) -> int:
        """Pass lines until the client leaves; return the exit code."""
        hub: socket.socket | None = sock
        self._enter(sock)
        aside(self._send)
        try:
            while hub is not None:
                self._receive(hub)
                self._lose(hub)
                hub = self._find_next()
                if hub is not None:
                    self._enter(hub)
        except BrokenPipeError:
            return Exit.OK  # nobody reads any more: the client is gone
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
        return Exit.OK

    # From the hub to the client.

    def _enter(self, sock: socket.socket) -> None:
        """Attach to a hub: tell it what the one before knew, and the client of the change."""
        with self._turn:
            news = self._conversation.announce_changes()
            self._first = [self._conversation.introduce(), *self._held]
            for line in self._held:
                self._conversation.note_message(read(line), line)
            self._held.clear()
            self._holds, self._sock = False, sock
        # The hub may answer before it has read all: the thread that receives must not send.
        aside(self._pass_on)
        self._tell(news)

    def _receive(self, sock: socket.socket) -> None:
        """Pass the hub's lines to the client until the hub ends."""
        cutter = LineCutter()
        while data := _take(sock):
            lines = [line for line in cutter.cut(data) if self._conversation.note_hub_line(line)]
            self._tell(b"".join(lines))
            if self._conversation.leaving == "restart" and not self._holds:
                self._holds = True
                aside(self._pass_on, HOLDING)

    def _lose(self, sock: socket.socket) -> None:
        """Tell the client that no answer will come, or wait for one of the next hub."""
        _shut(sock, socket.SHUT_RDWR)  # which wakes the thread that sends, so that it is our turn
        self._crashed = 0 if self._conversation.leaving else _process_behind(sock)
        with self._turn:
            self._sock = None
            news = self._conversation.end_hub(repeats=not self._is_input_over)
        sock.close()
        self._tell(news)

    def _tell(self, lines: bytes) -> None:
        if lines:
            with self._output:
                write_stdout(lines)

    # From the client to the hub.

    def _send(self) -> None:
        """Pass the client's lines to the hub until they end; its answers then get some time."""
        cutter = LineCutter(LONGEST)
        while data := read_stdin():
            self._pass_on(*cutter.cut(data))
        self._is_input_over = True
        self._pass_on(cutter.rest())
        deadline = time.monotonic() + FAREWELL
        pause = threading.Event()
        while _is_read() and time.monotonic() < deadline:
            pause.wait(LOOK)
            if self._sock is None:  # they come from the next hub, which has to be found first
                deadline = time.monotonic() + FAREWELL
        with self._turn:
            if self._sock is not None:
                _shut(self._sock, socket.SHUT_RDWR)  # which wakes the thread that receives

    def _pass_on(self, *lines: bytes) -> None:
        """Send lines to the hub; while it is away, requests wait and notifications are dropped."""
        with self._turn:
            going = [line for line in lines if line and self._goes(line)]
            if self._is_input_over:
                self._turn.notify()
            if self._sock is None:
                return
            going, self._first = [*self._first, *going], []
            if not _has_sent(self._sock, b"".join(going)):
                self._take_back(going)
            elif self._is_input_over:
                _shut(self._sock, socket.SHUT_WR)

    def _goes(self, line: bytes) -> bool:
        """Note a line; return False if the hub that is there does not get it."""
        is_away = self._sock is None
        if not is_away and not self._holds and self._conversation.note_call(line):
            return True
        message = read(line)
        if is_request(message) and (is_away or self._holds):
            self._hold(message, line)
            return False
        self._conversation.note_message(message, line)
        return not is_away

    def _take_back(self, lines: list[bytes]) -> None:
        """Keep the requests that the hub, which is gone, certainly did not get."""
        for line in lines:
            if is_request(message := read(line)):
                self._conversation.forget_request(message)
                self._hold(message, line)

    def _hold(self, message: dict[str, object], line: bytes) -> None:
        """Keep a request for the next hub, unless there is a better answer."""
        if message["method"] == "ping":
            self._tell(pong(message))
        elif time.monotonic() < self._failed_at + FAILED_PAUSE:
            self._tell(refusal(message, self._why))
        elif sum(map(len, self._held)) + len(line) > MOST_HELD:
            self._tell(refusal(message, "too many requests are waiting for the hub to come back"))
        else:
            self._held.append(line)
            self._turn.notify()

    # From one hub to the next.

    def _find_next(self) -> socket.socket | None:
        """Return a connection to the next hub; None once the client has left."""
        leaving, self._conversation.leaving = self._conversation.leaving, ""
        if leaving == "stop":
            hub = self._rest()
        else:
            hub = self._look(RESTART_PATIENCE if leaving else _at_random(*CRASH_PATIENCE))
            self._crashed = 0  # a hub that still listens has only hung up
        while hub is None and not self._is_left():
            try:
                hub = self._start()
            except ToolyardError as error:
                self._refuse(error)
                hub = self._rest()
        return hub

    def _look(self, seconds: float, longest: float = PAUSES[1]) -> socket.socket | None:
        """Wait for a hub that somebody else starts, for so many seconds at most."""
        deadline, pause = time.monotonic() + seconds, PAUSES[0]
        while not self._is_left():
            hub = self._connect_to_living()
            if hub is not None or time.monotonic() > deadline:
                return hub
            with self._turn:
                if seconds == FOREVER and self._held:
                    return None
                self._turn.wait(pause)
            pause = min(pause * 1.5, longest)
        return None

    def _connect_to_living(self) -> socket.socket | None:
        """Connect to a hub, but not to the one that has just crashed."""
        hub = self._connect()
        if hub is None or not self._crashed or _process_behind(hub) != self._crashed:
            return hub
        hub.close()
        return None

    def _rest(self) -> socket.socket | None:
        """Wait for a hub that somebody else starts, until the client asks for something.

        Whoever stopped the hub wants it stopped: an idle client does not start another.
        """
        return self._look(FOREVER, PAUSES[2])

    def _is_left(self) -> bool:
        return (self._is_input_over and not self._held) or not _is_read()

    def _refuse(self, error: ToolyardError) -> None:
        """Refuse the requests that wait: no hub could be started; the next one tries again."""
        complain(str(error), error.hint)
        self._why = f"there is no hub: {error}" + (f"; {error.hint}" if error.hint else "")
        with self._turn:
            self._failed_at = time.monotonic()
            answers = b"".join([refusal(read(line), self._why) for line in self._held])
            self._held.clear()
        self._tell(answers)


class LineCutter:
    """Cuts bytes into whole lines; one that is too long is given in pieces."""

    def __init__(self, longest: int = sys.maxsize) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def cut(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, with their ends."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return [self.rest()] if self._size > self._longest else []
        self._parts.append(data[:end])
        whole = self.rest()
        self._keep(data[end:])
        lines, start = [], 0
        while (end := whole.find(b"\n", start) + 1) > 0:
            lines.append(whole[start:end])
            start = end
        return lines

    def rest(self) -> bytes:
        """Return what is not yet a line."""
        whole = b"".join(self._parts)
        self._parts, self._size = [], 0
        return whole

    def _keep(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)


def complain(text: str, hint: str) -> None:
    """Write on stderr what went wrong; stdout belongs to MCP."""
    print(f"toolyard: {text}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr, flush=True)


def aside(work: Callable[..., None], *args: bytes) -> None:
    """Run a function in a thread of its own, for as long as the process lives."""
    threading.Thread(target=work, args=args, daemon=True).start()


def _at_random(least: float, most: float) -> float:
    return least + (most - least) * os.urandom(1)[0] / 255


def _shut(sock: socket.socket, how: int) -> None:
    try:
        sock.shutdown(how)
    except OSError:
        return  # the other side was quicker


def _process_behind(sock: socket.socket) -> int:
    """Return the id of the process that listens at the other end; 0 where nobody tells."""
    if sys.platform != "linux":
        return 0
    return int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder)


def _has_sent(sock: socket.socket, data: bytes) -> bool:
    """Send all; return False if the other side was gone before the first byte.

    If it goes meanwhile, nobody knows how much it got; the thread that receives notices.
    """
    sent = 0
    try:
        sent = sock.send(data)
        if sent < len(data):
            sock.sendall(memoryview(data)[sent:])
    except OSError:
        return sent > 0
    return True


def _is_read() -> bool:
    """Tell whether somebody still reads our answers: a client that was killed does not."""
    poll = select.poll()
    poll.register(1, 0)  # errors are always told
    return not poll.poll(0)


def read_stdin() -> bytes:
    """Return the next bytes of the client; none once it has closed its side."""
    while True:
        try:
            return os.read(0, CHUNK)
        except BlockingIOError:  # some clients share a pipe that does not block
            select.select([0], [], [])
        except OSError:
            return b""  # a stdin that cannot be read is one that has ended


def write_stdout(data: bytes) -> None:
    """Write all to the client."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(1, rest) :]
        except BlockingIOError:
            select.select([], [1], [])


def _take(sock: socket.socket) -> bytes:
    try:
        return sock.recv(CHUNK)
    except OSError:
        return b""
