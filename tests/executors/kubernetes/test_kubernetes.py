"""What the kubernetes executor says when there is no cluster to talk to, or one that says no."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.executors.contract import get, greeter
from tests.executors.replicas import alone
from toolyard.core.errors import ConfigError, StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.sites import Placement, Site
from toolyard.executors.kubernetes import Kubernetes

RUN = Run("echo", Command(("cat",)), Placement(image="i:1"))


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


def write(folder: Path, server: str) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "hunter2"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "yard"}},
            {"name": "there", "context": {"cluster": "c", "user": "u"}},
        ],
        "current-context": "here",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return str(path)


def at(context: str = "", **options: str) -> Site:
    return Site("yonder", "kubernetes", context, tuple(options.items()))


async def refusal(site: Site, run: Run = RUN) -> StartError:
    """What trying to run a server there fails with."""
    executor = Kubernetes(site, alone("hub"))
    try:
        with pytest.raises(StartError) as caught:
            async with asyncio.timeout(20), executor.open(run):
                pass
    finally:
        await executor.close()
    assert caught.value.hint
    assert "hunter2" not in str(caught.value)
    return caught.value


@contextlib.asynccontextmanager
async def naysayer(status: int, message: str) -> AsyncIterator[str]:
    """An API that answers everything with one refusal, in the form of the real one."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"kind": "Status", "code": status, "message": message}).encode()
        head = f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_without_a_kubeconfig_it_says_where_it_looked() -> None:
    error = await refusal(at())
    assert "finds no kubeconfig at ~/.kube/config" in str(error)
    assert "kubeconfig" in error.hint


async def test_an_unknown_context_is_refused_and_the_known_ones_are_listed(home: Path) -> None:
    error = await refusal(at("nowhere", kubeconfig=write(home, "http://127.0.0.1:1")))
    assert 'the context "nowhere"' in str(error)
    assert error.hint == "its contexts are: here, there"


@pytest.mark.parametrize("text", ["{", "", "[]", "a: b", "clusters: 3\ncontexts: 4\nusers: 5"])
async def test_a_broken_kubeconfig_is_one_error(home: Path, text: str) -> None:
    path = home / "broken"
    path.write_text(text)
    assert str(path) in str(await refusal(at(kubeconfig=str(path))))


async def test_a_certificate_that_is_none_is_one_error(home: Path) -> None:
    path = Path(write(home, "https://127.0.0.1:1"))
    config = json.loads(path.read_text())
    (home / "ca").write_text("no certificate")
    config["clusters"][0]["cluster"]["certificate-authority"] = str(home / "ca")
    path.write_text(json.dumps(config))
    assert "certificates" in str(await refusal(at(kubeconfig=str(path))))


async def test_a_cluster_that_is_not_there_is_named_with_its_address(home: Path) -> None:
    error = await refusal(at(kubeconfig=write(home, "http://127.0.0.1:1")))
    assert "http://127.0.0.1:1 cannot be reached" in str(error)


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "Unauthorized", "log in to the cluster again"),
        (
            403,
            'configmaps is forbidden: User "u" cannot get resource "configmaps" in API group ""',
            'the right to get configmaps in namespace "yard" is missing',
        ),
        (403, 'pods "x" is forbidden: exceeded quota: small', 'namespace "yard" has a quota'),
        (404, 'namespaces "yard" not found', "kubectl create namespace yard"),
    ],
)
async def test_a_refusal_says_what_to_do_in_which_namespace(
    home: Path, status: int, message: str, hint: str
) -> None:
    async with naysayer(status, message) as server:
        # 404 answers whether there is an anchor too: only creating one shows what is missing.
        error = await refusal(at(kubeconfig=write(home, server)))
    assert message in str(error)
    assert hint in error.hint


@pytest.mark.parametrize("body", ["", "<html>welcome</html>", '{"kind": "Conf'])
async def test_something_else_at_that_address_is_one_error(home: Path, body: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await refusal(at(kubeconfig=write(home, f"http://127.0.0.1:{port}")))
    assert "cannot be reached" in str(error)


async def test_without_the_library_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes_asyncio", None)
    error = await refusal(at())
    assert "kubernetes_asyncio" in str(error)
    assert "pip install 'toolyard[kubernetes]'" in error.hint


async def test_what_no_cluster_can_do_is_refused_before_one_is_asked() -> None:
    assert "names no image" in str(await refusal(at(), Run("a", Command(("x",)))))


def test_an_option_that_is_wrong_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="colour"):
        Kubernetes(at(colour="blue"), alone("hub"))


async def test_sweeping_where_no_cluster_is_fails_with_a_hint(home: Path) -> None:
    executor = Kubernetes(at(kubeconfig=write(home, "http://127.0.0.1:1")), alone("hub"))
    with pytest.raises(StartError, match="cannot be reached"):
        await executor.sweep()
    await executor.close()


async def test_without_an_address_of_this_machine_there_is_no_way_back() -> None:
    executor = Kubernetes(at(), alone("hub"))
    with pytest.raises(StartError, match="no way") as caught:
        async with executor.reach(80):
            pass
    assert "reach" in caught.value.hint


async def test_an_address_of_this_machine_leads_to_its_loopback() -> None:
    executor = Kubernetes(at(reach="127.0.0.2"), alone("hub"))
    async with greeter() as port, executor.reach(port) as address:
        assert address.startswith("127.0.0.2:")
        assert await get(f"http://{address}/") == "hello from the hub"


async def test_any_other_host_is_taken_as_it_is() -> None:
    executor = Kubernetes(at(reach="hub.example.invalid"), alone("hub"))
    async with executor.reach(8080) as address:
        assert address == "hub.example.invalid:8080"


def test_the_library_is_loaded_only_when_a_cluster_is_used() -> None:
    code = (
        "import sys, toolyard.executors.kubernetes, toolyard.executors.kubernetes.sidecars;"
        "print([name for name in ('kubernetes_asyncio', 'aiohttp', 'yaml') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
