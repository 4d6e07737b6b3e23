"""A real cluster for tests, and what may be done to it behind the back of the executor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.executors.contract import Ground
from tests.executors.replicas import alone
from toolyard.core.model import Command
from toolyard.core.sites import Site
from toolyard.executors.kubernetes import Kubernetes
from toolyard.executors.kubernetes.manifests import HUB, rights

IMAGE = "python:local"
HERE = "10.197.0.1"
"""This machine, as pods of that cluster reach it."""
KINDS = "pods,deployments,services,secrets,ingresses,networkpolicies"


class Cluster:
    """A cluster that `scripts/kube/up.sh` started, and its hands."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.admin = state / "kubeconfig"

    async def kubectl(self, *args: str, stdin: str = "") -> str:
        env = {**os.environ, "KUBECONFIG": str(self.admin)}
        return await _run("kubectl", *args, env=env, stdin=stdin)

    async def docker(self, *args: str) -> str:
        return await _run("docker", "-H", f"unix://{self.state}/docker.sock", *args)

    async def items(self, kinds: str, namespace: str, selector: str) -> list[dict]:
        found = await self.kubectl("get", kinds, "-n", namespace, "-l", selector, "-o", "json")
        return json.loads(found)["items"]

    async def prepare(self, namespace: str) -> Path:
        """Make a namespace with the rights we ship, and a kubeconfig that has no others."""
        await self.kubectl("create", "namespace", namespace)
        await self.kubectl("apply", "-f", "-", stdin=rights(namespace))
        name = await self._token_name(namespace)
        secret = json.loads(
            await self.kubectl("get", "secret", "-n", namespace, name, "-o", "json")
        )
        return self.write(namespace, _decoded(secret["data"]["token"]))

    @contextlib.asynccontextmanager
    async def ground(self) -> AsyncIterator[Yonder]:
        """A namespace of its own for one test, removed at the end."""
        namespace = f"yard-{secrets.token_hex(4)}"
        config = await self.prepare(namespace)
        ground = Yonder(self, config, namespace, f"hub-{namespace}")
        try:
            yield ground
        finally:
            await ground.executor.close()
            await self.kubectl("delete", "namespace", namespace, "--wait=false")

    def write(self, namespace: str, token: str) -> Path:
        """Write the kubeconfig of somebody with this token."""
        config = json.loads(_yaml_to_json(self.admin.read_text()))
        config["users"] = [{"name": "admin", "user": {"token": token}}]
        config["contexts"][0]["context"]["namespace"] = namespace
        path = self.state / f"kubeconfig-{namespace}"
        path.write_text(json.dumps(config))
        return path

    @contextlib.asynccontextmanager
    async def cable(self) -> AsyncIterator[None]:
        """Pull the cable between this machine and the cluster."""
        await _run("ip", "link", "set", "tykube0", "down")
        try:
            yield
        finally:
            await _run("ip", "link", "set", "tykube0", "up")

    @contextlib.asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """Stop the API server, and start it again at the end."""
        pid = self.state / "pid" / "apiserver"
        os.kill(int(pid.read_text()), 9)
        try:
            yield
        finally:
            with (self.state / "log" / "apiserver.log").open("ab") as log:
                again = subprocess.Popen(  # noqa: ASYNC220 - it outlives this test
                    ["nsenter", "--net=/run/netns/toolyard-kube", self.state / "api.sh"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            pid.write_text(str(again.pid))
            # Its end is the business of down.sh, which knows it by this number.
            again.returncode = 0
            await self._answers()

    async def _answers(self) -> None:
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(AssertionError):
                    await self.kubectl("get", "--raw", "/readyz")
                    return
                await asyncio.sleep(0.2)

    async def _token_name(self, namespace: str) -> str:
        async with asyncio.timeout(20):
            while True:
                account = json.loads(
                    await self.kubectl("get", "sa", "-n", namespace, "toolyard", "-o", "json")
                )
                if account.get("secrets"):
                    return str(account["secrets"][0]["name"])
                await asyncio.sleep(0.1)


class Yonder(Ground):
    """A namespace of the cluster, seen by somebody who has only the rights we ship."""

    cuttable = True
    patience = 40.0

    def __init__(self, cluster: Cluster, config: Path, namespace: str, hub: str) -> None:
        self.cluster = cluster
        self.config = config
        self.namespace = namespace
        self.hub = hub

    def site(self, **options: str) -> Site:
        usual = {
            "kubeconfig": str(self.config),
            "image": IMAGE,
            "pull": "Never",
            "reach": HERE,
            "memory": "128",
        }
        return Site("yonder", "kubernetes", "", tuple((usual | options).items()))

    def make(self, **options: str) -> Kubernetes:
        return Kubernetes(self.site(**options), alone(self.hub))

    def python(self, code: str, *args: str, **env: str) -> Command:
        return Command(("python3", "-I", "-c", code, *args), tuple(env.items()))

    async def leftovers(self) -> list[str]:
        found = await self.cluster.items(KINDS, self.namespace, f"{HUB}={self.hub}")
        return [f"{each['kind']} {each['metadata']['name']}" for each in found]

    async def kill(self, where: str) -> None:
        kind, _, name = where.partition(" ")
        name = name.partition("/")[2]
        if kind == "deployment":  # the cluster would start its container again
            await self.cluster.kubectl("delete", kind, "-n", self.namespace, name, "--wait=false")
            return
        await self.cluster.docker("kill", await self.container(name))

    async def container(self, pod: str) -> str:
        """The container of the server in a pod."""
        labels = {"io.kubernetes.pod.name": pod, "io.kubernetes.container.name": "server"}
        wanted = [f"--filter=label={key}={value}" for key, value in labels.items()]
        found = await self.cluster.docker("ps", "-q", *wanted)
        return found.split()[0]

    def cut(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self.cluster.cable()


def find() -> Cluster:
    """The cluster that runs here; skips by name where there is none."""
    state = os.environ.get("TOOLYARD_KUBE", "")
    if not state or not (Path(state) / "kubeconfig").exists():
        pytest.skip("no cluster: make test-k8s builds and starts one")
    return Cluster(Path(state))


async def _run(*args: object, env: Mapping[str, str] | None = None, stdin: str = "") -> str:
    process = await asyncio.create_subprocess_exec(
        *map(str, args),
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await process.communicate(stdin.encode())
    assert process.returncode == 0, err.decode()
    return out.decode()


def _decoded(text: str) -> str:
    import base64

    return base64.b64decode(text).decode()


def _yaml_to_json(text: str) -> str:
    import yaml  # type: ignore[import-untyped]

    return json.dumps(yaml.safe_load(text))
