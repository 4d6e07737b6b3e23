"""Watches the pods and deployments of one start of a hub."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from toolyard.executors.kubernetes.api import Api, ApiError
from toolyard.executors.kubernetes.container import Manifest

T = TypeVar("T")

_log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 30
"""The time after which a watch is renewed; one that is silent for longer is lost."""
_PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)
_GONE = 410
_FINAL = {403, 404}


class PodState:
    """The state of one run: its pods, its deployment, and the last state of a pod."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.last: Manifest | None = None
        """The newest pod, also after it is gone."""
        self.kinds: set[str] = set()
        """The kinds of objects that existed at any time."""
        self.trouble: ApiError | None = None
        """The error because of which nothing can be known."""
        self.since_lost = 0.0
        """The time of the loop at which the cluster stopped answering; 0 while it answers."""
        self._news = asyncio.Event()

    @property
    def pods(self) -> list[Manifest]:
        """The pods that exist now."""
        return self._of_kind("Pod")

    @property
    def deployment(self) -> Manifest | None:
        """The deployment, if there is one."""
        return next(iter(self._of_kind("Deployment")), None)

    def _of_kind(self, kind: str) -> list[Manifest]:
        return [item for (item_kind, _), item in self.objects.items() if item_kind == kind]

    def ring(self) -> None:
        """Wake all who wait for a change."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def until(self, probe: Callable[[], T | None], within: float) -> T | None:
        """Wait until `probe` returns something, and return it; None if it does not in time.

        Raises:
            ApiError: Nothing can be known.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    result = probe()
                    if result is not None:
                        return result
                    if self.trouble is not None:
                        raise self.trouble
                    await self._news.wait()
        return probe()


class PodWatch:
    """Follows all objects of one kind of one start, and updates the state of each run."""

    def __init__(self, api: Api, kind: str, selector: str, label: str) -> None:
        self._api = api
        self._kind = kind
        self._selector = selector
        self._label = label
        self._states: dict[str, PodState] = {}
        self._task: asyncio.Future[None] | None = None

    def follow(self, run: str, state: PodState) -> None:
        """Update this state with the objects of a run, from now on."""
        self._states[run] = state
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())  # noqa: TID251 - ended by `close`

    def forget(self, run: str) -> None:
        """Stop updating the state of a run."""
        self._states.pop(run, None)

    async def close(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        failures, version = 0, ""
        while True:
            try:
                version = version or await self._list()
                version = await self._watch(version)
                failures = 0
            except ApiError as error:
                version = ""
                if error.status == _GONE:
                    continue
                # A token that has expired is renewed by the next list, unless it fails too.
                self._lost(error, is_final=error.status in ({401} if failures else set()) | _FINAL)
                await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    async def _list(self) -> str:
        listed = await self._api.list(self._kind, self._selector)
        self._answered()
        names = {item["metadata"]["name"] for item in listed["items"]}
        for state in list(self._states.values()):
            for kind, name in list(state.objects):
                if kind == self._kind and name not in names:
                    self._take({"type": "DELETED", "object": state.objects[kind, name]})
        for item in listed["items"]:
            self._take({"type": "ADDED", "object": item})
        return str(listed["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> str:
        watch = self._api.watch(self._kind, self._selector, version, WATCH_SECONDS)
        async with watch as events:
            self._answered()
            async for event in events:
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._take(event)
        return version

    def _take(self, event: Manifest) -> None:
        item = event["object"]
        # Half of a pod's description is about who set which field, and nothing here needs it.
        item["metadata"].pop("managedFields", None)
        state = self._states.get(item["metadata"]["labels"].get(self._label, ""))
        if state is None:
            return
        key = (self._kind, item["metadata"]["name"])
        if event["type"] == "DELETED":
            state.objects.pop(key, None)
        else:
            state.objects[key] = item
            state.kinds.add(self._kind)
        if self._kind == "Pod":
            state.last = item
        state.ring()

    def _answered(self) -> None:
        for state in self._states.values():
            state.since_lost, state.trouble = 0.0, None

    def _lost(self, error: ApiError, *, is_final: bool) -> None:
        _log.warning("no news of %s: %s", self._kind, error)
        now = asyncio.get_running_loop().time()
        for state in self._states.values():
            state.since_lost = state.since_lost or now
            state.trouble = error if is_final else None
            state.ring()
