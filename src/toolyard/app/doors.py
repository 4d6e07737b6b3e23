"""The doors of a running hub: HTTP, the socket, and the way to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from toolyard import __version__
from toolyard.announce import Announcements, describe, user_path
from toolyard.app.house import House
from toolyard.app.listening import Listeners
from toolyard.core import watches
from toolyard.core.caller import Caller, TurnedAway
from toolyard.core.errors import StoreError, UnknownNameError
from toolyard.core.model import Problem, Report
from toolyard.core.opened_hub import OpenedHub
from toolyard.core.problems import ProblemCode
from toolyard.doors.http.address import EVERYWHERE, open_url, problems_of, public_hosts
from toolyard.doors.http.door import HttpDoor
from toolyard.doors.http.gate import NAMES, Gate, admit_member
from toolyard.doors.http.late_app import LateApp
from toolyard.doors.http.probes import ProbeDoor
from toolyard.doors.http.server import HttpServer
from toolyard.doors.http.tls import TlsFiles, renew_tls
from toolyard.doors.http.unread import Unread
from toolyard.doors.page.page_sessions import PageSessions
from toolyard.doors.stdio.socket_door import SocketDoor
from toolyard.features.authorization.preview import PathViews
from toolyard.features.hub.links import PageLinks
from toolyard.features.members.source import find_identity, make_page_logins
from toolyard.features.servers.picture import problems
from toolyard.features.tokens.store import TokensFile
from toolyard.records.runfile import HubState, RunDir
from toolyard.relay.guests import Guests
from toolyard.settings import in_force

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from toolyard.features.members.page_login import PageLogins
    from toolyard.relay.view import View

log = logging.getLogger(__name__)

PICTURE_SECONDS: Final = 2.0
"""The time that the doors stay shut for files that cannot be read in time."""


async def open_doors(
    house: House,
    place: RunDir,
    listeners: Listeners,
    token: str,
    ready: Callable[[OpenedHub], None] | None,
) -> None:
    """Serve all doors of a house until it is told to stop; `ready` gets what has opened."""
    settings, stop, port = house.settings, house.stopping, listeners.door.port
    house.board.post(Report("doors", problems=tuple(problems_of(settings, port))))
    door = HttpDoor(
        house.board,
        house.relay,
        house.fleet.make_session_ids(lambda session: door.end_elsewhere(session)),
        sessions=settings.session_limit,
        idle_seconds=settings.session_idle,
    )
    house.dismissals.listen(door.dismiss)
    house.dismissals.listen_for_ends(door.end_sessions)
    unread = Unread(settings.unread_limit, asyncio.get_running_loop().time)
    server = _make_server(house, door, listeners, token, unread)
    house.dismissals.listen(lambda _is_gone: server.review())
    lines = SocketDoor(
        house.relay,
        house.projects,
        house.readiness,
        place.socket,
        settings.client_message_limit,
        unread,
        lambda: stop.comes_back,
    )
    opened, closing = asyncio.Event(), asyncio.Event()
    house.pool.hold_back()
    with _Signals(stop):
        async with (
            _probed(house, listeners.probes, opened, unread),
            _open_to_peers(house, listeners.peers, unread),
            asyncio.TaskGroup() as group,
        ):
            await _wait_first_picture(house)
            await house.fleet.join()
            attached = group.create_task(_attach(house, place, lines, opened, closing))
            sweeping = group.create_task(door.sweep())
            serving = group.create_task(server.run(listeners.served, closing))
            group.create_task(_drain(house, server, settings.drain_delay, closing))
            await opened.wait()
            house.pool.let_in()
            renewing = group.create_task(_renew(house, listeners.door.tls))
            await _be_found(house, place, port, serving, ready)
            await attached
            sweeping.cancel()
            renewing.cancel()


async def _renew(house: House, tls: TlsFiles | None) -> None:
    """Take a new certificate whenever there is one."""
    if tls is not None:
        await renew_tls(tls, house.follower, house.board.post)


def _make_server(
    house: House, door: HttpDoor, listeners: Listeners, token: str, unread: Unread
) -> HttpServer:
    """The HTTP doors behind their gate."""
    settings, sessions, port = house.settings, PageSessions(), listeners.door.port
    logins = make_page_logins(house.yard, house.fleet.seal, house.url, house.grants)

    def link() -> str:
        return f"{open_url(settings, port)}/open?code={sessions.new_code()}"

    house.yard.parts.add(PathViews(partial(_look, door)))
    house.yard.parts.add(PageLinks(link))
    return HttpServer(
        _make_gate(house, listeners, token, sessions, logins),
        door,
        LateApp(lambda: _make_rest(house, sessions, logins)),
        unread,
        limit=settings.client_message_limit,
        connections=settings.connection_limit,
        takes_forms=logins is not None,
    )


@asynccontextmanager
async def _probed(
    house: House, sock: socket.socket | None, opened: asyncio.Event, unread: Unread
) -> AsyncIterator[None]:
    """While inside, answer probes on a port of their own, if there is one."""
    if sock is None:
        yield
        return

    def has_started() -> bool:
        return opened.is_set() and house.readiness.is_settled()

    async with asyncio.TaskGroup() as group:
        probing = group.create_task(ProbeDoor(has_started, house.stopping, unread).run(sock))
        yield
        probing.cancel()


@asynccontextmanager
async def _open_to_peers(
    house: House, sock: socket.socket | None, unread: Unread
) -> AsyncIterator[None]:
    """While inside, serve what other replicas pass on, if there is a door for them."""
    passes = house.fleet.passes
    if sock is None or passes is None or house.fleet.leases is None:
        yield
        return
    from toolyard.doors.http.peer_door import PeerDoor
    from toolyard.links.lending import LentLinks

    relay, limit = house.relay, house.settings.client_message_limit
    guests = Guests(lambda: relay.subscriptions.sessions, house.fleet.replica.id)
    lent = LentLinks(house.pool, house.instances, house.fleet.leases, house.stopping.is_set)
    door = PeerDoor(relay, guests, passes, lent, unread, limit)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(door.run(sock))
        yield
        serving.cancel()
        await lent.close()


def _make_gate(
    house: House,
    listeners: Listeners,
    token: str,
    sessions: PageSessions,
    logins: PageLogins | None,
) -> Gate:
    """The gate that every request over HTTP passes."""
    settings = house.settings
    here = [f"{name}:{listeners.here.port}" for name in NAMES]
    return Gate(
        EVERYWHERE.get(settings.host, settings.host),
        listeners.door.port,
        token,
        (*settings.allowed_hosts, *public_hosts(settings), *here),
        (*settings.allowed_origins, *((settings.public,) if settings.public else ())),
        is_page=sessions.admits,
        find_agent=house.yard.part(TokensFile).find,
        is_reached_as=house.sites.is_reached_as,
        people=find_identity(house.yard),
        open_paths=[page.path for page in house.pages],
        find_member=logins.recognise if logins is not None else lambda _key, _path: None,
    )


async def _drain(house: House, server: HttpServer, seconds: float, closing: asyncio.Event) -> None:
    """Let the doors close, once whoever balances between hubs had time to notice that we leave."""
    await house.stopping.wait()
    server.leave()
    house.fleet.wake()
    await asyncio.sleep(seconds)
    closing.set()


async def _attach(
    house: House, place: RunDir, lines: SocketDoor, opened: asyncio.Event, closing: asyncio.Event
) -> None:
    """Serve whoever comes to the socket; where none can be made, the other doors open anyway."""
    try:
        await lines.run(opened.set, closing)
    except OSError as error:
        say_unfindable(house, place, f"cannot listen in '{place.path}' ({error.strerror or error})")
        opened.set()


def say_unfindable(house: House, place: RunDir, why: str) -> None:
    """Tell that others may not find this hub; whoever knows its address is served."""
    text = f"{why}; HTTP is served, but `toolyard mcp` and other commands may not find this hub"
    hint = "make that directory writable or free some space, then start the hub again"
    problem = Problem(ProblemCode.RUN_DIR, text, hint, str(place.path))
    house.board.post(Report("run-dir", problems=(problem,)))


async def _be_found(
    house: House,
    place: RunDir,
    port: int,
    serving: asyncio.Task[None],
    ready: Callable[[OpenedHub], None] | None,
) -> None:
    """Tell others where the hub is for as long as it serves."""
    try:
        place.write(_state(house, port))
    except StoreError as error:
        say_unfindable(house, place, str(error))
    announced = Announcing(house.url)
    await announced.begin()
    if ready is not None:
        link = house.yard.part(PageLinks).new()
        ready(OpenedHub(house.public, link, tuple(problems(house.board.snapshot))))
    await serving
    await announced.end()


def _state(house: House, port: int) -> HubState:
    """The hub's description of itself."""
    apps = [scan.watch.app for scan in house.apps.scans.values()]
    variables = in_force(house.settings) | watches.in_force(apps, os.environ)
    config = str(house.settings.config_file)
    return HubState.of_this_process(house.url, port, __version__, config, variables, house.public)


async def _wait_first_picture(house: House) -> None:
    """Wait until the files have been read: whoever comes in then sees all that is known."""
    files = {"configured", "catalog"}
    if not await house.board.wait_until(
        lambda snapshot: files <= snapshot.sources.keys(), PICTURE_SECONDS
    ):
        log.warning("the doors open before all files were read")


def _look(door: HttpDoor, path: str, caller: Caller) -> View:
    """Return what a caller sees at a path of the MCP door."""
    refused = admit_member(caller, path)
    if isinstance(refused, TurnedAway):
        raise UnknownNameError(refused.text)
    return door.look(path, caller)


def _make_rest(house: House, sessions: PageSessions, logins: PageLogins | None) -> ASGIApp:
    """The application of all doors but MCP's, with all that it alone needs."""
    from toolyard.app.rest import make_rest

    return make_rest(house, sessions, logins)


class Announcing:
    """The hub makes itself known, as it wants servers to."""

    def __init__(self, url: str) -> None:
        self._file = Announcements(user_path())
        self._id = f"toolyard_{os.getpid()}"
        self._entry = describe("toolyard", f"{url}/mcp", version=__version__)

    async def begin(self) -> None:
        """Enter the file; a failure is logged there and costs nothing else."""
        await asyncio.to_thread(self._file.register_server, self._id, self._entry)

    async def end(self) -> None:
        """Leave the file."""
        await asyncio.to_thread(self._file.unregister_server, self._id)


class _Signals:
    """While inside, SIGTERM and SIGINT ask the hub to stop; a second one ends it at once."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    def _asked(self) -> None:
        if self._stop.is_set():
            os._exit(130)
        self._stop.set()
