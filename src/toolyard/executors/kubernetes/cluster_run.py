"""One server in a cluster, from its first object to its last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress

from toolyard.core.errors import StartError
from toolyard.core.model import Url
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.executors.kubernetes import manifests, state
from toolyard.executors.kubernetes.api import REQUEST_SECONDS, Api, ApiError
from toolyard.executors.kubernetes.attach import PROTOCOLS, QUERY, PodChild
from toolyard.executors.kubernetes.container import Manifest
from toolyard.executors.kubernetes.context import is_inside
from toolyard.executors.kubernetes.forward import forward
from toolyard.executors.kubernetes.manifests import GRACE, Ownership
from toolyard.executors.kubernetes.options import Options
from toolyard.executors.kubernetes.pod_watch import PodState, PodWatch
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through

_log = logging.getLogger(__name__)

_EOF_WAIT = 2.0  # for a server to exit by itself once its stdin is closed
_STATUS_WAIT = 4.0  # a node checks its containers once a second, and then informs the cluster
_GONE_WAIT = 15.0
_LOST_AFTER = 20.0  # seconds without an answer of the cluster, after which it counts as lost
_LOG_LINES = 200


class ClusterRun:
    """One server and its objects."""

    def __init__(
        self,
        api: Api,
        options: Options,
        watches: dict[str, PodWatch],
        run: Run,
        name: str,
        log: LogFile | None,
    ) -> None:
        self._api = api
        self._options = options
        self._watches = watches
        self._run = run
        self._name = name
        self._log = log
        self._is_kept = bool(run.placement.port) and not run.owner  # by a deployment
        self._created: list[tuple[str, str]] = []
        self._state = PodState()
        self._stack = AsyncExitStack()
        self._child: PodChild | None = None
        self._relaying: asyncio.Future[None] | None = None

    @property
    def where(self) -> str:
        """The place it runs at, for people."""
        kind = "deployment" if self._is_kept else "pod"
        return f"{kind} {self._api.namespace}/{self._name}"

    async def begin(self, ownership: Ownership) -> Pipes | Address:
        """Create its objects, wait until it runs, and connect to it.

        Raises:
            StartError: It could not be started.
        """
        for kind in ("Pod", "Deployment") if self._is_kept else ("Pod",):
            self._watches[kind].follow(self._name, self._state)
        # Uninterrupted: nobody would know what a request that was cut short has done.
        await through(self._make(ownership))
        verdict: Manifest | StartError | None = await self._state.until(
            self._verdict, self._options.wait
        )
        if verdict is None:
            raise StartError(
                f'"{self._run.name}" did not start within {self._options.wait} s as {self.where}: '
                + state.pending(self._state.pods),
                'see what it waits for there; the option "wait" gives it more time',
            )
        if isinstance(verdict, StartError):
            raise verdict
        return await (self._address(verdict) if self._run.placement.port else self._attach(verdict))

    async def stop(self) -> set[tuple[str, str]]:
        """Close its stdin, then delete its objects; return those that could not be deleted."""
        try:
            with suppress(ApiError):
                await self._ask()
            leftovers = await self._delete()
            if not leftovers and self._created:
                with suppress(ApiError, TimeoutError):
                    async with asyncio.timeout(_GONE_WAIT):
                        await self._clear()
            return leftovers
        finally:
            for watch in self._watches.values():
                watch.forget(self._name)
            await self._let_go()

    async def _make(self, ownership: Ownership) -> None:
        run, name = self._run, self._name
        if run.command.env:
            await self._create(manifests.secret(run, ownership, name))
        if run.placement.network == "none":
            await self._create(manifests.isolation(run, ownership, name))
        if not self._is_kept:
            await self._create(manifests.pod(run, self._options, ownership, name))
            return
        deployed = await self._create(manifests.deployment(run, self._options, ownership, name))
        uid = deployed["metadata"]["uid"]
        await self._create(manifests.service(run, ownership, name, uid))
        if self._options.expose == "ingress":
            await self._create(manifests.ingress(run, self._options, ownership, name, uid))

    async def _create(self, manifest: Manifest) -> Manifest:
        self._created.append((manifest["kind"], self._name))
        return await self._api.create(manifest)

    def _verdict(self) -> Manifest | StartError | None:
        """Return the pod once it can be used, or the error if it never can."""
        for pod in self._state.pods:
            trouble = state.trouble(pod, self._run.name)
            if trouble is not None:
                return trouble
            if self._run.placement.port:
                if state.is_ready(pod):
                    return pod
                if not self._is_kept and state.is_over(pod):
                    return self._failure(f"it {state.why_over(pod)}: {state.last_words(pod)}")
            elif state.is_running(pod) or state.is_over(pod):
                return pod
        if self._state.deployment is not None and not self._state.pods:
            refusal = state.refusal(self._state.deployment)
            return self._api.refusal(403, refusal) if refusal else None
        if "Pod" in self._state.kinds and not self._state.pods and not self._is_kept:
            return self._failure("its pod was deleted")
        return None

    def _failure(self, why: str) -> StartError:
        return StartError(
            f'"{self._run.name}" did not start as {self.where}: {why}',
            "see its log and the events of its pod",
        )

    async def _attach(self, pod: Manifest) -> Pipes:
        child = self._child = PodChild(self.where, self._log)
        try:
            if state.is_over(pod):
                raise self._failure(state.why_over(pod))
            socket = await self._stack.enter_async_context(
                self._api.socket(self._name, "attach", QUERY, PROTOCOLS)
            )
        except StartError:
            # It may have ended before we attached: its end is reported like any other.
            over = await self._state.until(self._over, _STATUS_WAIT)
            if over is None:
                raise
            child.take_log(await self._early())
            child.report_end(state.why_over(over))
            return child
        child.take_log(await self._early())
        self._relaying = asyncio.ensure_future(  # noqa: TID251 - ended by `stop`
            self._relay(child, child.relay(socket))
        )
        return child

    async def _relay(self, child: PodChild, relaying: Coroutine[None, None, None]) -> None:
        try:
            await relaying
        finally:
            child.report_end(await self._why(child))

    async def _why(self, child: PodChild) -> str:
        with suppress(ApiError):
            over = await self._state.until(self._over, _STATUS_WAIT)
            if over is not None:
                return state.why_over(over)
        return "lost the connection to its pod" + (
            f": {child.stream_error}" if child.stream_error else ""
        )

    async def _early(self) -> bytes:
        """Return its output from before we attached; without any request yet, it is for people."""
        try:
            return await self._api.log(self._name, _LOG_LINES)
        except ApiError as error:
            _log.debug("no log of %s: %s", self.where, error)
            return b""

    async def _address(self, pod: Manifest) -> Address:
        placement, api = self._run.placement, self._api
        expose = self._options.expose or ("service" if is_inside() else "forward")
        if expose == "ingress" and self._is_kept:
            base = manifests.ingress_address(self._run, self._options)
        elif expose == "service" or is_inside():
            host = f"{self._name}.{api.namespace}.svc" if self._is_kept else pod["status"]["podIP"]
            base = f"http://{host}:{placement.port}"
        else:
            way = forward(api, self._pick, placement.port)
            base = f"http://127.0.0.1:{await self._stack.enter_async_context(way)}"
        return Address(Url(base + placement.path), self.where, self._ended)

    def _pick(self) -> str:
        """Return the pod to connect to now."""
        pods = sorted(self._state.pods, key=state.is_ready, reverse=True)
        if not pods:
            raise self._failure("there is no pod of it")
        return str(pods[0]["metadata"]["name"])

    def _ended(self) -> str:
        pod_state = self._state
        if pod_state.since_lost:
            lost = asyncio.get_running_loop().time() - pod_state.since_lost > _LOST_AFTER
            return "lost the connection to its cluster" if lost else ""
        if self._is_kept:
            if pod_state.deployment is None and "Deployment" in pod_state.kinds:
                return "was ended: its deployment was deleted"
            stuck = [state.trouble(pod, self._run.name) for pod in pod_state.pods]
            return str(stuck[0]) if stuck and all(stuck) else ""
        over = self._over()
        return state.why_over(over) if over is not None else ""

    def _over(self) -> Manifest | None:
        """Return the pod, if its server has ended."""
        pod = self._state.last
        if pod is None or not (state.is_over(pod) or self._is_gone()):
            return None
        return pod

    def _is_gone(self) -> bool:
        return not self._state.objects

    async def _ask(self) -> None:
        if self._child is not None and self._relaying is not None and not self._relaying.done():
            self._child.close_input()
            await self._state.until(self._over, _EOF_WAIT)

    async def _delete(self) -> set[tuple[str, str]]:
        left = list(reversed(self._created))
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                while left:
                    await self._remove(*left[0])
                    left.pop(0)
        except (ApiError, TimeoutError) as error:
            _log.warning("%s is left until the cluster answers: %s", self.where, error)
        return set(left)

    async def _remove(self, kind: str, name: str) -> None:
        try:
            await self._api.delete(kind, name, grace=GRACE if kind == "Pod" else None)
        except ApiError as error:
            if error.is_passing:
                raise
            _log.warning("%s %s cannot be deleted: %s", kind, name, error)

    async def _clear(self) -> None:
        """Wait until none of its objects is left.

        A node may take ten seconds to report that a pod is cleaned up when nothing of it runs any
        more: such a pod is deleted without waiting for that.
        """
        done: set[str] = set()
        while not self._is_gone():
            over = await self._state.until(lambda: self._stale(done), _GONE_WAIT)
            for name in over or ():
                await self._api.delete("Pod", name, grace=0)
                done.add(name)

    def _stale(self, done: set[str]) -> list[str] | None:
        """Return the pods that wait for cleanup; [] if there are no pods, None if one runs."""
        over = [pod for pod in self._state.pods if state.is_stale(pod)]
        names = [pod["metadata"]["name"] for pod in over]
        fresh = [name for name in names if name not in done]
        return fresh if fresh or self._is_gone() else None

    async def _let_go(self) -> None:
        if self._relaying is not None:
            self._relaying.cancel()
            await asyncio.wait([self._relaying])
        await self._stack.aclose()
        if self._child is not None:
            self._child.close()
