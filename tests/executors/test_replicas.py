"""Sweeping: only what belongs to this replica, or to one that is gone, is removed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.e2e.hub import environment, toolyard
from tests.executors.replicas import alone, replica
from toolyard.app.replica import make_replica
from toolyard.core.ports import Executor
from toolyard.core.replicas import Replica
from toolyard.core.sites import Site
from toolyard.executors.docker import Docker, spec
from toolyard.executors.kubernetes import Kubernetes, manifests
from toolyard.records.holding import find_beside, live_beside
from toolyard.records.identity import hub_identity, replica_identity
from toolyard.settings import read_settings

HUB = "the-yard"
OBJECTS = {
    "mine-before": (HUB, "one"),
    "of-two": (HUB, "two"),
    "of-three": (HUB, "three"),
    "of-old": (HUB, ""),
    "of-another-yard": ("another-yard", "two"),
}
"""Names of what is there, with the hub and the replica of each; before replicas had none."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeApi:
    """The objects of a daemon or a cluster, in one process."""

    def __init__(self, hub: str, replica_: str, start: str) -> None:
        self.objects = {
            name: {key: value for key, value in labels.items() if value}
            for name, (owner, id_) in OBJECTS.items()
            for labels in ({hub: owner, replica_: id_, start: f"start-of-{name}"},)
        }

    async def docker(self, request: web.Request) -> web.StreamResponse:
        """Answer as the Engine API does."""
        path = re.sub(r"^/v[0-9.]+", "", request.path)
        if path == "/containers/json":
            wanted = json.loads(request.query["filters"])["label"][0]
            rows = [
                {"Id": name, "Names": [f"/{name}"], "Labels": {**labels, spec.SERVER: name}}
                for name, labels in self.objects.items()
                if wanted in {f"{key}={value}" for key, value in labels.items()}
            ]
            return web.json_response(rows)
        if request.method == "DELETE":
            self.objects.pop(path.rpartition("/")[2])
            return web.Response(status=204)
        if path.startswith("/containers/"):
            return web.json_response({"message": "no such container"}, status=404)
        return web.json_response({"ApiVersion": "1.43", "ID": "fake", "Version": "27.0"})

    async def kubernetes(self, request: web.Request) -> web.StreamResponse:
        """Answer as a cluster that has pods alone."""
        if request.method == "DELETE":
            self.objects.pop(request.path.rpartition("/")[2])
            return web.json_response({"kind": "Status"})
        selector = request.query["labelSelector"]
        pods = [
            {"metadata": {"name": name, "labels": labels}, "status": {}}
            for name, labels in self.objects.items()
            if _matches(selector, labels)
        ]
        items = pods if request.path.endswith("/pods") else []
        return web.json_response({"items": items, "metadata": {"resourceVersion": "1"}})


def _matches(selector: str, labels: dict[str, str]) -> bool:
    for term in selector.split(","):
        key, differs, value = re.fullmatch(r"([^!=]+)(!?)=(.*)", term).groups()  # type: ignore[union-attr]
        if (labels.get(key) == value) == bool(differs):
            return False
    return True


@asynccontextmanager
async def served(handler: Handler, path: Path) -> AsyncIterator[int]:
    """An HTTP server that answers everything so, at a socket and at a port; its port."""
    runner = web.ServerRunner(web.Server(handler))  # type: ignore[arg-type]
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        await web.UnixSite(runner, path).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def docker(me: Replica, home: Path) -> AsyncIterator[tuple[Executor, FakeApi]]:
    """An executor of docker, and what its daemon has."""
    api = FakeApi(spec.HUB, spec.REPLICA, spec.START)
    async with served(api.docker, home / "socket"):
        executor = Docker(Site("yard", "docker", f"unix://{home}/socket", ()), me)
        yield executor, api
        await executor.close()


@asynccontextmanager
async def kubernetes(me: Replica, home: Path) -> AsyncIterator[tuple[Executor, FakeApi]]:
    """An executor of Kubernetes, and what its cluster has."""
    api = FakeApi(manifests.HUB, manifests.REPLICA, manifests.START)
    async with served(api.kubernetes, home / "socket") as port:
        cluster = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}
        context: dict[str, Any] = {"name": "here", "context": {"cluster": "here", "user": "me"}}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "contexts": [context],
            "users": [{"name": "me", "user": {"token": "not-a-real-token"}}],
            "current-context": "here",
        }
        (home / "kubeconfig").write_text(json.dumps(config))
        options = (("kubeconfig", str(home / "kubeconfig")),)
        executor = Kubernetes(Site("yard", "kubernetes", "", options), me)
        yield executor, api
        await executor.close()


EXECUTORS = pytest.mark.parametrize("place", [docker, kubernetes], ids=["docker", "kubernetes"])


@EXECUTORS
async def test_a_second_replica_removes_nothing_of_the_first(place: Any, home: Path) -> None:
    async with place(replica(HUB, "one", "two", "three"), home) as (executor, api):
        assert len(await executor.sweep()) == 2
        assert api.objects.keys() == {"of-two", "of-three", "of-another-yard"}


@EXECUTORS
async def test_what_replicas_that_are_gone_left_is_removed(place: Any, home: Path) -> None:
    async with place(replica(HUB, "one", "three"), home) as (executor, api):
        assert len(await executor.sweep()) == 3
        assert api.objects.keys() == {"of-three", "of-another-yard"}


@EXECUTORS
async def test_while_nobody_knows_who_lives_a_replica_removes_its_own_alone(
    place: Any, home: Path
) -> None:
    async def unknown() -> None:
        return None

    async with place(Replica(HUB, "one", unknown), home) as (executor, api):
        assert len(await executor.sweep()) == 1
        assert api.objects.keys() == OBJECTS.keys() - {"mine-before"}


@EXECUTORS
async def test_a_replica_that_comes_while_another_sweeps_loses_nothing(
    place: Any, home: Path
) -> None:
    live = {"one"}

    async def who_lives() -> frozenset[str]:
        answer = frozenset(live)
        live.add("four")  # and starts something at once
        api.objects["of-four"] = dict(api.objects["of-another-yard"])
        hub, id_ = (key for key in api.objects["of-four"] if not key.endswith("start"))
        api.objects["of-four"] |= {hub: HUB, id_: "four"}
        return answer

    async with place(Replica(HUB, "one", who_lives), home) as (executor, api):
        await executor.sweep()
        assert api.objects.keys() == {"of-four", "of-another-yard"}


@EXECUTORS
async def test_a_hub_alone_removes_all_that_its_yard_left(place: Any, home: Path) -> None:
    async with place(alone(HUB), home) as (executor, api):
        assert len(await executor.sweep()) == 4
        assert api.objects.keys() == {"of-another-yard"}


def test_a_hub_keeps_its_name_and_two_at_different_places_have_two(home: Path) -> None:
    hub = hub_identity(home / "state")
    assert hub == hub_identity(home / "state") != hub_identity(home / "other")
    here = replica_identity(hub, home / "run")
    assert here == replica_identity(hub, home / "run") != replica_identity(hub, home / "run2")
    assert here != replica_identity("another", home / "run")


async def test_a_hub_beside_the_one_that_was_named_has_another_name(home: Path) -> None:
    settings = read_settings({}, {"TOOLYARD_HOME": str(home), "TOOLYARD_REPLICA": "hub-1"})
    hub = make_replica(settings, is_sole=True)
    beside = make_replica(settings, is_sole=False)

    assert hub.id == "hub-1"
    assert hub.id not in await beside.find_gone([hub.id])


async def test_a_hub_that_starts_sweeps_what_a_standalone_hub_left_but_not_what_it_runs(
    home: Path,
) -> None:
    settings = read_settings({}, {"TOOLYARD_HOME": str(home)})
    hub = make_replica(settings, is_sole=True)
    beside = make_replica(settings, is_sole=False)

    with live_beside(settings.state_dir, beside.id):
        assert await hub.find_gone([beside.id]) == {hub.id}
    assert await hub.find_gone([beside.id]) == {hub.id, beside.id}


def test_a_standalone_hub_is_known_as_long_as_it_lives(home: Path) -> None:
    state = read_settings({}, {"TOOLYARD_HOME": str(home)}).state_dir
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}
    with subprocess.Popen(
        toolyard("mcp", "--standalone"),
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        assert len(find_beside(state)) == 1
        process.kill()

    assert find_beside(state) == frozenset()
    assert [*(state / "beside").iterdir()] == []
