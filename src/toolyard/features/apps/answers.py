"""Answers clients of one app as that app's own hub would: same tools, arguments, rows, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from msgspec import Raw

from toolyard import __version__
from toolyard.board import Board
from toolyard.core.apps import App
from toolyard.core.appstatus import AppStatus
from toolyard.core.errors import LinkError, ToolyardError
from toolyard.core.model import Offer, ServerId, Snapshot
from toolyard.core.names import QUOTED
from toolyard.executors.local.detached import InstalledApp, find_installed, launch
from toolyard.features.apps.offers import introduction, own_offers
from toolyard.features.apps.resources import describe_status, describe_tools
from toolyard.features.apps.scanner import Scan
from toolyard.features.apps.source import Apps
from toolyard.features.apps.status import describe_app
from toolyard.features.apps.texts import doctor_text, launched_text, setup_text, status_text
from toolyard.links.pool import LinkPool
from toolyard.relay.answers import error_result, text_result, unknown, withheld
from toolyard.relay.calls import Calls
from toolyard.relay.own import Look
from toolyard.relay.schema import complaints, inner_arguments
from toolyard.relay.session import ClientRequest
from toolyard.relay.view import View
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

CONNECT_SECONDS: Final = 5.0
"""The time that a call waits for a variant that is not connected yet."""

Tool = Callable[[ClientRequest, View], Awaitable[Message]]


class ScannedAppHubs:
    """The hubs of all apps that are scanned for."""

    def __init__(self, apps: Apps, board: Board, pool: LinkPool) -> None:
        self._apps = apps
        self._board = board
        self._pool = pool

    def offers(self, app: str) -> Mapping[str, tuple[Offer, ...]]:
        """Return what an app's own hub would offer; see `AppHubs`."""
        entries = self._board.snapshot.entries.values()
        variants = [entry for entry in entries if entry.server.id.source == app]
        return own_offers(self._apps.scan(app).watch.app, variants)

    def answers(self, app: str, calls: Calls, look: Look) -> AppAnswers:
        """Make what answers the clients of an app; see `AppHubs`."""
        name = self._apps.scan(app).name
        return AppAnswers(name, self._apps, self._board, self._pool, calls, look)


class AppAnswers:
    """The own tools, resources and prompts of one app."""

    def __init__(
        self, name: str, apps: Apps, board: Board, pool: LinkPool, calls: Calls, look: Look
    ) -> None:
        self._name = name
        self._apps = apps
        self._board = board
        self._pool = pool
        self._calls = calls
        self._look = look
        self._tools: dict[str, Tool] = {
            f"{name}_status": self._status,
            f"{name}_launch": self._launch,
            f"{name}_refresh": self._refresh,
            f"{name}_call": self._call,
        }

    @property
    def _scan(self) -> Scan:
        return self._apps.scan(self._name)

    @property
    def _snapshot(self) -> Snapshot:
        return self._board.snapshot

    @property
    def _env(self) -> Mapping[str, str]:
        return self._apps.env

    @property
    def _app(self) -> App:
        return self._scan.watch.app

    def introduction(self, view: View) -> str:
        """Tell a model how to work with the app."""
        return introduction(self._app, view.filter.separator)

    @property
    def identity(self) -> dict[str, str]:
        """The hub that answers: the app's own, by our version."""
        return {"name": self._name, "title": self._app.title, "version": __version__}

    async def call(self, request: ClientRequest, name: str, view: View) -> Message:
        """Run one of the app's own tools."""
        return await self._tools[name](request, view)

    async def _status(self, request: ClientRequest, view: View) -> Message:
        return text_result(status_text(self._app_status(), self._labels()))

    async def _refresh(self, request: ClientRequest, view: View) -> Message:
        await self._scan.refresh()
        self._pool.catch_up()
        ids = [id_ for id_ in self._snapshot.entries if id_.source == self._name]
        await asyncio.gather(*(self._connect(id_) for id_ in ids), return_exceptions=True)
        return await self._status(request, view)

    async def _connect(self, id_: ServerId) -> None:
        """Wait until a variant is connected, for a moment.

        Raises:
            ToolyardError: It cannot be reached.
        """
        if self._pool.ready(id_) is not None:
            return
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._pool.lease(id_)
        except TimeoutError:
            raise LinkError(f"{id_.name!r} is not ready after {CONNECT_SECONDS:g} s") from None

    # Launching.

    async def _launch(self, request: ClientRequest, view: View) -> Message:
        variant = _string(jsonrpc.fields(request.params.get("arguments", Raw(b""))).get("variant"))
        installed = self._installed()
        if not installed:
            return error_result(f"{self._app.title} is not installed on this system.")
        chosen = _choose(installed, variant)
        if chosen is None:
            labels = ", ".join(self._labels())
            return error_result(f'"{variant[:QUOTED]}" is not installed. Installed: {labels}')
        try:
            await asyncio.to_thread(launch, chosen, self._env)
        except ToolyardError as error:
            return error_result(f"{error}. {error.hint}".strip())
        return text_result(launched_text(self._app, chosen.install, view.filter.separator))

    def _installed(self) -> tuple[InstalledApp, ...]:
        return find_installed(self._app, self._env)

    def _labels(self) -> list[str]:
        return [installed.install.label for installed in self._installed()]

    # Calling.

    async def _call(self, request: ClientRequest, view: View) -> Message:
        outer = jsonrpc.fields(request.params.get("arguments", Raw(b"")))
        variant, tool = _string(outer.get("variant")), _string(outer.get("tool"))
        names = self._scan.watch.names
        if variant not in names:
            return error_result(
                f'Unknown variant "{variant[:QUOTED]}". Available variants: {", ".join(names)}'
            )
        id_ = ServerId(variant, self._name)
        try:
            await self._reach(id_)
        except ToolyardError as error:
            return error_result(f"{self._gone(variant)} ({error})")
        if id_ not in self._snapshot.entries:
            return error_result(self._gone(variant))
        return await self._forward(request, outer, self._look(view.key), variant, tool)

    def _gone(self, variant: str) -> str:
        return (
            f'Variant "{variant}" is no longer available. '
            f"Use {self._name}_status/{self._name}_refresh first."
        )

    async def _reach(self, id_: ServerId) -> None:
        """Connect to a variant, also if no scan has seen it yet."""
        if id_ not in self._snapshot.entries:
            await self._scan.refresh()
        if id_ in self._snapshot.entries:
            self._pool.catch_up()
            await self._connect(id_)

    async def _forward(
        self,
        request: ClientRequest,
        outer: Fields,
        view: View,
        variant: str,
        tool: str,
    ) -> Message:
        tools = view.tools_of(variant)
        route = tools.get(tool)
        if route is None:
            reason = withheld(self._snapshot, view.entries[variant], tool)
            if reason is not None:
                return error_result(f"{reason}. {reason.hint}")
            return error_result(unknown(f"tool of {variant!r}", tool, tools))
        arguments = inner_arguments(outer)
        wrong = complaints(route.schema, jsonrpc.to_python(arguments))
        if wrong:
            return error_result(f"the arguments do not fit {variant}'s {tool}: " + "; ".join(wrong))
        inner = {**request.params, "name": route.raw_key, "arguments": arguments}
        try:
            return await self._calls.send(request, "tools/call", inner, route, view)
        except ToolyardError as error:
            return error_result(f"{error}. {error.hint}".strip())

    # Resources and prompts.

    def read(self, uri: str, view: View) -> bytes:
        """The result of reading one of the app's own resources."""
        status = self._app_status()
        if uri.endswith("://tools"):
            body = jsonrpc.encode(describe_tools(self._app, status, view))
        else:
            body = jsonrpc.encode(describe_status(status, self._labels(), view))
        text = body.decode()
        content = {"uri": uri, "mimeType": "application/json", "text": text}
        return jsonrpc.encode({"contents": [content]})

    def prompt(self, name: str, view: View) -> bytes:
        """The result of getting one of the app's own prompts."""
        make = doctor_text if name.endswith("-doctor") else setup_text
        text = make(self._app, self._app_status(), self._labels())
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return jsonrpc.encode({"messages": [message]})

    def _app_status(self) -> AppStatus:
        return describe_app(self._apps, self._name, self._snapshot, self._pool.keepers)


def _choose(installed: tuple[InstalledApp, ...], name: str) -> InstalledApp | None:
    """The program meant by a label or by the name of a variant; the first if nothing was said."""
    if not name:
        return installed[0]
    folded = name.strip().lower()
    for candidate in installed:
        if folded in (candidate.install.label.lower(), candidate.install.variant.lower()):
            return candidate
    return None


def _string(raw: Raw | None) -> str:
    value = jsonrpc.to_python(raw) if raw is not None else ""
    return value if isinstance(value, str) else ""
