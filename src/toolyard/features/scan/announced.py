"""The source of the servers that announced themselves, in the files of projects and of the user.

A file in a project that somebody cloned is not to be trusted. What it may do is name a process of
this user that lives and listens on the loopback; all else is shown, and waits to be adopted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolyard.announce import (
    DEAD,
    ELSEWHERE,
    UNCLEAR,
    Announcements,
    Entry,
    judge,
    user_path,
)
from toolyard.core.model import Command, Endpoint, Problem, Report, Server, ServerId, Url
from toolyard.core.problems import ProblemCode
from toolyard.executors.local.holders import holds
from toolyard.executors.local.listeners import Listener, read_listeners
from toolyard.links.projects import ProjectFolders
from toolyard.records.follow import ChangeSignal, Follower

SOURCE = "announced"
SILENT = "nobody listens on port"
LOOK_SECONDS = 0.5
"""The pause between two looks at the processes and ports of announced servers."""
MOST = 200
"""Entries looked at in one file: nobody runs more, and a file may be made to hurt."""
PIDFDS = 64
"""Processes whose end is told at once; of more, the next look tells."""


@dataclass(frozen=True, slots=True)
class AnnouncedServer:
    """An entry whose process may be alive, and where it was found."""

    path: Path
    key: str
    entry: Entry
    state: str
    is_own: bool
    """True if the file is the user's, where no cloned project can write."""

    @property
    def project(self) -> str:
        """The folder of the project whose file it is in; empty for the user's own."""
        return "" if self.is_own else str(self.path.parent.parent)

    @property
    def started(self) -> str:
        """The time at which it says it started."""
        return str(self.entry.get("started_at", ""))

    @property
    def wish(self) -> str:
        """The name it wants, made fit to be shown and typed."""
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", str(self.entry.get("name") or self.key))
        return name[:48].lstrip("-") or "server"


OURSELVES = "toolyard"
"""Hubs are in the file for others; one that offered another would go round in circles."""


class Announced:
    """Reports announced servers, within a second of their coming and going.

    Their files are those of the projects and of their parents up to the root of the repository.
    """

    def __init__(
        self, projects: ProjectFolders, follower: Follower, user: Path | None = None
    ) -> None:
        self._projects = projects
        self._follower = follower
        self._user = user or user_path()
        self._changes = follower.follow(self._user)
        self._files: dict[Path, Announcements] = {}
        self._names: dict[tuple[Path, str, Any], str] = {}
        self._wake = asyncio.Event()
        self.living: dict[str, AnnouncedServer] = {}
        """Every entry whose process may be alive, by the name it has here."""

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post the first report, then a new one whenever a server came or went."""
        posted: Report | None = None
        ends = Ends(self._wake.set)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._heed(self._changes))
                group.create_task(self._heed(self._projects.changes))
                while True:
                    self._wake.clear()
                    count, paths = self._projects.changes.count, self._paths()
                    self._follower.move(self._changes, paths)
                    report, pids = await asyncio.to_thread(self._survey, paths)
                    ends.follow(pids)
                    if report != posted:
                        posted = report
                        post(report)
                    self._projects.look_done(count)
                    await self._rest(bool(pids))
        finally:
            ends.follow(set())

    async def _heed(self, changes: ChangeSignal) -> None:
        """Wake the look at every change."""
        count = changes.count
        while True:
            count = await changes.wait(count)
            self._wake.set()

    async def _rest(self, announced: bool) -> None:
        """Wait until it is time to look again: nothing tells that a process began to listen."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS if announced else None):
                await self._wake.wait()

    def _paths(self) -> list[Path]:
        return list(dict.fromkeys([*self._projects.paths(), self._user]))

    def _survey(self, paths: list[Path]) -> tuple[Report, set[int]]:
        """Look at all files and processes; give the report, and the processes it depends on."""
        problems: list[Problem] = []
        entries: list[AnnouncedServer] = []
        self._files = {path: self._files.get(path) or Announcements(path) for path in paths}
        for path, file in self._files.items():
            reading = file.read()
            if reading.problem:
                hint = "correct or remove it; the next server that announces itself sets it aside"
                problems.append(
                    Problem(ProblemCode.ANNOUNCED_UNREADABLE, reading.problem, hint, str(path))
                )
            entries += self._living(path, reading.servers)
        servers: dict[tuple[Any, Endpoint], Server] = {}
        ports = Ports(read_listeners() if entries else None)
        named = self._named(entries)
        self.living = dict(named)
        for name, announced in named:
            endpoint = _endpoint(announced, ports)
            if isinstance(endpoint, str):
                problems.append(_waiting(name, announced, endpoint))
            elif endpoint is not None:  # the same server may be in two files
                server = Server(
                    ServerId(name, SOURCE),
                    endpoint,
                    folder=announced.project or None,
                    project=announced.project,
                    local_name=announced.wish if announced.project else "",
                )
                servers.setdefault((announced.entry.get("pid"), endpoint), server)
        pids = {
            announced.entry["pid"]
            for announced in entries
            if announced.state not in (ELSEWHERE, UNCLEAR)
        }
        return Report(SOURCE, tuple(servers.values()), tuple(problems)), pids

    def _living(self, path: Path, servers: Mapping[str, object]) -> list[AnnouncedServer]:
        own = path == self._user
        judged = [
            AnnouncedServer(path, key, entry, judge(entry), own)
            for key, entry in list(servers.items())[:MOST]
            if isinstance(entry, dict) and entry.get("name") != OURSELVES
        ]
        return [server for server in judged if server.state not in (DEAD, UNCLEAR)]

    def _named(self, entries: list[AnnouncedServer]) -> list[tuple[str, AnnouncedServer]]:
        """Give each a name of its own, which it keeps: name, name-2 ... as they started."""
        ordered = sorted(entries, key=lambda server: (server.started, server.key, str(server.path)))
        ids = [(server.path, server.key, server.entry.get("pid")) for server in ordered]
        self._names = {key: self._names[key] for key in ids if key in self._names}
        taken = set(self._names.values())
        for key, server in zip(ids, ordered, strict=True):
            if key not in self._names:
                choices = (f"{server.wish}-{n}" if n > 1 else server.wish for n in range(1, 10_000))
                self._names[key] = next(name for name in choices if name not in taken)
                taken.add(self._names[key])
        return sorted(
            ((self._names[key], server) for key, server in zip(ids, ordered, strict=True)),
            key=lambda pair: pair[0],
        )


class Ends:
    """Calls back as soon as one of some processes ends, where the kernel can tell."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._fds: dict[int, int] = {}

    def follow(self, pids: set[int]) -> None:
        """Follow these processes and no others."""
        for pid in self._fds.keys() - pids:
            self._drop(pid)
        if sys.platform != "linux":
            return
        for pid in sorted(pids - self._fds.keys())[: PIDFDS - len(self._fds)]:
            with suppress(OSError):  # it has ended, or the kernel is old: the next look tells
                self._fds[pid] = os.pidfd_open(pid)
                asyncio.get_running_loop().add_reader(self._fds[pid], self._ended, pid)

    def _ended(self, pid: int) -> None:
        self._drop(pid)
        self._call()

    def _drop(self, pid: int) -> None:
        fd = self._fds.pop(pid)
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


class Ports:
    """The listeners of the loopback during one look."""

    def __init__(self, listeners: tuple[Listener, ...] | None) -> None:
        self._listeners = listeners
        """None where the system does not tell."""
        self._troubles: dict[tuple[int, int], str] = {}

    def trouble(self, port: int, pid: int) -> str:
        """Say why it is not this process that listens on a port; empty if it is.

        Whoever listens there is sent a request: it must be the server that asked for it.
        """
        if self._listeners is None:
            return ""
        if (port, pid) not in self._troubles:
            self._troubles[port, pid] = self._look(port, pid, self._listeners)
        return self._troubles[port, pid]

    def _look(self, port: int, pid: int, listeners: tuple[Listener, ...]) -> str:
        matching = [listener for listener in listeners if listener.port == port]
        if not matching:
            return f"{SILENT} {port}"
        if any(listener.uid != os.geteuid() for listener in matching):
            return f"another user listens on port {port}"
        if not holds(pid, frozenset(listener.inode for listener in matching)):
            return f"port {port} belongs to another process than its own, {pid}"
        return ""


def _waiting(name: str, server: AnnouncedServer, why: str) -> Problem:
    text = f"'{name}', announced in '{server.path}', is not offered: {why}"
    hint = f"if you trust it: toolyard scan adopt {name}"
    if why.startswith(SILENT):
        hint = "it is offered as soon as it listens there"
    return Problem(ProblemCode.ANNOUNCED_WAITS, text, hint, f"{name}@{SOURCE}")


def _endpoint(server: AnnouncedServer, ports: Ports) -> Endpoint | str | None:
    """Give how to reach a server, or why it is not to be reached, or None if there is no way."""
    if server.state == ELSEWHERE:
        return f"it runs on the host {str(server.entry.get('host'))[:64]!r}"
    if not _is_ours(server.entry):
        return "it belongs to another user"
    if not _is_proven(server):
        return "its entry does not prove that its process wrote it"
    reasons: list[str] = []
    for transport in transports_of(server.entry):
        reached = _reach(transport, server, ports)
        if not isinstance(reached, str):
            return reached
        reasons.append(reached)
    return reasons[0] if reasons else None


def transports_of(entry: Entry) -> list[Entry]:
    """Give the ways to reach a server, the first to be tried in front."""
    http, more = entry.get("http"), entry.get("transports")
    first = [{"type": "http", **http}] if isinstance(http, dict) and http.get("enabled") else []
    others = more if isinstance(more, list) else []
    return first + [transport for transport in others if _is_dict(transport)]


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _reach(transport: Entry, server: AnnouncedServer, ports: Ports) -> Endpoint | str:
    kind = transport.get("type")
    if kind == "stdio":
        return _command(transport, server)
    if kind not in ("http", "sse"):
        return f"it is reached by {str(kind)[:32]!r}, which is not spoken here"
    url = str(transport.get("url", ""))
    # References are filled in when a link opens; this text must not ask for our secrets.
    if not url.isascii() or not url.isprintable() or " " in url or "${" in url:
        return "its address is not a plain one"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "its address cannot be read"
    if parts.scheme not in ("http", "https") or parts.username is not None:
        return "its address is not a plain one"
    if not _is_loopback(host):
        return f"its address is not on the loopback: '{host}', port {port}"
    if trouble := ports.trouble(port, server.entry["pid"]):
        return trouble
    # The first writers of the format left the path out, and serve where the SDK serves.
    full = url if parts.path else parts._replace(path="/mcp").geturl()
    return Url(full, "sse" if kind == "sse" else "http")


def _command(transport: Entry, server: AnnouncedServer) -> Endpoint | str:
    argv, cwd = transport.get("command"), server.entry.get("cwd")
    if not server.is_own:
        return "it is a command to start, which a file in a project must not bring about"
    if not (isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv)):
        return "its command is not a list of texts"
    if any("${" in word for word in argv):
        return "its command is not a plain one"
    return Command(tuple(argv), cwd=cwd if isinstance(cwd, str) else None)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_ours(entry: Entry) -> bool:
    """Tell whether the process is this user's, by what the system says and not the file alone."""
    me = os.geteuid()
    if entry.get("user", me) != me:
        return False
    with suppress(OSError, ValueError, IndexError):
        # Not the owner of the directory in /proc: that is root for whoever changed its user.
        text = Path(f"/proc/{entry['pid']}/status").read_text("utf-8", "replace")
        return int(text.partition("\nUid:")[2].split()[1]) == me
    try:
        os.kill(entry["pid"], 0)
    except OSError:
        return False
    return True


def _is_proven(server: AnnouncedServer) -> bool:
    """Tell whether the process of an entry can have written it.

    A cloned file may name any pid. It cannot know when this machine was booted; and a server that
    does not say so runs in the project that it announces itself in.
    """
    if server.is_own or server.entry.get("boot_id") is not None or sys.platform != "linux":
        return True
    with suppress(OSError):
        return Path(f"/proc/{server.entry['pid']}/cwd").resolve().is_relative_to(server.project)
    return False
