"""The image as people run it: an ordinary user, a read-only root, one volume."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doors.doors import Doors, Raw
from tests.fixtures.certificates import make_certificates
from tests.fixtures.ports import free_port
from tests.image.conftest import Engine

pytestmark = [pytest.mark.image, pytest.mark.timeout(1200)]

TOKEN = "only-for-these-tests-0123456789"
HARDENED = (
    *("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges"),
)
PATIENCE = 120.0


@contextmanager
def container(engine: Engine, image: str, volume: str, *words: str) -> Iterator[tuple[str, int]]:
    """The hub in a container, as compose.yaml runs it; its name, and its port on this machine."""
    port = free_port()
    name = f"toolyard-{port}"
    environment = ("-e", f"TOOLYARD_TOKEN={TOKEN}", "-e", f"TOOLYARD_PORT={port}")
    engine.run(
        *("run", "--detach", "--name", name, "--volume", f"{volume}:/data"),
        *("--publish", f"127.0.0.1:{port}:{port}", "--health-interval", "1s"),
        *(*environment, *HARDENED, *words, image),
    )
    try:
        until(lambda: state(engine, name)["Health"]["Status"] == "healthy")
        yield name, port
    finally:
        engine.run("rm", "--force", name)


def state(engine: Engine, name: str) -> dict:
    return json.loads(engine.run("inspect", "--format", "{{json .State}}", name))


def until(holds: Callable[[], bool]) -> None:
    """Wait for what the daemon tells nobody of."""
    pause, end = threading.Event(), time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        pause.wait(0.2)


async def test_a_tool_is_called_from_outside_and_the_volume_outlives_the_container(
    engine: Engine, image: str, home: Path
) -> None:
    volume = f"toolyard-{image.partition(':')[2]}"
    with container(engine, image, volume) as (name, port):
        doors = Doors(port, home)
        assert (
            await doors.ask("GET", "/api/v1/status", leave_out=("Authorization",))
        ).status == 401
        added = engine.run(
            *("exec", name, "toolyard", "add", "demo", "--json", "--"),
            *("python", "-m", "toolyard.example"),
        )
        assert json.loads(added)["status"] == "ready"
        assert "1.609" in await doors.text(
            "demo__convert_units", value=1, from_unit="miles", to_unit="km"
        )
        assert engine.run("exec", name, "id", "-u") == "10001"
        engine.run("stop", "--time", "45", name)
        assert state(engine, name)["ExitCode"] == 0
    with container(engine, image, volume) as (_, port):
        doors = Doors(port, home)
        await doors.settled()
        assert "demo" in {
            server["name"] for server in (await doors.get("/api/v1/status"))["servers"]
        }


def test_nothing_is_written_beside_the_volume_and_the_temporary_files(
    engine: Engine, image: str
) -> None:
    with container(engine, image, "toolyard-written") as (name, _):
        assert engine.attempt("exec", name, "touch", "/opt/toolyard/x").returncode != 0
        assert engine.run("diff", name) == ""
        written = engine.run("exec", name, "sh", "-c", "ls -A /data; stat -c %a /data")
        assert {"run", "state"} <= set(written.split())
        assert written.endswith("700")


async def test_an_encrypted_hub_is_healthy_and_found_at_its_public_address(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    make_certificates(tmp_path, "127.0.0.1")
    for file in ("server.pem", "server-key.pem"):
        (tmp_path / file).chmod(0o644)  # the hub is another user there
    tmp_path.chmod(0o755)
    words = (
        *("--volume", f"{tmp_path}:/tls:ro", "-e", "TOOLYARD_PUBLIC=https://hub.example.com"),
        *("-e", "TOOLYARD_TLS_CERT=/tls/server.pem", "-e", "TOOLYARD_TLS_KEY=/tls/server-key.pem"),
    )
    with container(engine, image, "toolyard-encrypted", *words) as (name, port):
        tls = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        raw = Raw(*await asyncio.open_connection("127.0.0.1", port, ssl=tls))
        await raw.send(b"GET /health/live HTTP/1.1\r\nHost: hub.example.com\r\n\r\n")
        assert (await raw.answer()).status == 200
        await raw.close()
        status = json.loads(engine.run("exec", name, "toolyard", "status", "--json"))
        assert status["url"] == "https://hub.example.com"


def test_orphans_of_servers_are_ended_by_the_first_process(engine: Engine, image: str) -> None:
    with container(engine, image, "toolyard-orphans") as (name, _):
        engine.run("exec", name, "sh", "-c", "(sleep 0.1 &) ; true")
        zombies = ("exec", name, "sh", "-c", "cat /proc/[0-9]*/stat | grep -c ') Z ' || true")
        until(lambda: engine.run(*zombies) == "0")


def test_only_the_whole_image_has_launchers(engine: Engine, image: str) -> None:
    for launcher in ("npx", "uvx", "node"):
        done = engine.attempt(
            "run", "--rm", *HARDENED, "--entrypoint", launcher, image, "--version"
        )
        assert (done.returncode == 0) is (image == "toolyard:whole"), done.stderr
