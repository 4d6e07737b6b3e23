"""What befalls servers in a real cluster, and what the executor makes of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.executors.children import ECHO, Ear
from tests.executors.contract import SERVES, STUBBORN_ECHO, get
from tests.executors.kubernetes.site import IMAGE, Yonder, find
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.ports import Address
from toolyard.core.sites import Placement
from toolyard.executors.kubernetes.manifests import HUB

pytestmark = [pytest.mark.executors, pytest.mark.k8s, pytest.mark.timeout(180)]

HUNGRY = "import sys; sys.stdin.readline(); hoard = b'x' * (400 << 20); print(len(hoard))"

QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {pods: "0"}}
"""

# A hub that is killed while it runs a server that does not go by itself.
DOOMED = """
import asyncio, os, signal, sys
from tests.executors.contract import STUBBORN_ECHO
from tests.executors.replicas import alone
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.sites import Placement, Site
from toolyard.executors.kubernetes import Kubernetes

async def main():
    site = Site("yonder", "kubernetes", "", (("kubeconfig", sys.argv[1]), ("pull", "Never")))
    command = Command(("python3", "-c", STUBBORN_ECHO), (("KEY", "value"),))
    run = Run("doomed", command, Placement(image=sys.argv[2]), "session")
    async with Kubernetes(site, alone(sys.argv[3])).open(run) as pipes:
        print(pipes.where, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.fixture
async def yonder() -> AsyncIterator[Yonder]:
    async with find().ground() as ground:
        yield ground


def web(ground: Yonder, owner: str = "") -> Run:
    return Run("web", ground.python(SERVES, "8000"), Placement(port=8000), owner)


def echo(ground: Yonder, **limits: int) -> Run:
    return Run("echo", ground.python(ECHO), Placement(**limits), "session")  # type: ignore[arg-type]


async def refusal(ground: Yonder, run: Run, **options: str) -> StartError:
    """What trying to run a server there fails with; nothing is left of the attempt."""
    executor = ground.make(**options)
    try:
        with pytest.raises(StartError) as caught:
            async with asyncio.timeout(ground.patience), executor.open(run):
                pass
    finally:
        await executor.close()
    assert caught.value.hint
    assert await ground.emptied() == []
    return caught.value


async def test_a_shared_server_that_dies_is_started_again_at_the_same_address(
    yonder: Yonder,
) -> None:
    async with yonder.executor.open(web(yonder)) as address:
        assert isinstance(address, Address)
        assert await get(address.url.url) == "you asked for /mcp"
        (pod,) = await yonder.cluster.items("pods", yonder.namespace, f"{HUB}={yonder.hub}")
        await yonder.cluster.docker("kill", await yonder.container(pod["metadata"]["name"]))

        async with asyncio.timeout(yonder.patience):
            while await get(address.url.url) != "you asked for /mcp":  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert address.ended() == ""
    assert await yonder.leftovers() == []


async def test_a_server_of_a_session_that_dies_is_told(yonder: Yonder) -> None:
    async with yonder.executor.open(web(yonder, "session")) as address:
        assert isinstance(address, Address)
        assert await get(address.url.url) == "you asked for /mcp"
        await yonder.kill(address.where)
        async with asyncio.timeout(yonder.patience):
            while not address.ended():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert address.ended() == "was killed by signal SIGKILL"


async def test_a_pod_that_is_deleted_by_others_is_told(yonder: Yonder) -> None:
    async with yonder.executor.open(echo(yonder)) as pipes:
        assert not isinstance(pipes, Address)
        ear = Ear(pipes)
        name = pipes.where.partition("/")[2]
        await yonder.cluster.kubectl("delete", "pod", "-n", yonder.namespace, name, "--wait=false")
        assert "its pod was deleted" in await ear.end(yonder.patience)
    assert await yonder.leftovers() == []


async def test_a_server_that_takes_too_much_memory_is_told_so(yonder: Yonder) -> None:
    run = Run("hungry", yonder.python(HUNGRY), Placement(memory=64), "session")
    async with yonder.executor.open(run) as pipes:
        assert not isinstance(pipes, Address)
        ear = Ear(pipes)
        pipes.write(b"eat\n")
        assert await ear.end(yonder.patience) == (
            "was killed: it used more memory than its limit of 64Mi"
        )


async def test_the_cluster_itself_ends_a_session_that_lasts_too_long(yonder: Yonder) -> None:
    executor = yonder.make(ttl="4")
    async with executor.open(echo(yonder)) as pipes:
        assert not isinstance(pipes, Address)
        assert "was ended by the cluster" in await Ear(pipes).end(yonder.patience)
    await executor.close()


async def test_a_call_fails_in_time_when_the_api_goes_away(yonder: Yonder) -> None:
    async with AsyncExitStack() as stack:
        pipes = await stack.enter_async_context(yonder.executor.open(echo(yonder)))
        assert not isinstance(pipes, Address)
        ear = Ear(pipes)
        pipes.write(b"before\n")
        await ear.line(yonder.patience)
        async with yonder.cluster.stopped():
            pipes.write(b"to nobody\n")
            assert "connection" in await ear.end(yonder.patience)
            async with asyncio.timeout(yonder.patience):
                await stack.aclose()
            assert "cannot be reached" in str(await _failure(yonder, echo(yonder)))
    async with yonder.executor.open(echo(yonder)) as pipes:
        assert not isinstance(pipes, Address)
        ear = Ear(pipes)
        pipes.write(b"after\n")
        assert await ear.line(yonder.patience) == b"after"
    assert await yonder.emptied() == []


async def _failure(ground: Yonder, run: Run) -> StartError:
    with pytest.raises(StartError) as caught:
        async with asyncio.timeout(ground.patience), ground.executor.open(run):
            pass
    return caught.value


@pytest.mark.parametrize("shared", [True, False])
async def test_a_quota_that_is_reached_is_named(yonder: Yonder, shared: bool) -> None:
    await yonder.cluster.kubectl("apply", "-n", yonder.namespace, "-f", "-", stdin=QUOTA)
    await yonder.cluster.kubectl(
        "wait", "-n", yonder.namespace, "quota/small", "--for=jsonpath={.status.hard.pods}=0"
    )
    error = await refusal(yonder, web(yonder, "" if shared else "session"))
    assert "exceeded quota: small" in str(error)
    assert f'namespace "{yonder.namespace}" has a quota' in error.hint


async def test_a_namespace_without_rights_is_named_with_the_right(yonder: Yonder) -> None:
    error = await refusal(yonder, echo(yonder), namespace="default")
    assert 'the right to get configmaps in namespace "default" is missing' in error.hint


async def test_a_namespace_that_is_not_there_is_refused(yonder: Yonder) -> None:
    admin = str(yonder.cluster.admin)
    error = await refusal(yonder, echo(yonder), namespace="nowhere", kubeconfig=admin)
    assert 'namespaces "nowhere" not found' in str(error)
    assert "kubectl create namespace nowhere" in error.hint


@pytest.mark.parametrize("owner", ["", "session"])
async def test_an_image_that_is_not_there_is_named(yonder: Yonder, owner: str) -> None:
    run = Run("web", Command(("x",)), Placement(image="no-such:1", port=8000), owner)
    error = await refusal(yonder, run)
    assert "ErrImageNeverPull" in str(error)
    assert "no-such:1" in error.hint


async def test_a_node_that_has_no_room_is_said(yonder: Yonder) -> None:
    error = await refusal(yonder, echo(yonder, memory=1 << 20), wait="3")
    assert "did not start within 3 s" in str(error)
    assert "Insufficient memory" in str(error)


async def test_a_server_that_ends_at_once_is_told_with_its_last_words(yonder: Yonder) -> None:
    code = "import sys; print('no key', file=sys.stderr); sys.exit(4)"
    async with yonder.pipes("brief", code) as pipes:
        assert await Ear(pipes).end(yonder.patience) == "exited with code 4"
        assert pipes.stderr == ("no key",)


async def test_a_shared_server_that_ends_at_once_is_told_with_its_last_words(
    yonder: Yonder,
) -> None:
    code = "import sys; print('no key', file=sys.stderr); sys.exit(4)"
    error = await refusal(yonder, Run("web", yonder.python(code), Placement(port=8000)))
    assert "CrashLoopBackOff: no key" in str(error)


async def test_what_a_killed_hub_left_is_swept_by_the_next(yonder: Yonder) -> None:
    hub = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DOOMED, str(yonder.config), IMAGE, yonder.hub),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert hub.stdout is not None
    where = (await hub.stdout.readline()).decode().strip()
    await hub.wait()
    assert {line.split()[0] for line in await yonder.leftovers()} == {"Pod", "Secret"}

    async with yonder.executor.open(echo(yonder)) as pipes:
        assert await yonder.executor.sweep() == (where,)
        assert not isinstance(pipes, Address)
        ear = Ear(pipes)
        pipes.write(b"untouched\n")
        assert await ear.line(yonder.patience) == b"untouched"
    assert await yonder.emptied() == []
    assert await yonder.executor.sweep() == ()


async def test_closing_leaves_nothing_at_all(yonder: Yonder) -> None:
    executor = yonder.make()
    async with executor.open(web(yonder)):
        assert await yonder.leftovers()
    await executor.close()
    everything = "all,configmaps,secrets"
    found = await yonder.cluster.items(everything, yonder.namespace, f"{HUB}={yonder.hub}")
    assert [each["metadata"]["name"] for each in found] == []


async def test_without_a_network_a_policy_says_so(yonder: Yonder) -> None:
    run = Run("alone", yonder.python(ECHO), Placement(network="none"), "session")
    async with yonder.executor.open(run):
        assert any(line.startswith("NetworkPolicy") for line in await yonder.leftovers())
    assert await yonder.leftovers() == []


async def test_inside_the_cluster_a_service_is_the_address(yonder: Yonder) -> None:
    executor = yonder.make(expose="service")
    async with executor.open(web(yonder)) as address:
        assert isinstance(address, Address)
        name = address.where.partition("/")[2]
        assert address.url.url == f"http://{name}.{yonder.namespace}.svc:8000/mcp"
        path = "jsonpath={.subsets[0].addresses[0].ip}:{.subsets[0].ports[0].port}"
        async with asyncio.timeout(yonder.patience):
            while not (found := await _endpoint(yonder, name, path)).endswith(":8000"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert found.count(".") == 3
    await executor.close()


async def _endpoint(ground: Yonder, name: str, path: str) -> str:
    command = ("get", "endpoints", "-n", ground.namespace, name, "-o", path)
    return await ground.cluster.kubectl(*command)


async def test_behind_an_ingress_a_host_of_its_own_is_the_address(yonder: Yonder) -> None:
    executor = yonder.make(expose="ingress", ingress="https://{server}.example.org")
    async with executor.open(web(yonder)) as address:
        assert isinstance(address, Address)
        assert address.url.url == "https://web.example.org/mcp"
        assert any(line.startswith("Ingress") for line in await yonder.leftovers())
    await executor.close()
    assert await yonder.emptied() == []


async def test_a_stubborn_server_does_not_hold_up_its_neighbours(yonder: Yonder) -> None:
    async def stay(code: str) -> None:
        async with yonder.pipes("many", code) as pipes:
            ear = Ear(pipes)
            pipes.write(b"here\n")
            assert await ear.line(yonder.patience) == b"here"

    async with asyncio.timeout(yonder.patience), asyncio.TaskGroup() as tasks:
        for code in (ECHO, STUBBORN_ECHO, ECHO, ECHO):
            tasks.create_task(stay(code))
    assert await yonder.leftovers() == []
