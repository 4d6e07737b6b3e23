"""The pods and deployments of one start of a hub, as the cluster itself tells of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from toolyard.executors.kubernetes.api import Api, ApiError

Manifest = dict[str, Any]
T = TypeVar("T")

_log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 30
"""After which a watch is renewed: one that is silent for longer is lost."""
_PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)
_GONE = 410
_FINAL = {403, 404}


class Sight:
    """What is known of one run: its pods, its deployment, and the last it was seen as."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.last: Manifest | None = None
        """The newest state of a pod, also after it is gone."""
        self.seen: set[str] = set()
        """The kinds of objects there were at any time."""
        self.trouble: ApiError | None = None
        """Why nothing can be known."""
        self.since_lost = 0.0
        """Since when the cluster has not answered, by the clock of the loop; 0 if it does."""
        self._news = asyncio.Event()

    @property
    def pods(self) -> list[Manifest]:
        """The pods there are now."""
        return [each for (kind, _), each in self.objects.items() if kind == "Pod"]

    @property
    def deployment(self) -> Manifest | None:
        """The deployment, if it is one."""
        return next(
            (each for (kind, _), each in self.objects.items() if kind == "Deployment"), None
        )

    def ring(self) -> None:
        """Wake those who wait for news."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def until(self, found: Callable[[], T | None], within: float) -> T | None:
        """Wait until something is found, and give it; None if it is not, in that time.

        Raises:
            ApiError: Nothing can be known of it.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    result = found()
                    if result is not None:
                        return result
                    if self.trouble is not None:
                        raise self.trouble
                    await self._news.wait()
        return found()


class Roll:
    """Follows all objects of one kind of one start, and tells each run of its own."""

    def __init__(self, api: Api, kind: str, selector: str, label: str) -> None:
        self._api = api
        self._kind = kind
        self._selector = selector
        self._label = label
        self._sights: dict[str, Sight] = {}
        self._task: asyncio.Future[None] | None = None

    def follow(self, run: str, sight: Sight) -> None:
        """Tell this sight of the objects of a run, from now on."""
        self._sights[run] = sight
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())  # noqa: TID251 - ended by `close`

    def forget(self, run: str) -> None:
        """Tell no more of it."""
        self._sights.pop(run, None)

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
        found = await self._api.list(self._kind, self._selector)
        self._found()
        names = {each["metadata"]["name"] for each in found["items"]}
        for sight in list(self._sights.values()):
            for kind, name in list(sight.objects):
                if kind == self._kind and name not in names:
                    self._take({"type": "DELETED", "object": sight.objects[kind, name]})
        for each in found["items"]:
            self._take({"type": "ADDED", "object": each})
        return str(found["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> str:
        watch = self._api.watch(self._kind, self._selector, version, WATCH_SECONDS)
        async with watch as events:
            self._found()
            async for event in events:
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._take(event)
        return version

    def _take(self, event: Manifest) -> None:
        seen = event["object"]
        # Who set which field is half of what a pod says of itself, and nobody here asks for it.
        seen["metadata"].pop("managedFields", None)
        sight = self._sights.get(seen["metadata"]["labels"].get(self._label, ""))
        if sight is None:
            return
        key = (self._kind, seen["metadata"]["name"])
        if event["type"] == "DELETED":
            sight.objects.pop(key, None)
        else:
            sight.objects[key] = seen
            sight.seen.add(self._kind)
        if self._kind == "Pod":
            sight.last = seen
        sight.ring()

    def _found(self) -> None:
        for sight in self._sights.values():
            sight.since_lost, sight.trouble = 0.0, None

    def _lost(self, error: ApiError, *, is_final: bool) -> None:
        _log.warning("no news of %s: %s", self._kind, error)
        now = asyncio.get_running_loop().time()
        for sight in self._sights.values():
            sight.since_lost = sight.since_lost or now
            sight.trouble = error if is_final else None
            sight.ring()
