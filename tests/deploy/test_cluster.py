"""The chart in a real cluster: three replicas and PostgreSQL, called and upgraded under load.

The cluster is that of `scripts/kube`, with the real API server, controllers, kubelet and
kube-proxy. It is older than what the chart is for: a PodDisruptionBudget is of the version before
there, with the same fields. NetworkPolicies are taken, and nothing enforces them.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.test_chart import plain
from tests.doors.doors import TOKEN, Doors
from tests.executors.kubernetes.site import HERE, Cluster, find
from tests.fixtures.hubs import order, send
from tests.fleet.balanced import running_servers
from tests.fleet.fleet import KEY
from tests.fleet.load import Outcomes, calling, progressed
from tests.fleet.mixed import FOLLOWERS, check, mixed_load
from tests.fleet.test_upgrade import NEWER
from toolyard.records.postgres.schema import STEPS

pytestmark = [pytest.mark.executors, pytest.mark.k8s, pytest.mark.timeout(3600)]

SPACE = "toolyard"
REPLICAS = 3
BETWEEN = int(os.environ.get("TOOLYARD_FLEET_CALLS", "1500"))
"""Calls that end before and after the upgrade."""
PATIENCE = 900.0
OLDER = {"policy/v1": "policy/v1beta1"}
"""Versions of kinds as the cluster has them."""
SCHEMA = "/opt/toolyard/lib/python3*/site-packages/toolyard/records/postgres/schema.py"
NEXT = f"""
FROM toolyard:latest
USER root
COPY newer.py /tmp/
RUN cat /tmp/newer.py >> $(echo {SCHEMA})
USER 10001:10001
"""
"""The next version: one more change of the tables."""


def images() -> Path:
    """The folder with the images; skips by name where they were not made."""
    named = os.environ.get("TOOLYARD_KUBE_IMAGES", "")
    folder = Path(named)
    if not named or not (folder / "toolyard.tar").exists():
        pytest.skip("no images: scripts/kube/images.sh makes them, make test-k8s does")
    return folder


def manifests(state: Path) -> list[dict[str, Any]]:
    """The chart with its own database, three replicas, and what an administrator adds."""
    objects = list(plain("with-postgresql.yaml").values())
    for manifest in objects:
        manifest["apiVersion"] = OLDER.get(manifest["apiVersion"], manifest["apiVersion"])
        if manifest["kind"] == "Deployment":
            manifest["spec"]["replicas"] = REPLICAS
    return [_secret(), _volume(state), *objects]


def _secret() -> dict[str, Any]:
    values = {"token": TOKEN, "key": KEY, "database-password": secrets.token_hex(12)}
    data = {name: b64encode(value.encode()).decode() for name, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "toolyard"}, "data": data}


def _volume(state: Path) -> dict[str, Any]:
    """A place for the database: nothing in this cluster makes one when it is asked for."""
    folder = state / "volume"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "toolyard"},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": str(folder)},
        },
    }


class Release:
    """The chart, installed."""

    def __init__(self, cluster: Cluster, doors: Doors) -> None:
        self.cluster = cluster
        self.doors = doors

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        """Run a command in the namespace of the release."""
        return await self.cluster.kubectl("--namespace", SPACE, *words, stdin=stdin)

    async def rolled_out(self) -> None:
        """Wait until all replicas are of the present version, and no other is left."""
        patience = f"--timeout={PATIENCE:.0f}s"
        for name in ("statefulset/toolyard-postgresql", "deployment/toolyard"):
            await self.kubectl("rollout", "status", name, patience)
        await until(self._is_alone)

    async def _is_alone(self) -> bool:
        return len(await self.pods()) == REPLICAS

    async def pods(self) -> dict[str, str]:
        """The images of all replicas, also of those that are leaving, by name."""
        selector = "app.kubernetes.io/name=toolyard"
        pods = await self.cluster.items("pods", SPACE, selector)
        return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in pods}

    async def steps_done(self) -> int:
        """The number of steps that the tables have gone."""
        query = "SELECT schema FROM toolyard.yard"
        psql = f'PGPASSWORD="$POSTGRES_PASSWORD" psql -h 127.0.0.1 -U toolyard -tAc "{query}"'
        words = ("exec", "toolyard-postgresql-0", "--", "sh", "-c", psql)
        return int(await self.kubectl(*words))


@asynccontextmanager
async def installed() -> AsyncIterator[Release]:
    """The chart in the cluster, removed in the end."""
    cluster, folder = find(), images()
    for image in ("toolyard", "postgres"):
        await cluster.docker("load", "--input", str(folder / f"{image}.tar"))
    await cluster.kubectl("create", "namespace", SPACE)
    try:
        text = yaml.safe_dump_all(manifests(cluster.state))
        await cluster.kubectl("--namespace", SPACE, "apply", "-f", "-", stdin=text)
        service = await cluster.kubectl("get", "service", "-n", SPACE, "toolyard", "-o", "json")
        address = json.loads(service)["spec"]["clusterIP"]
        release = Release(cluster, Doors(7420, Path(), address, f"toolyard.{SPACE}.svc"))
        await release.rolled_out()
        yield release
    finally:
        await cluster.kubectl("delete", "namespace", SPACE, f"--timeout={PATIENCE:.0f}s")
        await cluster.kubectl("delete", "persistentvolume", "toolyard")


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what is told to nobody."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - kubectl is asked
            await asyncio.sleep(0.5)


async def test_three_replicas_are_installed_called_and_upgraded_under_load() -> None:
    outcomes = Outcomes()
    with running_servers(list(FOLLOWERS), HERE) as servers:
        async with installed() as release:
            for name, entry in servers.items():
                await order(release.doors, "POST", "/servers", {"name": name, "entry": entry})
            await until(lambda: _is_ready(release.doors, len(servers)))
            before, steps = await release.pods(), await release.steps_done()
            assert steps == len(STEPS)
            await release.cluster.docker("build", "--tag", "toolyard:next", *_dockerfile(release))
            async with calling(mixed_load(release.doors, outcomes)):
                await progressed(outcomes, BETWEEN)
                await release.kubectl(
                    "set", "image", "deployment/toolyard", "toolyard=toolyard:next"
                )
                await release.rolled_out()
                await progressed(outcomes, BETWEEN)
            after = await release.pods()
            assert not before.keys() & after.keys()
            assert set(after.values()) == {"toolyard:next"}
            assert await release.steps_done() == steps + 1

    print(f"{REPLICAS} pods replaced: {outcomes}")
    check(outcomes)


def _dockerfile(release: Release) -> tuple[str, ...]:
    folder = release.cluster.state / "next"
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(NEXT)
    (folder / "newer.py").write_text(NEWER)
    return "--network", "none", str(folder)


async def _is_ready(doors: Doors, servers: int) -> bool:
    """Say whether whichever replica answers knows all others, and the tools of every server."""
    listed = (await send(doors, "GET", "/servers")).json()["servers"]
    replicas = (await send(doors, "GET", "/replicas")).json()["replicas"]
    return len(replicas) == REPLICAS and sum(bool(row["tools"]) for row in listed) == servers
